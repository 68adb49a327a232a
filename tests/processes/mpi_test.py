#!/usr/bin/env python3
"""Processes that mpirun starts and MPI connects: mpi_test.py HOST

Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""
import os
import shutil
import subprocess

from jobs import HOST, TIME_LIMIT_S, run_alone
from scripts import Skipped, run_tests

# (devices of all processes, options of the host, devices of each process)
CASES = [
    (2, "", [1, 1]),
    (3, "batch=61", [2, 1]),
    (4, "mesh=2x2x1 micro=2", [1, 1, 1, 1]),
    (4, "mesh=2x1x2", [2, 2]),
    (4, "mesh=1x2x2 micro=2", [1, 1, 1, 1]),
    (4, "shards=4", [1, 1, 1, 1]),
    (3, "zero=1 average=90 clip=1", [1, 2]),
    (2, "compression=2", [1, 1]),
    (2, "model=d2l_resnet18 batch=6 batches=2 train=64 test=7 test_batch=4", [1, 1]),
]


def run(size, arguments, program=HOST, mpirun=(), **variables):
    if not shutil.which("mpirun"):
        raise Skipped("there is no mpirun; Debian has it in openmpi-bin")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", *mpirun, "-np", size, program, *arguments]
    environment = {**os.environ, "TROIKA_TRANSPORT": "mpi", "TROIKA_RENDEZVOUS": "mpi://", "OMP_WAIT_POLICY": "passive",
                   **variables}
    finished = subprocess.run(list(map(str, command)), env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIME_LIMIT_S, check=False)
    if "no plug-in libtroika_mpi.so" in finished.stdout:
        raise Skipped("the library was built without MPI")
    return finished


def compare(devices, options, division, folder):
    arguments = [*options.split(), f"save={folder}/state"]
    expected = run_alone([f"devices={devices}", *arguments]).splitlines()
    finished = run(len(division), arguments, HOST_DEVICES=",".join(map(str, division)))
    assert finished.returncode == 0, f"exit status {finished.returncode}: {finished.stdout} {finished.stderr}"
    assert sorted(finished.stdout.splitlines()) == sorted(expected * len(division)), finished.stdout


def loses_a_process(_):
    """The others get COMM, although MPI itself does not notice."""
    finished = run(3, ["victim=1", "at=training", "by=exit", "deadline=10000"], mpirun=["--enable-recovery"])
    lines = finished.stdout.splitlines()
    assert len(lines) == 2 and all("COMM" in line and "rank 1" in line for line in lines), finished.stdout


def refuses_a_process_without_launcher(_):
    variables = {**os.environ, "TROIKA_RANK": "0", "TROIKA_WORLD_SIZE": "2", "TROIKA_RENDEZVOUS": "mpi://"}
    finished = subprocess.run([HOST], env=variables, text=True, stdout=subprocess.PIPE, timeout=TIME_LIMIT_S, check=False)
    if "no plug-in libtroika_mpi.so" in finished.stdout:
        raise Skipped("the library was built without MPI")
    assert finished.returncode == 3 and len(finished.stdout.splitlines()) == 1, finished.stdout
    assert "UNSUPPORTED: group: transport 'mpi': the process was not started by mpirun" in finished.stdout, finished.stdout


def refuses_a_part_of_the_processes(folder):
    """Two groups of two processes each, of the four that mpirun has started."""
    program = f"""r=$OMPI_COMM_WORLD_RANK
    TROIKA_RANK=$((r % 2)) TROIKA_WORLD_SIZE=2 TROIKA_RENDEZVOUS=file://{folder}/$((r / 2)) exec {HOST}"""
    finished = run(4, program="sh", arguments=["-c", program])
    expected = "is rank 0 of 4 in MPI_COMM_WORLD, need each of the group's 2 processes, and no other"
    lines = finished.stdout.splitlines()
    assert len(lines) == 4 and all("UNSUPPORTED: group: transport 'mpi'" in line for line in lines), finished.stdout
    assert expected in finished.stdout, finished.stdout


def main():
    tests = [(f"{devices}_devices {options} {division}",
              lambda folder, d=devices, o=options, v=division: compare(d, o, v, folder))
             for devices, options, division in CASES]
    tests += [(test.__name__, test) for test in (loses_a_process, refuses_a_process_without_launcher,
                                                refuses_a_part_of_the_processes)]
    run_tests(dict(tests))


if __name__ == "__main__":
    main()
