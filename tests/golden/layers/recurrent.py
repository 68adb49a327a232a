#!/usr/bin/env python3
"""Computes tests/golden/layers/recurrent.json with PyTorch in float64.

The file has three SGD steps of a small net of LSTMs, and three of a small net of GRUs.

    python3 tests/golden/layers/recurrent.py > tests/golden/layers/recurrent.json

A net has two layers (2 features, hidden 3, hidden 4) over 7 steps, the choice of the last step but
one, and a linear layer of 3 classes. A batch has 5 samples. Parameters and batches come from the hash
of ../README.md with salt 0. Parameter number t is unit(t, i). Step s has the inputs
2 unit(1000 + s, i) and the labels hash32(2000 + s, i) mod 3. The learning rate is 0.5, the momentum
0.9.
"""

import json

import torch
from torch import nn
from torch.nn import functional

MASK = 0xFFFFFFFF
SAMPLES, STEPS, FEATURES, CLASSES = 5, 7, 2, 3


def hash32(t, i):
    h = (i + t * 0x9E3779B1) & MASK
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def units(t, shape, scale=1.0):
    count = torch.Size(shape).numel()
    values = [((hash32(t, i) >> 8) / 2**24 - 0.5) * scale for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn1 = kind(FEATURES, 3, batch_first=True)
        self.rnn2 = kind(3, 4, batch_first=True)
        self.fc = nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.fc(self.rnn2(self.rnn1(x)[0])[0][:, -2])


def run(kind):
    net = Net(kind).double()
    with torch.no_grad():
        for t, parameter in enumerate(net.parameters()):
            parameter.copy_(units(t, parameter.shape))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    losses, gradients = [], {}
    for step in range(3):
        x = units(1000 + step, (SAMPLES, STEPS, FEATURES), 2.0)
        labels = torch.tensor([hash32(2000 + step, i) % CLASSES for i in range(SAMPLES)])
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x), labels)
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.flatten().tolist() for name, p in net.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "gradients": gradients,
            "parameters": {name: p.flatten().tolist() for name, p in net.named_parameters()}}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [round(number, 9) for number in value]


print(json.dumps({"lstm": rounded(run(nn.LSTM)), "gru": rounded(run(nn.GRU))}, indent=1, separators=(",", ":"))
      .replace(",\n   ", ",").replace("[\n   ", "["))
