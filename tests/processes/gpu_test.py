#!/usr/bin/env python3
"""GPUs and CPUs in several processes compute what the same devices compute in one: gpu_test.py HOST [--one-gpu]

With --one-gpu, all devices are replicas on one GPU, and NCCL takes each process for a machine of its own. Prints one
line per test: `ok NAME` or `not ok NAME reason`.
"""
import os
import signal
import sys

from jobs import Job, run_alone
from scripts import run_tests

DATA = [f"data={os.environ['TROIKA_DATA']}"] if "TROIKA_DATA" in os.environ else []
SMALL = [*DATA, "gpus=1", "batch=13", "batches=3", "train=64", "test=9", "test_batch=4"]
ONE_GPU = ["gpu=0"] if "--one-gpu" in sys.argv else []
# (devices of all processes, options of the host, devices of each process, transport)
CASES = [
    (2, "", ["1,1"], "nccl"),
    (3, "optimizer=2 to rounding", ["1,1,1"], "nccl"),
    (2, "zero=1 average=90 clip=1", ["1,1"], "nccl"),
    (2, "mesh=1x1x2", ["1,1"], "nccl"),
    (2, "mesh=1x2x1 micro=2", ["1,1"], "nccl"),
    (4, "mesh=2x2x1 micro=2", ["1,1,1,1"], "nccl"),
    (2, "precision=3", ["1,1"], "nccl"),
    (2, "model=d2l_resnet18 sync=1 batch=6 batches=1 train=8 test=3", ["1,1"], "nccl"),
    # by the host: sums in the order of ranks
    (2, "", ["1,1"], "gloo"),
    (2, "zero=1 optimizer=2", ["1,1"], "gloo"),
    (4, "shards=4", ["1,1,1,1", "2,2", "1,3"], ""),
    (4, "gpu=0", ["2,2", "1,3"], ""),
    (4, "gpu=0 mesh=2x2x1 micro=2", ["2,2", "1,3"], ""),
    (4, "gpu=0 mesh=2x1x2", ["2,2", "1,1,2"], ""),
    # CPUs next to GPUs
    (2, "first_cpu=1", ["1,1"], ""),
    (4, "gpu=0 first_cpu=2 optimizer=2 average=90 clip=1", ["1,1,1,1", "2,2", "3,1"], ""),
    (4, "gpu=0 first_cpu=2 mesh=2x2x1 micro=2 precision=3", ["1,3"], ""),
    (4, "gpu=0 first_cpu=2 mesh=2x1x2", ["2,2"], "gloo"),
    (2, "first_cpu=1 ignore=3", ["1,1"], ""),
    (4, "gpu=0 first_cpu=2 mesh=2x2x1 ignore=3", ["1,1,1,1", "2,2"], ""),
]
# With more than two ranks, NCCL adds in another order than replicas on one GPU do.
if ONE_GPU:
    CASES = [case for case in CASES if case[3] != "nccl" or case[0] == 2]


class GpuJob(Job):
    """Each process is a machine of its own for NCCL, so that NCCL takes the same GPU in several."""

    def __init__(self, arguments, folder, counts, transport):
        super().__init__(arguments, len(counts), folder, counts,
                         {"TROIKA_TRANSPORT": transport, "EMULATED_NCCL_FOLDER": str(folder / "nccl")},
                         lambda rank: {"NCCL_HOSTID": f"machine{rank}", "NCCL_SOCKET_IFNAME": "lo"})


def losses_of(output):
    return [float.fromhex(line.split()[2]) for line in output.splitlines() if " loss " in line]


def is_same(output, expected, is_rounded):
    """NCCL adds more than two ranks in an order that depends on an element's place in its bucket."""
    if not is_rounded:
        return output == expected
    losses = losses_of(expected)
    return bool(losses) and len(losses_of(output)) == len(losses) and all(
        abs(a - b) < 1e-5 * b for a, b in zip(losses_of(output), losses))


def compare(devices, options, divisions, transport, folder):
    arguments = [*options.split(), *SMALL, *ONE_GPU, f"save={folder}/state"]
    expected = run_alone([f"devices={devices}", *arguments])
    for division in divisions:
        outputs = GpuJob(arguments, folder, division.split(","), transport).outputs()
        for rank, output in enumerate(outputs):
            assert is_same(output, expected, "to rounding" in options), \
                f"rank {rank} of [{division}] printed {output!r}, one process {expected!r}"
            assert output == outputs[0], f"rank {rank} of [{division}] printed {output!r}, rank 0 {outputs[0]!r}"


def loses_a_process(transport, folder, *options):
    arguments = [*options, "batches=100000", "train=50000", "deadline=20000", *SMALL, *ONE_GPU]
    job = GpuJob(arguments + ["victim=1", "at=training", "after=300000"], folder, [1, 1, 1], transport)
    outputs = job.outputs()
    assert job.processes[1].returncode == -signal.SIGKILL, outputs
    for rank in (0, 2):
        assert "COMM" in outputs[rank] and any(name in outputs[rank] for name in ("rank 1", "process 1")), outputs[rank]
        assert len(outputs[rank].splitlines()) == 1, outputs[rank]


def main():
    tests = [(f"{devices}_gpus {options} {transport} [{' | '.join(divisions)}]",
              lambda folder, d=devices, o=options, v=divisions, t=transport: compare(d, o, v, t, folder))
             for devices, options, divisions, transport in CASES]
    tests += [(f"loses_a_process {transport}", lambda folder, t=transport: loses_a_process(t, folder))
              for transport in ("nccl", "gloo")]
    tests += [(f"loses_a_process first_cpu={first}", lambda folder, f=first: loses_a_process("", folder, f"first_cpu={f}"))
              for first in (1, 2)]  # the victim has a CPU, or a GPU
    run_tests(dict(tests))


if __name__ == "__main__":
    main()
