#!/usr/bin/env python3
"""The cost of the binding: ns per call, and images/s of LeNet at batch 16: overhead.py [SAMPLES]

Prints `call ns X`, `epoch images/s Y` (one call per epoch) and `steps images/s Z` (one call per step).
The best of five runs counts.
"""

import sys
import time

import troika

CALLS, RUNS = 200_000, 5


def best(run):
    """The shortest time of a few runs, in seconds."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def call_often():
    for _ in range(CALLS):
        troika.lib.troika_version()


def step_through(trainer, loader):
    for batch in loader:
        trainer.step(batch)


def main():
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    print("call ns", round(best(call_often) / CALLS * 1e9))
    context = troika.Context()
    loader = troika.Dataset.synthetic(context, (1, 28, 28), samples, 10).loader(batch=16)
    trainer = troika.Model(context, "d2l_lenet").attach("cpu:0")
    trainer.train_epoch(loader)  # compiles the plan
    print("epoch images/s", round(samples / best(lambda: trainer.train_epoch(loader))))
    print("steps images/s", round(samples / best(lambda: step_through(trainer, loader))))


if __name__ == "__main__":
    main()
