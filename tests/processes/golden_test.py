#!/usr/bin/env python3
"""Golden training curves over several processes: golden_test.py GOLDEN_CURVES

Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""
import pathlib

from jobs import Job
from scripts import run_tests

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
# A file with BatchNorm needs as many devices as it has shards, so not more processes.
CASES = [
    ("lenet.json", (2, 3)),
    ("lenet_3_devices_uneven.json", (2, 3)),
    ("d2l_resnet18_2_devices.json", (2,)),
    ("d2l_resnet18_2_devices_uneven.json", (2,)),
    ("optimizers/lenet_adam.json", (2, 3)),
    ("optimizers/lenet_lars_3_devices.json", (2, 3)),
]


def follow(name, processes, folder):
    """Every process follows the curve."""
    for rank, output in enumerate(Job([GOLDEN / name], processes, folder).outputs()):
        assert output.startswith("ok ") and len(output.splitlines()) == 1, f"rank {rank}: {output}"


def main():
    run_tests({f"{name} [{processes} processes]": lambda folder, n=name, p=processes: follow(n, p, folder)
               for name, counts in CASES for processes in counts})


if __name__ == "__main__":
    main()
