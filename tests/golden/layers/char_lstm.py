#!/usr/bin/env python3
"""Computes tests/golden/layers/char_lstm.json with PyTorch in float64.

The file has five SGD steps of a small char_lstm.

    python3 tests/golden/layers/char_lstm.py > tests/golden/layers/char_lstm.json

The model has an embedding of 11 words and 64 features, an LSTM of 8 units, and a linear layer per
position. A batch has 7 samples of 12 steps. Parameters and batches come from the hash of
../README.md with salt 0. Parameter number t is unit(t, i). Step s has the tokens
hash32(1000 + s, i) mod 11 and the labels hash32(2000 + s, i) mod 11. The learning rate is 0.5, the
momentum 0.9.

The loss of `plain` is the mean over all labels. `ignored` ignores label 3 and smooths labels by 0.1.
In the third batch of `ignored`, the last four samples have no other label, so that one of two devices
has no label that counts.
"""

import json

import torch
from torch import nn
from torch.nn import functional

MASK = 0xFFFFFFFF
SAMPLES, STEPS, WORDS, FEATURES, HIDDEN = 7, 12, 11, 64, 8


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


def tokens(t):
    return torch.tensor([hash32(t, i) % WORDS for i in range(SAMPLES * STEPS)]).reshape(SAMPLES, STEPS)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, FEATURES)
        self.lstm = nn.LSTM(FEATURES, HIDDEN, batch_first=True)
        self.fc = nn.Linear(HIDDEN, WORDS)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x))[0])


def run(has_ignored):
    net = Net().double()
    with torch.no_grad():
        for t, parameter in enumerate(net.parameters()):
            parameter.copy_(units(t, parameter.shape))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    options = {"ignore_index": 3, "label_smoothing": 0.1} if has_ignored else {}
    losses, corrects, gradients = [], [], {}
    for step in range(5):
        x, labels = tokens(1000 + step), tokens(2000 + step)
        if has_ignored and step == 2:
            labels[3:] = 3
        optimizer.zero_grad()
        logits = net(x)
        loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), **options)
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.flatten().tolist() for name, p in net.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
        counts = labels != 3 if has_ignored else torch.ones_like(labels, dtype=torch.bool)
        corrects.append(int(((logits.argmax(-1) == labels) & counts).sum()))
    return {"losses": losses, "corrects": corrects, "gradients": gradients,
            "parameters": {name: p.flatten().tolist() for name, p in net.named_parameters()}}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [round(number, 9) for number in value]


print(json.dumps({"plain": rounded(run(False)), "ignored": rounded(run(True))}, separators=(",", ":")))
