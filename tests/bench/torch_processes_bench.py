#!/usr/bin/env python3
"""PyTorch between processes over Gloo: all-reduce, or DistributedDataParallel's training step. tests/bench/processes
starts it in each process, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.

    torch_processes_bench.py all_reduce BYTES...      a line per size: bytes, and the median in microseconds
    torch_processes_bench.py MODEL BATCH STEPS        images per second, the median of five windows
"""
import statistics
import sys
import time

import torch
from torch import distributed, nn

import pytorch_bench


def seconds_of(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def all_reduce(sizes):
    for size in sizes:
        data = torch.zeros(size // 4)
        calls = max(5, min(2000, 400_000_000 // (size + 200_000)))  # as all_reduce_bench.c
        times = [seconds_of(lambda: distributed.all_reduce(data)) for _ in range(calls + 3)][3:]
        if distributed.get_rank() == 0:
            print(size, round(1e6 * statistics.median(times), 1), flush=True)


def train(name, batch, steps):
    world = distributed.get_world_size()
    model = nn.parallel.DistributedDataParallel(getattr(pytorch_bench, name)())
    images, labels = torch.randn(batch // world, 1, 28, 28), torch.randint(0, 10, (batch // world,))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=0.01), nn.CrossEntropyLoss()

    def window():
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            loss(model(images), labels).backward()
            optimizer.step()

    window()
    rates = [batch // world * world * steps / seconds_of(window) for _ in range(5)]
    if distributed.get_rank() == 0:
        print(round(statistics.median(rates)), flush=True)


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    if sys.argv[1] == "all_reduce":
        all_reduce(map(int, sys.argv[2:]))
    else:
        train(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))


main()
