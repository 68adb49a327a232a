#!/usr/bin/env python3
"""Measures how fast PyTorch trains the models of tests/bench/sequence_bench.c on one device in
float32:

    python3 tests/bench/sequence_bench.py lstm BATCH STEPS FEATURES HIDDEN [LAYERS [WINDOWS [THREADS [cpu|cuda]]]]
    pytorch 2.15.0 lstm batch 32, 200 x 64, hidden 128, layers 1: 63.3 ms (57.1-143.4)
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Classifier(nn.Module):
    def __init__(self, kind, features, hidden, layers):
        super().__init__()
        self.recurrent = kind(features, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.fc(self.recurrent(x)[0][:, -1])


class CharLstm(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.embedding = nn.Embedding(256, features)
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 256)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x))[0]).flatten(0, 1)


def main():
    name = sys.argv[1]
    defaults = [32, 200, 64, 128, 1, 15, 2]
    device = sys.argv[9] if len(sys.argv) > 9 else "cpu"
    given = [int(value) for value in sys.argv[2:9]]
    batch, steps, features, hidden, layers, windows, threads = given + defaults[len(given):]
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    if name == "char_lstm":
        model = CharLstm(features, hidden)
        x = torch.randint(256, (batch, steps))
        labels = x.flatten()
    else:
        model = Classifier({"lstm": nn.LSTM, "gru": nn.GRU}[name], features, hidden, layers)
        x = torch.rand(batch, steps, features) * 2 - 1
        labels = torch.arange(batch) % 10
    model, x, labels = model.to(device), x.to(device), labels.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    times = []
    for _ in range(windows + 2):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1000)
    times = sorted(times[2:])
    print(f"pytorch {torch.__version__.split('+')[0]} {name} batch {batch}, {steps} x {features}, hidden {hidden}, "
          f"layers {layers}: {times[len(times) // 2]:.1f} ms ({times[0]:.1f}-{times[-1]:.1f})")


if __name__ == "__main__":
    main()
