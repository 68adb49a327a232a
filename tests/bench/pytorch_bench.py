#!/usr/bin/env python3
"""Measures how fast PyTorch trains one of Troika's benchmark models on the CPU, for tests/bench/compare to set beside Troika.

A step is forward, mean cross-entropy, backward and plain SGD, in float32, on one batch of random numbers that is in
memory already. It runs under PyTorch 1.13 and 2.x:

    python3 tests/bench/pytorch_bench.py --model d2l_lenet --batch 256 --threads 2
    pytorch 1.13.1 d2l_lenet batch 256 f32 cpu x2: 4100 img/s (4050-4150), 62.4 ms/step, peak 123 MiB

The rate is the median over the windows, in parentheses the slowest and the fastest. The peak is the most memory the
process held while training, less what it held before the model existed.
"""

import argparse
import statistics
import threading
import time

import torch
from torch import nn
from torch.nn import functional

MIB = 1024 * 1024


class Residual(nn.Module):
    """The residual block of Dive into Deep Learning: convolutions with bias, a shortcut convolution without BatchNorm."""

    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        changes_shape = stride != 1 or in_channels != channels
        self.downsample = nn.Conv2d(in_channels, channels, 1, stride) if changes_shape else None

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return functional.relu(y, inplace=True)


def d2l_lenet():
    return nn.Sequential(
        nn.Conv2d(1, 20, 3), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Conv2d(20, 50, 5), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(800, 128), nn.ReLU(inplace=True), nn.Linear(128, 10))


def d2l_resnet18():
    layers = [nn.Conv2d(1, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    in_channels = 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        layers += [Residual(in_channels, channels, 1 if stage == 0 else 2), Residual(channels, channels, 1)]
        in_channels = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


MODELS = {"d2l_lenet": d2l_lenet, "d2l_resnet18": d2l_resnet18}


def resident_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


class PeakMemory:
    """Samples the resident memory every few milliseconds until it is stopped.

    VmHWM would not do: it is the peak since the process began, and importing PyTorch may well hold it.
    """

    def __init__(self):
        self.before = self.peak = resident_bytes()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.stopped.wait(0.002):
            self.peak = max(self.peak, resident_bytes())

    def stop(self):
        self.stopped.set()
        self.thread.join()
        self.peak = max(self.peak, resident_bytes())

    def mib(self):
        return (self.peak - self.before) / MIB


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measure how fast PyTorch trains a model on the CPU, in float32.")
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--batch", type=int, required=True, help="images in one step")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads (default 1)")
    parser.add_argument("--channels-last", action="store_true", help="use the NHWC memory format")
    parser.add_argument("--compile", action="store_true", help="wrap the model in torch.compile (PyTorch 2.x)")
    parser.add_argument("--windows", type=int, default=5, help="timed windows (default 5)")
    parser.add_argument("--steps", type=int, default=0, help="steps in a window (default: about one second's worth)")
    return parser.parse_args()


def make_step(arguments):
    torch.manual_seed(0)
    model = MODELS[arguments.model]()
    images = torch.randn(arguments.batch, 1, 28, 28)
    labels = torch.randint(0, 10, (arguments.batch,))
    if arguments.channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    forward = torch.compile(model) if arguments.compile else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(forward(images), labels).backward()
        optimizer.step()

    return step


def seconds_per_step(step, steps):
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)

    memory = PeakMemory()
    step = make_step(arguments)
    for _ in range(3):
        step()
    memory.stop()  # before the timing: the watcher would take time from it

    one_step_s = seconds_per_step(step, 3)
    steps = arguments.steps or max(3, round(1.0 / one_step_s))
    windows_s = [seconds_per_step(step, steps) for _ in range(arguments.windows)]

    median_s = statistics.median(windows_s)
    options = (" channels-last" if arguments.channels_last else "") + (" compiled" if arguments.compile else "")
    print(f"pytorch {torch.__version__.split('+')[0]} {arguments.model} batch {arguments.batch} f32 "
          f"cpu x{arguments.threads}{options}: {arguments.batch / median_s:.0f} img/s "
          f"({arguments.batch / max(windows_s):.0f}-{arguments.batch / min(windows_s):.0f}), "
          f"{median_s * 1000:.2f} ms/step, peak {memory.mib():.0f} MiB")


if __name__ == "__main__":
    main()
