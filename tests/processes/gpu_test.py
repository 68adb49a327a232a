#!/usr/bin/env python3
"""GPUs in several processes compute what the same GPUs compute in one: gpu_test.py HOST [--one-gpu]

With --one-gpu, all devices are replicas on one GPU, and NCCL takes each process for a machine of its own. Prints one
line per test: `ok NAME` or `not ok NAME reason`.
"""
import os
import signal
import sys

from jobs import Job, run_alone, run_tests

DATA = [f"data={os.environ['TROIKA_DATA']}"] if "TROIKA_DATA" in os.environ else []
SMALL = [*DATA, "gpus=1", "batch=13", "batches=3", "train=64", "test=9", "test_batch=4"]
ONE_GPU = ["gpu=0"] if "--one-gpu" in sys.argv else []
# (devices of all processes, options of the host, divisions of the devices over processes, transport)
CASES = [
    (2, "", ["1,1"], "nccl"),
    (3, "optimizer=2", ["1,1,1"], "nccl"),
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
]
# NCCL's order of adding differs from that of replicas on one GPU for more than two.
if ONE_GPU:
    CASES = [case for case in CASES if case[3] != "nccl" or case[0] == 2]


class GpuJob(Job):
    """Each process is a machine of its own for NCCL, so that NCCL takes the same GPU in several."""

    def __init__(self, arguments, folder, counts, transport):
        super().__init__(arguments, len(counts), folder, counts,
                         {"TROIKA_TRANSPORT": transport, "EMULATED_NCCL_FOLDER": str(folder / "nccl")},
                         lambda rank: {"NCCL_HOSTID": f"machine{rank}", "NCCL_SOCKET_IFNAME": "lo"})


def compare(devices, options, divisions, transport, folder):
    arguments = [*SMALL, *ONE_GPU, *options.split(), f"save={folder}/state"]
    expected = run_alone([f"devices={devices}", *arguments])
    for division in divisions:
        for rank, output in enumerate(GpuJob(arguments, folder, division.split(","), transport).outputs()):
            assert output == expected, f"rank {rank} of [{division}] printed {output!r}, one process {expected!r}"


def loses_a_process(transport, folder):
    arguments = [*SMALL, *ONE_GPU, "batches=100000", "deadline=20000"]
    job = GpuJob(arguments + ["victim=1", "at=training", "after=300000"], folder, [1, 1, 1], transport)
    outputs = job.outputs()
    assert job.processes[1].returncode == -signal.SIGKILL, outputs
    for rank in (0, 2):
        assert "COMM" in outputs[rank] and "rank 1" in outputs[rank], outputs[rank]
        assert len(outputs[rank].splitlines()) == 1, outputs[rank]


def main():
    tests = [(f"{devices}_gpus {options} {transport} [{' | '.join(divisions)}]",
              lambda folder, d=devices, o=options, v=divisions, t=transport: compare(d, o, v, t, folder))
             for devices, options, divisions, transport in CASES]
    tests += [(f"loses_a_process {transport}", lambda folder, t=transport: loses_a_process(t, folder))
              for transport in ("nccl", "gloo")]
    return run_tests(tests)


if __name__ == "__main__":
    sys.exit(main())
