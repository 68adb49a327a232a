"""Tests of the tool on a GPU and a CPU together. TROIKA_BACKEND_DIR names the folder of a GPU's plug-in.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import json
import re

from tool import refuse, rows_of, run, run_tests

MLP = ("--model", "mlp", "--synthetic", 400, "--batch", 40, "--progress", "off")
SGD = ("--optimizer", "sgd", "--momentum", 0.9)


def losses_of(run_folder):
    return [float(row["loss"]) for row in rows_of(run_folder)]


def a_gpu_and_a_cpu_learn_what_one_of_them_learns(folder):
    runs = {"gpu": ["cuda:0"], "even": ["cuda:0,cpu:0"], "uneven": ["cpu:0,cuda:0", "--shares", "1,4"],
            "layers": ["cuda:0,cpu:0", "--mesh", "1x2x1"], "measured": ["cuda:0,cpu:0", "--shares", "auto"],
            "planned": ["cuda:0,cpu:0", "--mesh", "auto"]}
    for name, given in runs.items():
        run("train", *MLP, "--epochs", 2, "--devices", *given, "--out", folder / name)
    expected = losses_of(folder / "gpu")
    assert expected[1] < 0.5 * expected[0], expected
    for name in runs:
        assert all(abs(a - b) < 1e-4 for a, b in zip(losses_of(folder / name), expected, strict=True)), (name, losses_of(folder / name))
    assert json.loads((folder / "planned" / "run.json").read_text())["mesh"] == "2x1x1"


def a_run_goes_on_with_the_cpu_alone(folder):
    run("train", *MLP, "--epochs", 2, "--devices", "cpu:0", *SGD, "--out", folder / "whole")
    run("train", *MLP, "--epochs", 1, "--devices", "cuda:0,cpu:0", *SGD, "--out", folder / "run")
    run("train", "--resume", folder / "run", "--epochs", 2, "--devices", "cpu:0", "--progress", "off")
    assert all(abs(a - b) < 1e-4 for a, b in zip(losses_of(folder / "run"), losses_of(folder / "whole"), strict=True))


def a_profile_has_the_times_of_the_gpu(folder):
    text = run("bench", "--model", "mlp", "--batch", 16, "--devices", "cuda:0", "--steps", 2, "--windows", 1, "--profile")
    launches = re.findall(r"^ +([\d.]+) ms .*  replica 0  (\S+ \S+)  (cuda:\S+)$", text, re.M)
    assert [name for _, name, _ in launches][:2] == ["linear fc1", "linear_cross_entropy loss"], text
    assert all(float(time) > 0 for time, _, _ in launches), text
    total = re.search(r"^ +([\d.]+) ms  replica 0  sum; a step without a trace takes ", text, re.M)
    assert total and abs(float(total[1]) - sum(float(time) for time, _, _ in launches)) < 0.001 * (len(launches) + 1), text


def a_profile_in_tf32_has_parts_of_a_peak(folder):
    text = run("bench", "--model", "mlp", "--batch", 16, "--devices", "cuda:0", "--precision", "tf32", "--steps", 2, "--windows", 1,
               "--profile")
    assert int(re.search(r"; of the (\d+) GFLOPS of large products\n", text)[1]) > 0, text
    assert re.search(r" GFLOPS +\d+ %  replica 0  linear fc1 ", text), text


def a_profile_of_several_replicas_has_the_times_of_the_gpu(folder):
    text = run("bench", "--model", "mlp", "--batch", 16, "--devices", "cuda:0,cuda:0", "--steps", 2, "--windows", 1, "--profile")
    for replica in "01":
        launches = re.findall(rf"^ +([\d.]+) ms .*  replica {replica}  (\S+ \S+)  (cuda:\S+)$", text, re.M)
        waits = re.findall(rf"^ +([\d.]+) ms +[\d.]+ % +replica {replica}  wait for all_reduce bucket \d+$", text, re.M)
        assert launches and waits, text
        total = re.search(rf"^ +([\d.]+) ms  replica {replica}  sum; a step without a trace takes ([\d.]+) ms", text, re.M)
        # By the host's clock launches would take next to nothing: the host does not wait for them.
        assert sum(float(time) for time, *_ in launches) > 0.1 * float(total[1]), text


def a_profile_says_what_early_starts_bring(folder):
    def lines_of(own_kernels):
        text = run("bench", "--model", "mlp", "--batch", 16, "--devices", "cuda:0", "--precision", "bf16", "--steps", 2, "--windows", 1,
                   "--profile", environment={"TROIKA_OWN_KERNELS": own_kernels})
        return [line for line in text.splitlines() if line.startswith("recorded ")]
    with_them, without = lines_of("1"), lines_of("0")
    assert without == [], without
    assert len(with_them) == 1, with_them
    line = re.fullmatch(r"recorded (\d+) launches: (\d+) start early, ([\d.e+]+) us; without, ([\d.e+]+) us(, and faster)?", with_them[0])
    assert line and 0 < int(line[2]) < int(line[1]), with_them
    early, late = float(line[3]), float(line[4])
    assert early == late or (line[5] is None) == (early < late), with_them  # times may print alike


def channels_of_a_layer_need_one_kind(folder):
    line = refuse("train", *MLP, "--devices", "cuda:0,cpu:0", "--mesh", "1x1x2", "--out", folder / "run")
    assert line == ("troika: --mesh splits channels over ranks 0 and 1, which are on a CPU and a GPU;"
                    " split by data or by layer there"), line


if __name__ == "__main__":
    run_tests(globals())
