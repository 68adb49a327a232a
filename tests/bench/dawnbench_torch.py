#!/usr/bin/env python3
"""Trains resnet9 on Fashion-MNIST in PyTorch by the recipe of docs/tutorials/dawnbench.json.

tests/bench/dawnbench compares the result with Troika. The network, the preparation of images and
the recipe are Troika's. Images are on the device before training begins. Prints one line per epoch,
`EPOCH SECONDS ACCURACY`: the time of training until then, without evaluation. Runs under PyTorch
1.13 and 2.x:

    python3 tests/bench/dawnbench_torch.py --device cpu --seed 1 --threads 2
"""

import argparse
import contextlib
import gzip
import json
import pathlib
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorials/dawnbench.json"


def conv_bn_relu(in_channels, channels):
    return nn.Sequential(nn.Conv2d(in_channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(conv_bn_relu(channels, channels), conv_bn_relu(channels, channels))

    def forward(self, x):
        return x + self.layers(x)


def resnet9():
    return nn.Sequential(conv_bn_relu(1, 16), conv_bn_relu(16, 32), nn.MaxPool2d(2), Residual(32), conv_bn_relu(32, 64),
                         nn.MaxPool2d(2), conv_bn_relu(64, 128), nn.MaxPool2d(2), Residual(128), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(128, 10))


def read_idx(path):
    """Returns the array of an IDX file of bytes, plain or .gz."""
    packed = path.with_name(path.name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    rank = data[3]
    shape = numpy.frombuffer(data, ">i4", rank, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape).copy()


def load(folder, part, recipe, device):
    pixels = torch.from_numpy(read_idx(folder / f"{part}-images-idx3-ubyte")).to(device)
    images = ((pixels.float() / 255 - recipe["mean"]) / recipe["std"]).unsqueeze(1)
    return images, torch.from_numpy(read_idx(folder / f"{part}-labels-idx1-ubyte")).long().to(device)


class Training:
    def __init__(self, options, recipe, device):
        self.recipe, self.device = recipe, device
        self.format = torch.channels_last if options.channels_last else torch.contiguous_format
        self.model = resnet9().to(device).to(memory_format=self.format)
        self.forward = torch.compile(self.model) if options.compile else self.model
        self.is_low = options.precision == "bf16"
        decayed = [p for p in self.model.parameters() if p.dim() > 1]
        others = [p for p in self.model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.SGD(
            [{"params": decayed, "weight_decay": recipe["weight-decay"]}, {"params": others, "weight_decay": 0}],
            lr=recipe["lr"], momentum=recipe["momentum"], nesterov=recipe["nesterov"])

    def precision(self):
        return torch.autocast(self.device.type, torch.bfloat16) if self.is_low else contextlib.nullcontext()

    def train(self, images, labels, schedule):
        self.model.train()
        order = torch.randperm(len(images), device=self.device)
        for chosen in order.split(self.recipe["batch"]):
            x = images[chosen]
            flipped = torch.rand(len(x), device=self.device) < 0.5
            x = torch.where(flipped[:, None, None, None], x.flip(3), x).to(memory_format=self.format)
            with self.precision():
                loss = functional.cross_entropy(self.forward(x), labels[chosen], label_smoothing=self.recipe["label-smoothing"])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            schedule.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def accuracy(self, images, labels):
        self.model.eval()
        correct = 0
        with torch.no_grad(), self.precision():
            for x, y in zip(images.split(1000), labels.split(1000)):
                correct += int((self.model(x.to(memory_format=self.format)).argmax(1) == y).sum())
        return correct / len(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true", help="under torch.compile (PyTorch 2.x)")
    options = parser.parse_args()
    recipe = json.loads(RECIPE.read_text())
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    images, labels = load(options.data, "train", recipe, device)
    test = load(options.data, "t10k", recipe, device)
    training = Training(options, recipe, device)
    steps = -(-len(images) // recipe["batch"])
    schedule = torch.optim.lr_scheduler.OneCycleLR(training.optimizer, recipe["lr"], epochs=recipe["epochs"],
                                                   steps_per_epoch=steps, cycle_momentum=False)
    seconds = 0.0
    for epoch in range(1, recipe["epochs"] + 1):
        begin = time.perf_counter()
        training.train(images, labels, schedule)
        seconds += time.perf_counter() - begin
        print(f"{epoch} {seconds:.3f} {training.accuracy(*test):.4f}", flush=True)


if __name__ == "__main__":
    main()
