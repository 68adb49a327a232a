#!/usr/bin/env python3
"""Devices in several processes compute what the same devices compute in one: equivalence_test.py HOST

Every process prints what it computed, in hexadecimal. Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""

from jobs import Job, run_alone
from scripts import Skipped, run_tests

# (devices of all processes, options of the host, divisions of the devices over processes)
CASES = [
    (2, "", ["1,1"]),
    (3, "", ["1,1,1", "2,1", "1,2"]),
    (4, "", ["1,1,1,1", "2,2", "3,1", "1,1,2"]),
    (8, "batch=61", ["2,2,2,2", "4,4", "5,1,2"]),
    (2, "mesh=1x2x1 micro=2", ["1,1"]),
    (2, "mesh=1x1x2", ["1,1"]),
    (4, "mesh=2x2x1 micro=2", ["1,1,1,1", "2,2", "1,3"]),
    (4, "mesh=2x1x2", ["1,1,1,1", "2,2", "1,3"]),
    (4, "mesh=1x2x2 micro=2", ["1,1,1,1", "2,2"]),
    (8, "mesh=2x2x2 micro=2", ["2,2,2,2", "4,4", "1,1,1,1,1,1,1,1"]),
    (6, "mesh=3x2x1 micro=3 batch=31", ["2,2,2", "3,3"]),
    (1, "shards=4", ["1"]),
    (2, "shards=4", ["1,1"]),
    (4, "shards=4", ["1,1,1,1", "2,2"]),
    (2, "zero=1 optimizer=2", ["1,1"]),
    (3, "zero=1 average=90 clip=1", ["1,2", "1,1,1"]),
    (4, "zero=1 mesh=2x2x1 optimizer=2", ["2,2", "1,1,1,1"]),
    (2, "recompute=3 precision=2", ["1,1"]),
    (2, "precision=3 optimizer=2", ["1,1"]),
    (2, "compression=2", ["1,1"]),
    (3, "compression=2 bucket=1000000", ["1,1,1", "2,1"]),
    (4, "batch=3 test_batch=2 test=21", ["1,1,1,1", "2,2"]),  # fewer samples than devices
    (2, "model=d2l_resnet18 batch=6 batches=2 train=64 test=7 test_batch=4", ["1,1"]),
    (3, "model=d2l_resnet18 sync=1 batch=7 batches=2 train=64 test=7 test_batch=4", ["1,2"]),
]

# The same with the machine of each process. Large sums are made within the machines first.
MACHINES = [
    (4, "bucket=1000000", "1,1,1,1", "0,0,1,1"),
    (8, "batch=61", "1,1,1,1,1,1,1,1", "0,0,0,0,1,1,1,1"),
    (6, "clip=1", "1,1,1,1,1,1", "0,0,1,1,2,2"),
    (8, "optimizer=2", "2,2,2,2", "0,0,1,1"),
    (4, "zero=1 compression=2", "1,1,1,1", "0,0,1,1"),
    (6, "", "1,1,1,1,1,1", "0,0,0,1,1,1"),  # three of a machine are no node of the sum's tree
    (8, "mesh=2x2x2 micro=2", "1,1,1,1,1,1,1,1", "0,1,0,1,0,1,0,1"),
]


# With late updates, over Gloo: sums travel in an order of their own.
LATE = [
    ("1,1", ""),
    ("1,1,1", "optimizer=2 average=90"),
    ("2,1", "compression=2 bucket=1000000"),
    ("1,1", "precision=3 optimizer=5 micro=2"),
    ("1,1,1,1", "shards=4 optimizer=2"),
    ("1,1", "epochs=2 rounds=5"),  # the last batch of an epoch is another plan's
    ("1,1,1", "model=d2l_resnet18 sync=1 batch=7 train=64 test=7 test_batch=4"),
    ("1,1", "batch=1 train=9 test_batch=2 test=3"),  # a rank without samples
    ("1,1", "batch=1 train=9 test_batch=2 test=3 compression=2"),
    ("1,1", "rounds=9 peek=1 warmup=20"),  # each step has a rate of its own, and the host reads a parameter
    ("2,1", "rounds=9 peek=1 warmup=20 optimizer=2"),
]


def compare(devices, options, divisions, folder, machines=None):
    """In the memory of the machine, and the first division also over Gloo."""
    arguments = [*options.split(), f"save={folder}/state"]
    expected = run_alone([f"devices={devices}", *arguments])
    for division, transport in [(each, "") for each in divisions] + [(divisions[0], "gloo")]:
        counts = division.split(",")
        job = Job(arguments, len(counts), folder, counts,
                  of_rank=lambda rank: {"TROIKA_NODE": machines.split(",")[rank]} if machines else {},
                  environment={"TROIKA_TRANSPORT": transport} if transport else None)
        for rank, output in enumerate(job.outputs()):
            assert output == expected, f"rank {rank} of [{division}] {transport} printed {output!r}, one process {expected!r}"


def compare_late(division, options, folder):
    counts = division.split(",")
    arguments = [*f"batches=6 {options}".split(), "late=1", f"save={folder}/state"]
    expected = run_alone([f"devices={sum(map(int, counts))}", *arguments]).splitlines()
    job = Job(arguments, len(counts), folder, counts, environment={"TROIKA_TRANSPORT": "gloo", "LOG": "1"})
    for rank, output in enumerate(job.outputs()):
        assert " are late: " in output, f"rank {rank} of [{division}] has no late updates: {output!r}"
        lines = output.splitlines()
        assert all(line in lines for line in expected), f"rank {rank} of [{division}] printed {output!r}, one process {expected!r}"


def state_of(output):
    return output.split("state ")[1].split()[0]


def goes_on_with_another_number_of_processes(folder):
    """With logical shards a run has the same bits, whatever processes it goes on with."""
    shards = ["shards=4", "batches=3"]
    expected = state_of(run_alone(["devices=1", "shards=4", "batches=6", f"save={folder}/whole"]))
    for first, second in (("1,1", "1,1,1,1"), ("2,2", "1"), ("1", "2,2"), ("1,1,1,1", "2")):
        counts = first.split(",")
        Job([*shards, f"save={folder}/half"], len(counts), folder, counts).outputs()
        counts = second.split(",")
        outputs = Job([*shards, f"load={folder}/half", f"save={folder}/rest"], len(counts), folder, counts).outputs()
        for output in outputs:
            assert "state " in output and state_of(output) == expected, f"[{first}], then [{second}]: {output}"


def agrees_on_layouts(folder):
    """Processes whose kernels prefer other layouts, as they have other numbers of rows, take plain ones."""
    for batch, are_plain in ((8, False), (3, True)):
        arguments = ["model=mlp", f"batch={batch}", f"save={folder}/state"]
        expected = run_alone(["devices=2", *arguments]).splitlines()
        for output in Job(arguments, 2, folder, ["1", "1"], environment={"LOG": "1"}).outputs():
            assert ("all are plain" in output) == are_plain, f"batch {batch}: {output}"
            assert all(line in output.splitlines() for line in expected), f"batch {batch}: {output}, expected {expected}"


def reads_only_what_it_needs(folder):
    """All parameters, the slots of its ranks, and its part of the data for the sum."""
    adam = ["model=mlp", "optimizer=2", "zero=1", "batches=2"]
    Job([*adam, f"save={folder}/state"], 4, folder, ["1"] * 4).outputs()
    with open(f"{folder}/state", "rb") as file:
        saved = file.read()
    outputs = Job([*adam, "counts=1", f"load={folder}/state", f"again={folder}/again"], 4, folder, ["1"] * 4).outputs()
    with open(f"{folder}/again", "rb") as file:
        assert file.read() == saved, "a state that is saved right after loading is another one"
    parameters = len(saved) / 3  # Adam has two slots
    read = sum(int(output.split("read ")[1].split()[0]) for output in outputs)
    if read <= 0:
        raise Skipped("this kernel does not count the bytes that a process reads")
    needed = 4 * parameters + 2 * parameters + len(saved)
    assert needed < read < 1.05 * needed, f"all read {read} bytes of a file of {len(saved)}, needed {needed:.0f}"


def main():
    tests = [(f"{devices}_devices {options} [{' | '.join(divisions)}]",
              lambda folder, d=devices, o=options, v=divisions: compare(d, o, v, folder))
             for devices, options, divisions in CASES]
    tests += [(f"{devices}_devices {options} [{division}] on machines [{machines}]",
               lambda folder, d=devices, o=options, v=division, m=machines: compare(d, o, [v], folder, m))
              for devices, options, division, machines in MACHINES]
    tests += [(f"late_updates [{division}] {options}", lambda folder, d=division, o=options: compare_late(d, o, folder))
              for division, options in LATE]
    tests.append(("agrees_on_layouts", agrees_on_layouts))
    tests.append(("reads_only_what_it_needs", reads_only_what_it_needs))
    tests.append(("goes_on_with_another_number_of_processes", goes_on_with_another_number_of_processes))
    run_tests(dict(tests))


if __name__ == "__main__":
    main()
