#!/usr/bin/env python3
"""Computes tests/golden/layers/layers.json with PyTorch in float64: three SGD steps of four small nets.

    python3 tests/golden/layers/layers.py > tests/golden/layers/layers.json

The nets have every layer that the models of the zoo lack. Parameters and batches come from the hash of
../README.md with salt 0. Parameter number t is unit(t, i). Step s has the samples unit(1000 + s, i),
or the tokens hash32(1000 + s, i) mod 11, and the labels hash32(2000 + s, i) mod the classes. A batch
has 7 samples. The learning rate is 0.1, the momentum 0.9, the loss the mean cross-entropy. The last results have other losses, with the targets
unit(3000 + s, i) + 0.5.
"""

import json

import torch
from torch import nn
from torch.nn import functional

MASK = 0xFFFFFFFF
SAMPLES = 7


def hash32(t, i):
    h = (i + t * 0x9E3779B1) & MASK
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def units(t, shape):
    count = torch.Size(shape).numel()
    values = [(hash32(t, i) >> 8) / 2**24 - 0.5 for i in range(count)]
    return torch.tensor(values, dtype=torch.float32).double().reshape(shape)


def integers(t, shape, below):
    count = torch.Size(shape).numel()
    return torch.tensor([hash32(t, i) % below for i in range(count)]).reshape(shape)


class RMSNorm(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Image(nn.Module):
    SAMPLE, LABELS, CLASSES = (4, 6, 6), (), 5

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1, bias=False)
        self.group_norm = nn.GroupNorm(2, 8, eps=1e-3)
        self.gate = nn.Conv2d(8, 8, 1)
        self.up = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.conv1d = nn.Conv1d(8, 6, 3, stride=2, padding=1)
        self.layer_norm = nn.LayerNorm((6, 6))
        self.mix = nn.Linear(36, 36)
        self.rms_norm = RMSNorm(36, 1e-4)
        self.fc = nn.Linear(36, 5)

    def forward(self, x):
        x = functional.silu(self.group_norm(self.conv(x)))                         # [n, 8, 6, 6]
        x = x * torch.sigmoid(self.gate(x.mean((2, 3), keepdim=True)))
        x = functional.leaky_relu(self.up(x), 0.1)                                 # [n, 6, 12, 12]
        x = torch.cat([x[:, 0:4], x[:, 2:6]], 1).mean(3)                           # [n, 8, 12]
        x = self.layer_norm(torch.tanh(self.conv1d(x))).reshape(-1, 36)
        x = self.rms_norm(torch.softmax(self.mix(x), -1) * x)
        return self.fc(x)


class BatchNorm(nn.Module):
    SAMPLE, LABELS, CLASSES = (6, 5), (), 5

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 4, 3, padding=2, dilation=2, groups=2, bias=False)
        self.bn1 = nn.BatchNorm1d(4)
        self.fc1 = nn.Linear(20, 8)
        self.bn2 = nn.BatchNorm1d(8, eps=1e-3, momentum=0.3)
        self.fc2 = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv(x))).flatten(1)
        return self.fc2(self.bn2(self.fc1(x)))


class Shared(nn.Module):
    SAMPLE, LABELS, CLASSES = None, (6,), 11

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.fc = nn.Linear(8, 11)
        self.fc.weight = self.embedding.weight
        self.last = nn.Linear(11, 11)

    def forward(self, x):
        return self.last(self.fc(self.lstm(self.embedding(x))[0]))


class Inputs(nn.Module):
    SAMPLE, LABELS, CLASSES = (16,), (), 5

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 2)
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(16, 5)

    def forward(self, x):
        signal = torch.tanh(self.conv(x[:, :12].reshape(-1, 3, 4))).flatten(1)     # [n, 12]
        return self.fc2(torch.cat([signal, torch.relu(self.fc1(x[:, 12:]))], 1))


# The losses against values, on the net Inputs. Targets are 0 to 1.
LOSSES = {"mean_squared_error": nn.MSELoss(), "mean_absolute_error": nn.L1Loss(), "huber": nn.HuberLoss(delta=0.3),
          "binary_cross_entropy": nn.BCEWithLogitsLoss()}


def run(kind, loss_of_values=None):
    net = kind().double()
    with torch.no_grad():
        for t, parameter in enumerate(net.parameters()):
            parameter.copy_(units(t, parameter.shape))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses, gradients = [], {}
    for step in range(3):
        x = (integers(1000 + step, (SAMPLES, 6), 11) if kind.SAMPLE is None
             else units(1000 + step, (SAMPLES, *kind.SAMPLE)))
        labels = integers(2000 + step, (SAMPLES, *kind.LABELS), kind.CLASSES)
        optimizer.zero_grad()
        if loss_of_values:
            loss = loss_of_values(net(x), units(3000 + step, (SAMPLES, kind.CLASSES)) + 0.5)
        else:
            loss = functional.cross_entropy(net(x).reshape(-1, kind.CLASSES), labels.flatten())
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.flatten().tolist() for name, p in net.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    buffers = {name: b.flatten().tolist() for name, b in net.named_buffers() if b.dim() > 0}
    return {"losses": losses, "gradients": gradients, "buffers": buffers,
            "parameters": {name: p.flatten().tolist() for name, p in net.named_parameters()}}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [round(number, 9) for number in value]


results = {kind.__name__: rounded(run(kind)) for kind in (Image, BatchNorm, Shared, Inputs)}
results |= {name: rounded(run(Inputs, loss)) for name, loss in LOSSES.items()}
print(json.dumps(results, separators=(",", ":")))
