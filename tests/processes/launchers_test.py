#!/usr/bin/env python3
"""A host, and `troika train`, started by several launchers: launchers_test.py HOST TROIKA

Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from jobs import HOST, TIME_LIMIT_S, run_alone
from scripts import Skipped, run_tests, tests_of
from slurm import SlurmCluster

TROIKA = pathlib.Path(sys.argv[2]).resolve()
TRAIN = ["--limit-train", "3000", "--limit-test", "301", "--batch", "60", "--threads", "1"]


def run(*command, **variables):
    finished = subprocess.run([str(part) for part in command], env={**os.environ, **variables}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIME_LIMIT_S, check=False)
    assert finished.returncode == 0, f"exit status {finished.returncode}: {finished.stdout}"
    return finished.stdout


def expect_two(output):
    """Both processes have printed what one process with two devices prints."""
    expected = run_alone(["devices=2"]).splitlines()
    lines = [line.split("] ", 1)[-1] for line in output.splitlines()]
    assert sorted(lines) == sorted(expected * 2), output


def expect_same_files(first, second):
    for name in ("weights.safetensors", "checkpoint.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_troika_run(_):
    expect_two(run(TROIKA, "run", "--processes", "2", "--", HOST))


def test_mpirun(_):
    if not shutil.which("mpirun"):
        raise Skipped("there is no mpirun; Debian has it in openmpi-bin")
    expect_two(run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", HOST))


def test_variables_of_torchrun(_):
    """torchrun's own store has the port, so the processes meet at the next one."""
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29631", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    processes = [subprocess.Popen([HOST], env={**os.environ, **common, "RANK": str(rank)}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(2)]
    expect_two("".join(process.communicate(timeout=TIME_LIMIT_S)[0] for process in processes))


def test_slurm(folder):
    """Two steps of one cluster, and `troika train`, whose files are those of one process with two devices."""
    with SlurmCluster(folder) as cluster:
        for _ in range(2):
            expect_two(run("srun", "--ntasks=2", HOST, **cluster.environment))
        run(TROIKA, "train", "--devices", "cpu:0,cpu:1", *TRAIN, "--epochs", "1", "--out", folder / "one")
        run("srun", "--ntasks=2", TROIKA, "train", *TRAIN, "--epochs", "1", "--out", folder / "two", **cluster.environment)
        expect_same_files(folder / "one", folder / "two")


def test_train_in_processes(folder):
    run(TROIKA, "train", "--devices", "cpu:0,cpu:1", *TRAIN, "--epochs", "2", "--out", folder / "one")
    run(TROIKA, "train", "--processes", "2", *TRAIN, "--epochs", "2", "--out", folder / "two")
    expect_same_files(folder / "one", folder / "two")


def test_processes_without_shared_memory(folder):
    """Under a limit of file sizes the processes use Gloo."""
    small = ["--synthetic", "400", "--epochs", "1", "--threads", "1"]
    for name, limit in (("free", "unlimited"), ("limited", "4000")):
        run("bash", "-c", f'ulimit -f {limit}; exec "$@"', "bash", TROIKA, "train", "--processes", "2", *small, "--out",
            folder / name)
    expect_same_files(folder / "free", folder / "limited")


def test_a_killed_run_goes_on_as_if_nothing_had_happened(folder):
    run(TROIKA, "train", "--processes", "2", *TRAIN, "--epochs", "8", "--out", folder / "whole")
    killed = folder / "killed"
    launcher = subprocess.Popen([TROIKA, "run", "--processes", "2", "--restarts", "1", "--", TROIKA, "train", *TRAIN,
                                 "--epochs", "8", "--save-every", "7", "--out", killed],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    limit = time.monotonic() + TIME_LIMIT_S
    while not (killed / "checkpoint.safetensors").exists() and time.monotonic() < limit:
        time.sleep(0.01)
    children = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[-1]), signal.SIGKILL)
    output = launcher.communicate(timeout=TIME_LIMIT_S)[0]
    assert launcher.returncode == 0 and "starting again, attempt 2 of 2" in output, output
    expect_same_files(folder / "whole", killed)


if __name__ == "__main__":
    run_tests(tests_of(globals()))
