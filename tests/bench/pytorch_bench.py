#!/usr/bin/env python3
"""Measures how fast PyTorch trains one of Troika's benchmark models.

tests/bench/compare and tests/bench/gpu compare the result with Troika. A step is forward, mean
cross-entropy, backward and plain SGD. All steps use one batch of random numbers, which is already
in the device's memory. On the CPU it runs under PyTorch 1.13 and 2.x:

    python3 tests/bench/pytorch_bench.py --model d2l_lenet --batch 256 --threads 2
    pytorch 1.13.1 d2l_lenet batch 256 f32 cpu x2: 4100 img/s (4050-4150), 62.4 ms/step, peak 123 MiB, first step 0.09 s

The rate is the median over the windows, with the slowest and the fastest window in parentheses. On
a GPU, windows are timed by the GPU's events. The peak is the most memory that the process held
while training, minus the memory before the model was created. On a GPU, the peak is the most memory
that PyTorch had allocated. The first step's time includes the creation of the model.
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
    """The residual block of Dive into Deep Learning: convolutions have a bias, the shortcut no BatchNorm."""

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


class Bottleneck(nn.Module):
    """torchvision's block of ResNet-50: the 3x3 convolution has the stride."""

    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * channels)
        changes_shape = stride != 1 or in_channels != 4 * channels
        self.downsample = nn.Sequential(nn.Conv2d(in_channels, 4 * channels, 1, stride, bias=False),
                                        nn.BatchNorm2d(4 * channels)) if changes_shape else None

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = functional.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return functional.relu(y, inplace=True)


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, padding=1)]
    in_channels = 64
    for stage, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            layers.append(Bottleneck(in_channels, channels, 2 if stage > 0 and block == 0 else 1))
            in_channels = 4 * channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


# A model, the shape of a sample, and classes.
MODELS = {"d2l_lenet": (d2l_lenet, (1, 28, 28), 10), "d2l_resnet18": (d2l_resnet18, (1, 28, 28), 10),
          "resnet50": (resnet50, (3, 224, 224), 1000)}


def resident_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


class PeakMemory:
    """Samples the resident memory every few milliseconds until it is stopped.

    VmHWM cannot be used: it is the peak since the process began, and importing PyTorch may have
    reached it.
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
    parser = argparse.ArgumentParser(description="Measure how fast PyTorch trains a model.")
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--batch", type=int, required=True, help="images in one step")
    parser.add_argument("--size", type=int, default=0, help="image size (default: the model's)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16"), default="f32",
                        help="bf16: torch.autocast; tf32 on a GPU alone")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads (default 1)")
    parser.add_argument("--channels-last", action="store_true", help="use the NHWC memory format")
    parser.add_argument("--compile", nargs="?", const="default", metavar="MODE",
                        help="torch.compile (PyTorch 2.x), in the mode: default, max-autotune ...")
    parser.add_argument("--graph", action="store_true", help="the whole step as one CUDA graph")
    parser.add_argument("--windows", type=int, default=5, help="timed windows (default 5)")
    parser.add_argument("--steps", type=int, default=0, help="steps in a window (default: about one second's worth)")
    return parser.parse_args()


def make_step(arguments):
    torch.manual_seed(0)
    create, shape, classes = MODELS[arguments.model]
    if arguments.size:
        shape = (shape[0], arguments.size, arguments.size)
    model = create().to(arguments.device)
    images = torch.randn(arguments.batch, *shape, device=arguments.device)
    labels = torch.randint(0, classes, (arguments.batch,), device=arguments.device)
    if arguments.channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    forward = torch.compile(model, mode=arguments.compile) if arguments.compile else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.precision == "bf16"):
            loss = functional.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    return graphed(step) if arguments.graph else step


def graphed(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def seconds_per_step(step, steps, is_on_gpu):
    if is_on_gpu:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(steps):
            step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000 / steps
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps


def main():
    arguments = parse_arguments()
    is_on_gpu = arguments.device == "cuda"
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    if is_on_gpu:
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = arguments.precision == "tf32"

    memory = None if is_on_gpu else PeakMemory()
    began = time.perf_counter()
    step = make_step(arguments)
    step()
    if is_on_gpu:
        torch.cuda.synchronize()
    first_s = time.perf_counter() - began
    for _ in range(2):
        step()
    if memory:
        memory.stop()  # before the timing, which the watcher would slow down
    peak_mib = memory.mib() if memory else torch.cuda.max_memory_allocated() / MIB

    one_step_s = seconds_per_step(step, 3, is_on_gpu)
    steps = arguments.steps or max(3, round(1.0 / one_step_s))
    windows_s = [seconds_per_step(step, steps, is_on_gpu) for _ in range(arguments.windows)]

    median_s = statistics.median(windows_s)
    options = ((" channels-last" if arguments.channels_last else "") + (" graph" if arguments.graph else "") +
               (f" compiled {arguments.compile}".replace(" default", "") if arguments.compile else ""))
    device = "cuda" if is_on_gpu else f"cpu x{arguments.threads}"
    print(f"pytorch {torch.__version__.split('+')[0]} {arguments.model} batch {arguments.batch} {arguments.precision} "
          f"{device}{options}: {arguments.batch / median_s:.0f} img/s "
          f"({arguments.batch / max(windows_s):.0f}-{arguments.batch / min(windows_s):.0f}), "
          f"{median_s * 1000:.2f} ms/step, peak {peak_mib:.0f} MiB, first step {first_s:.2f} s")


if __name__ == "__main__":
    main()
