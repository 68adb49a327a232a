#!/usr/bin/env python3
"""Processes on machines of their own, with slow and broken networks between them: network_test.py HOST

Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""
import os
import subprocess
import time

from jobs import HOST, TIME_LIMIT_S, run_alone
from scripts import run_tests
from network import Network

PORT = 29714
DEADLINE_S = 5
GRACE_S = 5  # of the failure matrix


class NetworkJob:
    """One process on each machine."""

    def __init__(self, network, arguments, **variables):
        size = len(network.names)
        self.processes = []
        for rank in range(size):
            own = {"TROIKA_RANK": rank, "TROIKA_WORLD_SIZE": size, "TROIKA_NODE": rank, "TROIKA_INTERFACE": "net0",
                   "TROIKA_RENDEZVOUS": f"tcp://{network.address(0)}:{PORT}", "TROIKA_SECRET": "a secret of the test",
                   "OMP_WAIT_POLICY": "passive", **variables}
            self.processes.append(subprocess.Popen(
                network.command(rank, HOST, *arguments), env={**os.environ, **{k: str(v) for k, v in own.items()}}, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def outputs(self):
        return [process.communicate(timeout=TIME_LIMIT_S)[0] for process in self.processes]


def computes_the_same(machines, options, **properties):
    """Every process prints what one process with as many devices prints."""
    expected = run_alone([f"devices={machines}", *options])
    with Network(machines, **properties) as network, NetworkJob(network, options) as job:
        for rank, output in enumerate(job.outputs()):
            assert output == expected, f"rank {rank} printed {output!r}, one process {expected!r}"


def notices_a_cut(machines, after_s):
    """All ranks return COMM within the deadline and a grace, after a cut in the middle of an exchange of gradients."""
    options = [f"deadline={DEADLINE_S * 1000}", "batches=1000000", "model=d2l_resnet18", "batch=8", "train=64"]
    with Network(machines, bits_per_s=100e6) as network, NetworkJob(network, options) as job:
        while min(link.bytes for link in network.links) < 1e6:
            assert all(process.poll() is None for process in job.processes), job.outputs()
            time.sleep(0.05)
        time.sleep(after_s)
        network.is_cut = True
        began = time.monotonic()
        outputs = job.outputs()
        took = time.monotonic() - began
        for rank, output in enumerate(outputs):
            assert "COMM" in output and len(output.splitlines()) == 1, f"rank {rank}: {output!r}"
        assert took < DEADLINE_S + GRACE_S, f"{took:.1f} s after the cut"


def bytes_of_steps(compression, steps):
    with Network(2) as network, NetworkJob(network, [f"compression={compression}", f"batches={steps}", "test=10"]) as job:
        for output in job.outputs():
            assert "state" in output or "loss" in output, output
        return sum(link.bytes for link in network.links)


def sends_half_the_bytes(_):
    """With bf16 compression, a step sends 2 bytes per element each way instead of 4, counted on the wire."""
    elements = 20 * 9 + 20 + 50 * 20 * 25 + 50 + 800 * 128 + 128 + 128 * 10 + 10  # of d2l_lenet
    for compression, size in ((1, 4), (2, 2)):
        per_step = (bytes_of_steps(compression, 12) - bytes_of_steps(compression, 2)) / 10
        expected = 2 * elements * size
        assert expected < per_step < 1.1 * expected, f"{size} bytes per element: {per_step:.0f} bytes per step, not {expected}"


def main():
    tests = [
        ("100 ms each way", lambda _: computes_the_same(2, [], delay_s=0.1)),
        ("1 % of the packets lost", lambda _: computes_the_same(2, [], loss=0.01)),
        ("10 Mbit/s", lambda _: computes_the_same(2, [], bits_per_s=10e6)),
        ("three machines, all of this", lambda _: computes_the_same(3, [], delay_s=0.01, loss=0.01, bits_per_s=100e6)),
        ("layers split over slow machines", lambda _: computes_the_same(2, ["mesh=1x2x1", "micro=2"], delay_s=0.05, loss=0.01)),
        ("bf16 halves the bytes", sends_half_the_bytes),
        ("cut in an all-reduce, 2 machines", lambda _: notices_a_cut(2, 0.5)),
        ("cut in an all-reduce, 3 machines", lambda _: notices_a_cut(3, 0.2)),
    ]
    run_tests(dict(tests))


if __name__ == "__main__":
    main()
