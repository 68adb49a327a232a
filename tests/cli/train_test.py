"""Tests of `troika train`: a run's files, and errors.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import xml.etree.ElementTree

from tool import (COLUMNS, LONG, RUN_FILES, SMALL, TIME_LIMIT_S, TOOL, Skip, contents_of, figures_of, need_processes, refuse,
                  rows_of, run, run_tests, same_files, start_long_run)


def a_run_leaves_every_file(folder):
    out = folder / "run"
    text = run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "plain")
    assert {path.name for path in out.iterdir()} == RUN_FILES, sorted(path.name for path in out.iterdir())
    lines = [line for line in text.splitlines() if line.startswith("epoch ")]
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(rf"epoch {number}/2  loss \d+\.\d{{4}}  train [01]\.\d{{4}}  test [01]\.\d{{4}}  "
                            r"[\d,]+ img/s  \d+\.\d s  ETA \d+:\d\d", line), line


def metrics_have_a_row_an_epoch(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 3, "--out", out, "--progress", "off")
    rows = rows_of(out)
    assert [(row["epoch"], row["step"]) for row in rows] == [("1", "8"), ("2", "16"), ("3", "24")], rows
    for row in rows:
        assert all(float(row[key]) > 0 for key in ("loss", "test_loss", "images_per_second", "learning_rate")), row
        assert all(0 <= float(row[key]) <= 1 for key in ("train_accuracy", "test_accuracy")), row
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])


def charts_are_well_formed(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off")
    for name in ("accuracy.svg", "loss.svg"):
        root = xml.etree.ElementTree.parse(out / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"train", "test", "epoch"} <= set(texts), texts


def charts_have_room_for_any_list_of_devices(folder):
    svg = "{http://www.w3.org/2000/svg}"
    eight = [f"cpu:{i}" for i in range(8)]
    for name, devices, mesh, title in (("one", ["cpu:0"], [], "mlp on cpu:0"),
                                       ("two", ["cpu:0", "cpu:1"], [], "mlp on cpu:0,cpu:1 as 2x1x1"),
                                       ("eight", eight, ["--mesh", "2x2x2"], "mlp on cpu:0..7 as 2x2x2"),
                                       ("sixteen", eight + eight, [], "mlp on cpu:0..7,cpu:0..7 as 16x1x1"),
                                       ("mixed", 4 * eight[::-2], [], "mlp on 16 devices as 16x1x1")):
        out = folder / name
        run("train", "--model", "mlp", "--synthetic", 64, "--batch", 32, "--epochs", 2, "--devices", ",".join(devices), *mesh,
            "--lr", 0.1, "--out", out, "--progress", "off")
        best = max(rows_of(out), key=lambda row: (float(row["test_accuracy"]), -float(row["test_loss"])))
        least = min(rows_of(out), key=lambda row: float(row["test_loss"]))
        for file, note in (("accuracy.svg", f"best test accuracy {float(best['test_accuracy']):.4f} in epoch {best['epoch']}"),
                           ("loss.svg", f"lowest test loss {float(least['test_loss']):.4f} in epoch {least['epoch']}")):
            root = xml.etree.ElementTree.parse(out / file).getroot()
            texts = {element.text: element.attrib for element in root.iter(f"{svg}text")}
            assert title in texts and note in texts, (name, list(texts))
            # In wide fonts a bold letter of the title takes up to 11 pixels of the picture's 720.
            assert float(texts[title]["x"]) + 11 * len(title) <= 720, title
            assert float(texts["train"]["y"]) - float(texts[title]["y"]) >= 20, texts  # the legend is below the title
            assert float(texts["train"]["x"]) > float(texts[note]["x"]) + 7.6 * len(note), texts


def the_axis_of_accuracy_does_not_magnify_noise(folder):
    run("train", "--model", "mlp", "--synthetic", 200, "--batch", 50, "--epochs", 3, "--lr", 0, "--out", folder / "run", "--progress", "off")
    ticks = [element.text for element in xml.etree.ElementTree.parse(folder / "run" / "accuracy.svg").getroot().iter(
        "{http://www.w3.org/2000/svg}text") if element.attrib.get("class") == "tick" and "." in element.text]
    assert float(ticks[-1]) - float(ticks[0]) >= 0.2 and float(ticks[0]) >= 0, ticks


def the_bar_tells_what_the_run_still_needs(folder):
    finished = subprocess.run([TOOL, "train", *SMALL, "--epochs", "2", "--out", str(folder / "run"), "--progress", "bar"],
                              text=True, capture_output=True, timeout=TIME_LIMIT_S, check=True)
    bars = [bar.strip() for bar in finished.stderr.split("\033[K")]
    for epoch in (1, 2):
        for phase in ("train", "test"):
            assert any(re.fullmatch(rf"epoch {epoch}/2 {phase:5} \[[= ]+\] \d+/\d+  loss \d+\.\d{{4}}  [\d,]+ img/s  "
                                    r"ETA \d+:\d\d", bar) for bar in bars), (epoch, phase, bars)


def a_line_shows_how_far_an_epoch_is(folder):
    often = ("--progress-seconds", 0.001)
    lines = run("train", *SMALL, "--epochs", 1, "--out", folder / "a", "--progress", "plain", *often).splitlines()
    assert re.fullmatch(r"epoch 1/1 train +\d+/\d+  loss \d+\.\d+  [\d,]+ img/s  ETA \d+:\d+", lines[1]), lines[1]
    objects = [json.loads(line) for line in run("train", *SMALL, "--epochs", 1, "--out", folder / "b", "--progress", "json",
                                                *often).splitlines()]
    shown = [line for line in objects if line["event"] == "progress"]
    assert shown and shown[0]["phase"] == "train" and 0 < shown[0]["done"] <= shown[0]["total"], objects
    assert "progress" not in [json.loads(line)["event"] for line in
                              run("train", *SMALL, "--epochs", 1, "--out", folder / "c", "--progress", "json").splitlines()]
    line = refuse("train", *SMALL, "--out", folder / "d", "--progress-seconds", 0)
    assert "--progress-seconds is 0" in line, line


def progress_off_prints_nothing_and_json_prints_objects(folder):
    assert run("train", *SMALL, "--epochs", 1, "--out", folder / "a", "--progress", "off") == ""
    events = [json.loads(line) for line in
              run("train", *SMALL, "--epochs", 2, "--out", folder / "b", "--progress", "json").splitlines()]
    assert [event["event"] for event in events] == ["start", "epoch", "epoch", "done"], events


TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")  # part of base-files, on every Debian


def a_text_trains_char_lstm_the_same_on_one_device_and_two(folder):
    if not TEXT.exists():
        raise Skip(f"{TEXT} is not there")
    losses = []
    for devices in ("cpu:0", "cpu:0,cpu:1"):
        out = folder / devices.replace(":", "")
        events = [json.loads(line) for line in
                  run("train", "--model", "char_lstm", "--data", TEXT, "--devices", devices, "--batch", 32, "--steps", 32,
                      "--lr", 2, "--momentum", 0.9, "--epochs", 3, "--out", out, "--progress", "json").splitlines()]
        epochs = [event for event in events if event["event"] == "epoch"]
        for epoch in epochs:
            assert abs(epoch["test_perplexity"] - math.exp(epoch["test_loss"])) < 1e-6 * epoch["test_perplexity"], epoch
        rows = rows_of(out, [*COLUMNS, "train_perplexity", "test_perplexity"])
        for row, epoch in zip(rows, epochs, strict=True):
            for name in ("train_perplexity", "test_perplexity"):
                assert abs(float(row[name]) - epoch[name]) < 1e-4, (row, epoch)
        losses.append([epoch["loss"] for epoch in epochs])
        assert epochs[-1]["test_perplexity"] < 20, epochs  # of 256 bytes; from their frequencies alone: about 24
        lowest = min(epochs, key=lambda epoch: epoch["test_loss"])
        assert f"; lowest test loss {lowest['test_loss']:.4f} in epoch {lowest['epoch']}; weights in " in events[-1]["message"], events[-1]
    assert max(abs(a - b) for a, b in zip(*losses)) < 1e-3, losses
    run("train", "--resume", out, "--epochs", 4, "--progress", "off")  # reads the rows again
    assert rows_of(out, [*COLUMNS, "train_perplexity", "test_perplexity"])[:3] == rows
    told = run("evaluate", "--model", "char_lstm", "--data", TEXT, "--steps", 32, "--weights",
               folder / "cpu0" / "weights.safetensors")
    assert re.fullmatch(r"loss \d\.\d{4}  accuracy 0\.\d{4}  perplexity \d+\.\d\d  \d+ samples  [\d,]+ seq/s", told.strip()), told
    assert "char_lstm" in refuse("train", "--model", "mlp", "--data", TEXT, "--out", folder / "c")


# The learning rate of each optimizer if --lr is not given.
RATES = {"sgd": 0.1, "adam": 0.001, "adamw": 0.001, "rmsprop": 0.001, "lars": 0.1, "lamb": 0.001, "adagrad": 0.01}


def each_optimizer_has_a_rate_that_fits(folder):
    told = " ".join(run("train", "--help").split())
    assert all(f"{name} {rate}" in told for name, rate in RATES.items()), told
    base = ["train", "--model", "d2l_lenet", "--synthetic", 512, "--batch", 32, "--progress", "off", "--threads", 2]
    for name, rate in RATES.items():
        out = folder / name
        run(*base, "--optimizer", name, "--epochs", 2, "--out", out)
        assert json.loads((out / "run.json").read_text())["lr"] == rate, name
        rows = rows_of(out)
        assert float(rows[0]["learning_rate"]) == rate, rows
        assert float(rows[-1]["test_loss"]) < 2.5, (name, rows)  # guessing ten classes: 2.30
    run("train", "--resume", folder / "adam", "--epochs", 3, "--lr", 0.001, "--progress", "off")
    run(*base, "--optimizer", "adam", "--lr", 0.0005, "--epochs", 1, "--out", folder / "given")
    assert json.loads((folder / "given" / "run.json").read_text())["lr"] == 0.0005


def a_run_without_a_recipe_learns_in_its_first_epoch(folder):
    data = pathlib.Path("/usr/share/datasets/fashion-mnist")
    if not data.is_dir():
        raise Skip(f"{data} is not there")
    run("train", "--out", folder / "run", "--epochs", 1, "--limit-train", 5000, "--limit-test", 2000, "--progress", "off")
    assert float(rows_of(folder / "run")[0]["test_accuracy"]) > 0.25, rows_of(folder / "run")  # guessing: 0.1
    for given, name in (([], "adam"), (["--lr", 0.2], "sgd"), (["--momentum", 0.9], "sgd"), (["--optimizer", "sgd"], "sgd")):
        out = folder / "-".join(map(str, ["mlp", *given]))
        run("train", "--model", "mlp", "--synthetic", 100, "--epochs", 1, *given, "--out", out, "--progress", "off")
        assert json.loads((out / "run.json").read_text())["optimizer"] == name, given


def log_every_prints_loss_and_rates_of_the_steps_since(folder):
    out = folder / "run"
    text = run("train", *SMALL, "--epochs", 2, "--out", out, "--log-every", 3)
    lines = [line for line in text.splitlines() if "  step " in line]
    assert [line.split("  ")[1] for line in lines] == ["step 3/8", "step 6/8", "step 1/8", "step 4/8", "step 7/8"], text
    for line in lines:
        assert re.fullmatch(r"epoch [12]/2  step \d/8  loss \d\.\d{4}  lr 0\.0\d+  [\d,]+ img/s", line), line
    every = [json.loads(line) for line in run("train", *SMALL, "--epochs", 1, "--out", folder / "json", "--log-every", 1,
                                              "--progress", "json").splitlines()]
    steps = [event for event in every if event["event"] == "step"]
    assert [event["step"] for event in steps] == list(range(1, 9)), steps
    # The epoch's loss is the mean over its samples: 7 batches of 64 and one of 52.
    mean = sum(event["loss"] * (64 if event["step"] < 8 else 52) for event in steps) / 500
    assert abs(mean - float(rows_of(folder / "json")[0]["loss"])) < 1e-5, (mean, rows_of(folder / "json"))
    assert "--log-every is -1" in refuse("train", *SMALL, "--out", folder / "none", "--log-every", -1)


MLP = ["--model", "mlp", "--synthetic", 300, "--batch", 50, "--seed", 2, "--progress", "off"]


def an_evaluation_scores_each_class(folder):
    run("train", *MLP, "--lr", 0.1, "--epochs", 3, "--out", folder / "run")
    out = folder / "scores"
    lines = run("evaluate", folder / "run", "--scores", out, "--top", 2).splitlines()
    accuracy = float(re.search(r"accuracy (\S+)", lines[0])[1])
    assert re.fullmatch(r"precision \S+  recall \S+  F1 \S+  AUC \S+  top-2 [01]\.\d{4}", lines[1]), lines
    rows = list(csv.DictReader((out / "scores.csv").open(encoding="utf-8")))
    confusion = [[int(cell) for cell in row[1:]] for row in csv.reader((out / "confusion.csv").open(encoding="utf-8"))][1:]
    samples = sum(map(sum, confusion))
    assert len(rows) == len(confusion) == 10 and samples > 0
    assert abs(sum(confusion[c][c] for c in range(10)) / samples - accuracy) < 1e-4
    for c, row in enumerate(rows):
        labels, predicted, correct = sum(confusion[c]), sum(line[c] for line in confusion), confusion[c][c]
        assert [int(row[name]) for name in ("class", "labels", "predicted", "correct")] == [c, labels, predicted, correct]
        assert row["recall"] == f"{correct / labels:.4f}", row
        assert row["precision"] == (f"{correct / predicted:.4f}" if predicted else ""), row
    xml.etree.ElementTree.parse(out / "confusion.svg")
    assert (out / "confusion.svg").read_text(encoding="utf-8").count("<rect") == 101
    assert "--top is 11; give 1 to 10" in refuse("evaluate", folder / "run", "--scores", out, "--top", 11)
    refused = subprocess.run([TOOL, "evaluate", folder / "run", "--scores", out, "--top", "11"], capture_output=True,
                             timeout=TIME_LIMIT_S, check=False)
    assert refused.stdout == b"", "before it evaluates"
    assert "cannot create folder" in refuse("evaluate", folder / "run", "--scores", out / "scores.csv" / "below")


def a_run_begins_with_the_options_of_another(folder):
    first, again, changed = folder / "first", folder / "again", folder / "changed"
    run("train", *SMALL, "--epochs", 2, "--out", first, "--progress", "off")
    run("train", "--config", first / "run.json", "--out", again, "--progress", "off")
    same_files(first, again, "weights.safetensors", "checkpoint.safetensors", "run.json")
    run("train", "--config", first / "run.json", "--seed", 8, "--epochs", 1, "--out", changed, "--progress", "off")
    assert json.loads((changed / "run.json").read_text())["seed"] == 8
    # Options that follow from others follow from those of the command line.
    run("train", *SMALL[:2], "--synthetic", 100, "--schedule", "cosine", "--epochs", 2, "--lr", 0.05, "--out", folder / "cosine", "--progress", "off")
    run("train", "--config", folder / "cosine" / "run.json", "--epochs", 3, "--optimizer", "adam", "--out", folder / "longer", "--progress", "off")
    options = json.loads((folder / "longer" / "run.json").read_text())
    assert options["schedule-period"] == 3 and options["lr"] == 0.001, options
    line = refuse("train", "--config", folder / "cosine" / "run.json", "--data", folder / "none", "--out", folder / "none")
    assert "none" in line and not (folder / "none").exists(), line
    (folder / "part.json").write_text('{"model": "mlp", "synthetic": 100, "epochs": 1}')
    run("train", "--config", folder / "part.json", "--out", folder / "part", "--progress", "off")
    for text, rest in (('{"epoch": 1}', "has 'epoch', train has no such option; did you mean 'epochs'"),
                       ('{"epochs": "many"}', "has 'epochs' \"many\", need a whole number; mend it, or give the run.json of a run"),
                       ("[]", "is no JSON object; mend it, or give the run.json of a run")):
        (folder / "wrong.json").write_text(text)
        assert rest in refuse("train", "--config", folder / "wrong.json", "--out", folder / "none")


def options_without_effect_are_named(folder):
    small = ["--model", "mlp", "--synthetic", 100, "--epochs", 1, "--progress", "plain"]
    text = run("train", *small, "--steps", 5, "--precision", "tf32", "--schedule", "step", "--schedule-period", 0.001, "--out", folder / "run")
    assert "warning: --schedule-period is 0.001 epochs, which is less than a step: an epoch has 1\n" in text, text
    assert "warning: --precision is tf32, CPUs compute in f32\n" in text, text
    assert "warning: --steps is 5, which is for texts: the samples are 1x28x28\n" in text, text


def patterns_that_match_no_parameter_are_named_as_options(folder):
    for option, value in (("--freeze", "nosuch*"), ("--train-only", "nosuch*"), ("--lr-of", "nosuch*=0.1")):
        assert refuse("train", "--model", "mlp", "--synthetic", 100, option, value, "--out", folder / "run") == \
            "troika: --freeze, --train-only or --lr-of 'nosuch*': no parameter of model 'mlp' matches it"


def a_run_names_its_shares_and_its_many_devices(folder):
    small = ["--model", "mlp", "--synthetic", 200, "--batch", 40, "--epochs", 1, "--progress", "plain"]
    text = run("train", *small, "--devices", "cpu:0,cpu:1", "--shares", "3,1", "--out", folder / "uneven")
    assert text.splitlines()[0].startswith("mlp on cpu:0,cpu:1 with shares 3,1: "), text
    assert "mlp on cpu:0,cpu:1 as 2x1x1 with shares 3,1" in (folder / "uneven" / "loss.svg").read_text()
    text = run("train", *small, "--devices", ",".join(f"cpu:{i}" for i in range(8)), "--mesh", "4x2x1", "--out", folder / "eight")
    assert text.splitlines()[0].startswith("mlp on cpu:0..7 as 4x2x1: "), text
    table = run("compare", folder / "uneven", folder / "eight", "--svg", folder / "both.svg").splitlines()
    assert table[1].endswith("cpu:0,cpu:1 with shares 3,1") and table[2].endswith("cpu:0..7 as 4x2x1"), table
    assert "test accuracy of 2 runs" in (folder / "both.svg").read_text()


def labels_are_smoothed(folder):
    small = ["--model", "mlp", "--synthetic", 200, "--batch", 50, "--epochs", 4, "--optimizer", "adam", "--lr", 0.01, "--progress", "off"]
    for smoothing in (0, 0.4):
        run("train", *small, "--label-smoothing", smoothing, "--out", folder / f"{smoothing}")
    sharp, smooth = (float(rows_of(folder / name)[-1]["loss"]) for name in ("0", "0.4"))
    # A model that knows the label has no loss without smoothing. With smoothing it has at least the
    # entropy of the target.
    target = [0.6 + 0.4 / 10, *[0.4 / 10] * 9]
    assert sharp < 0.5 and smooth > -sum(p * math.log(p) for p in target), (sharp, smooth)
    assert "contradicts" in refuse("train", "--resume", folder / "0.4", "--epochs", 5, "--label-smoothing", 0.1)


def the_recipe_of_dawnbench_is_a_config(folder):
    recipe = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorials/dawnbench.json"
    out = folder / "run"
    run("train", "--config", recipe, "--synthetic", 300, "--epochs", 2, "--out", out, "--progress", "off")
    options, given = json.loads((out / "run.json").read_text()), json.loads(recipe.read_text())
    assert {key: options[key] for key in given if key != "epochs"} == {key: given[key] for key in given if key != "epochs"}, options


def a_run_ends_at_its_target_or_without_progress(folder):
    out = folder / "target"
    base = ["--model", "mlp", "--synthetic", 500, "--batch", 50, "--lr", 0.002, "--threads", 2]
    text = run("train", *base, "--epochs", 40, "--target-accuracy", 0.8, "--out", out)
    rows = rows_of(out)
    assert 1 < len(rows) < 40 and float(rows[-1]["test_accuracy"]) >= 0.8 > float(rows[-2]["test_accuracy"]), rows
    seconds = sum(float(row["seconds"]) for row in rows)
    assert abs(float(rows[-1]["training_seconds"]) - seconds) < 0.001 * len(rows), rows
    last = text.splitlines()[-1]
    assert re.fullmatch(rf"trained to epoch {len(rows)} in \d:\d\d \(\d+\.\d s an epoch\) on cpu:0: the test accuracy has reached 0.8 after "
                        rf"\d+\.\d s of training; test accuracy {float(rows[-1]['test_accuracy']):.4f}; weights in .*", last), last
    compared = list(csv.DictReader((out / "dawnbench.tsv").open(encoding="utf-8"), delimiter="\t"))
    assert [row["epoch"] for row in compared] == [row["epoch"] for row in rows], compared
    assert abs(float(compared[-1]["hours"]) * 3600 - seconds) < 0.01, (compared, seconds)
    assert [row["top1Accuracy"] for row in compared] == [f"{100 * float(row['test_accuracy']):.2f}" for row in rows], compared
    told = run("train", "--resume", out)
    assert "nothing to do" in told and "give another --target-accuracy or --early-stop to go on" in told, told
    run("train", "--resume", out, "--target-accuracy", 0, "--epochs", len(rows) + 1, "--progress", "off")
    assert len(rows_of(out)) == len(rows) + 1
    stuck = folder / "stuck"
    text = run("train", *base[:-4], "--lr", 0, "--epochs", 20, "--early-stop", 3, "--out", stuck)
    assert len(rows_of(stuck)) == 4 and ": no better test since epoch 1; " in text, text
    assert ", best " not in text, text  # the last epoch is as good
    for option, value in (("--target-accuracy", 2), ("--early-stop", -1)):
        assert f"{option} is {value}" in refuse("train", *base, option, value, "--out", folder / "none")


def all_processes_end_a_run_early(folder):
    need_processes()
    base = ["--model", "mlp", "--synthetic", 200, "--batch", 50, "--lr", 0, "--threads", 1, "--processes", 2, "--progress", "off"]
    run("train", *base, "--epochs", 20, "--early-stop", 2, "--out", folder / "run")
    assert len(rows_of(folder / "run")) == 3, rows_of(folder / "run")
    assert (folder / "run" / "weights.best.safetensors").exists()
    run("train", "--resume", folder / "run", "--processes", 2, "--epochs", 20, "--early-stop", 4, "--progress", "off")
    assert len(rows_of(folder / "run")) == 5, rows_of(folder / "run")


def the_best_weights_are_kept(folder):
    out = folder / "run"
    # In the second epoch rate times decay is 1: an update takes all of a parameter away.
    text = run("train", "--model", "mlp", "--synthetic", 300, "--batch", 50, "--lr", 0.1, "--schedule", "step", "--schedule-period", 1,
               "--gamma", 20, "--weight-decay", 0.5, "--epochs", 2, "--out", out)
    rows = rows_of(out)
    best = max(rows, key=lambda row: (float(row["test_accuracy"]), -float(row["test_loss"])))
    assert best is not rows[-1], rows
    told = run("evaluate", out, "--weights", out / "weights.best.safetensors")
    assert f"loss {float(best['test_loss']):.4f}  accuracy {float(best['test_accuracy']):.4f}  " in told, (told, best)
    assert f", best {float(best['test_accuracy']):.4f} in epoch {best['epoch']}; weights in " in text, text


def metrics_of_earlier_versions_are_read(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off")
    whole = figures_of(out)
    lines = (out / "metrics.csv").read_text().splitlines()
    (out / "metrics.csv").write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in lines))
    run("train", "--resume", out, "--epochs", 3, "--progress", "off")
    assert figures_of(out)[:2] == whole
    assert float(rows_of(out)[2]["training_seconds"]) > float(rows_of(out)[1]["training_seconds"]) > 0


def trace_of(file):
    """Returns a trace: its step, its tracks by process, and the kinds of events of each rank."""
    trace = json.loads(file.read_text())
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}, {event["ph"] for event in events}
    tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    kinds = {}
    for event in events:
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0, event
            rank = tracks[event["pid"], event["tid"]].split(",")[0]
            kinds.setdefault((event["pid"], rank), set()).add(event["cat"])
    return trace["otherData"]["step"], kinds


KINDS = {"launch", "start", "wait", "collective"}


def a_trace_has_the_tenth_step_of_all_ranks(folder):
    base = ["train", *SMALL, "--epochs", 2, "--progress", "off"]
    run(*base, "--out", folder / "plain")
    run(*base, "--out", folder / "traced", "--trace", folder / "step.json")
    assert trace_of(folder / "step.json") == (8, {(0, "rank 0"): KINDS, (0, "rank 1"): KINDS})  # an epoch has 8 steps
    assert figures_of(folder / "traced") == figures_of(folder / "plain")
    same_files(folder / "traced", folder / "plain", "weights.safetensors", "checkpoint.safetensors")
    longer = ["32" if word == "64" else word for word in base]
    run(*longer, "--save-every", 4, "--out", folder / "longer", "--trace", folder / "longer.json")
    assert trace_of(folder / "longer.json")[0] == 10
    assert "trace" not in json.loads((folder / "longer" / "run.json").read_text())
    assert "No such file" in refuse(*base, "--out", folder / "lost", "--trace", folder / "none" / "step.json")


def a_trace_has_all_processes(folder):
    need_processes()
    one_device = ["cpu:0" if word == "cpu:0,cpu:1" else word for word in SMALL]
    base = [*one_device, "--epochs", 1, "--progress", "off"]
    expected = {(0, "rank 0"): KINDS, (1, "rank 1"): KINDS}
    run("train", *base, "--processes", 2, "--out", folder / "a", "--trace", folder / "a.json")
    assert trace_of(folder / "a.json") == (8, expected)
    run("run", "--processes", 2, "--", TOOL, "train", *base, "--out", folder / "b", "--trace", folder / "b.json")
    assert trace_of(folder / "b.json") == (8, expected)
    run("bench", "--model", "mlp", "--batch", 8, "--steps", 2, "--windows", 1, "--processes", 2, "--trace", folder / "c.json")
    assert trace_of(folder / "c.json") == (6, expected)  # 3 first steps, one window, and one more step


def a_batch_is_divided_unevenly(folder):
    base = ["train", "--model", "mlp", "--synthetic", 70, "--batch", 20, "--epochs", 2, "--progress", "off", "--lr", 0.05]
    one, uneven, measured = folder / "one", folder / "uneven", folder / "measured"
    run(*base, "--out", one)
    run(*base, "--devices", "cpu:0,cpu:1", "--shares", "3,1", "--out", uneven)
    losses = [[float(row["loss"]) for row in rows_of(out)] for out in (one, uneven)]
    assert all(abs(a - b) < 1e-5 * a for a, b in zip(*losses)), losses
    run("train", "--resume", uneven, "--epochs", 3, "--shares", "1,6", "--progress", "off")
    assert json.loads((uneven / "run.json").read_text())["shares"] == "1,6"
    for out, shares in ((measured, "auto"), (folder / "even", "1,1")):  # one device is as fast as itself
        run(*base, "--devices", "cpu:0,cpu:0", "--shares", shares, "--weights", one / "weights.safetensors", "--out", out)
    same_files(measured, folder / "even", "weights.safetensors")
    assert json.loads((measured / "run.json").read_text())["shares"] == "1,1"
    pair = [*base, "--devices", "cpu:0,cpu:1", "--out", folder / "none"]
    for shares in ("3", "3,1,1"):
        count = shares.count(",") + 1
        assert f"--shares is {count}, the mesh 2x1x1 divides the batch into 2" in refuse(*pair, "--shares", shares)
    for shares in ("3,0", "3,-1", "3,x", "3,", "inf,1"):
        assert f"--shares is '{shares}'; give a number above 0 for each part" in refuse(*pair, "--shares", shares)
    assert "--shares is auto, --mesh is 1x2x1; give numbers" in refuse(*pair, "--shares", "auto", "--mesh", "1x2x1")
    assert "--shares is auto, --mesh is auto; give numbers" in refuse(*pair, "--shares", "auto", "--mesh", "auto")
    assert "--logical-shards 4 divides batches evenly" in refuse(*pair, "--shares", "auto", "--logical-shards", 4)
    assert "--shares are from 1e-09 to 1, need numbers of which none is above 1e+06 times another" in \
        refuse(*pair, "--shares", "1,1e-9")
    assert "bench measures given ones" in refuse("bench", "--model", "mlp", "--shares", "auto")
    assert not (folder / "none").exists()


def a_trace_has_sums_that_go_on_into_the_next_step(folder):
    need_processes()
    training = [TOOL, "train", "--model", "mlp", "--synthetic", 80, "--batch", 8, "--devices", "cpu:0", "--bucket-bytes", 0,
                "--late-updates", "--epochs", 1, "--progress", "off", "--out", folder / "run", "--trace", folder / "step.json"]
    run("run", "--processes", 2, "--", *training, environment={"TROIKA_TRANSPORT": "gloo"})
    events = [event for event in json.loads((folder / "step.json").read_text())["traceEvents"] if event["ph"] == "X"]
    for process in (0, 1):
        own = [event for event in events if event["pid"] == process]
        begin, end = min(event["ts"] for event in own), max(event["ts"] + event["dur"] for event in own)
        sums = [event for event in own if event["cat"] == "collective" and "bucket" in event["name"]]
        buckets = {event["name"] for event in sums}
        assert buckets and len(sums) == 2 * len(buckets), sums  # of the step before, and of this one
        assert sum(event["ts"] == begin for event in sums) == len(buckets), sums
        assert sum(event["ts"] + event["dur"] >= end - 1 for event in sums) == len(buckets), (sums, end)


def a_trace_has_one_clock_for_processes_with_clocks_of_their_own(folder):
    need_processes()
    own_clock = ["unshare", "--time", "--monotonic", "5000", "--fork", "--"]
    if subprocess.run([*own_clock, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("no clocks of processes here")
    command = [TOOL, "bench", "--model", "mlp", "--batch", "8", "--steps", "2", "--windows", "1", "--trace", folder / "step.json"]
    job = {**os.environ, "TROIKA_WORLD_SIZE": "2", "TROIKA_RENDEZVOUS": f"file://{folder}/rendezvous"}
    first, second = (subprocess.Popen([*prefix, *command], env={**job, "TROIKA_RANK": str(rank)}, stdout=subprocess.DEVNULL)
                     for rank, prefix in enumerate(([], own_clock)))
    assert (first.wait(TIME_LIMIT_S), second.wait(TIME_LIMIT_S)) == (0, 0)
    trace = json.loads((folder / "step.json").read_text())
    errors = trace["otherData"]["clock_error_us"]
    assert errors[0] == 0 and 0 < errors[1] < 1e6, errors
    sums = [event for event in trace["traceEvents"] if event.get("cat") == "collective"]
    for name in {event["name"] for event in sums}:  # no process has a sum before all have started it
        same = [event for event in sums if event["name"] == name]
        last_begin, first_end = max(event["ts"] for event in same), min(event["ts"] + event["dur"] for event in same)
        assert len(same) == 2 and last_begin <= first_end + errors[1], same


def a_used_folder_is_not_overwritten(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    before = contents_of(out)
    assert "--resume" in refuse("train", *SMALL, "--epochs", 1, "--out", out)
    assert contents_of(out) == before


def a_run_that_failed_at_its_start_leaves_its_folder_free(folder):
    out = folder / "run"
    wild = ["1e20" if value == "0.05" else value for value in SMALL]
    assert "loss is not a number in epoch 1" in refuse("train", *wild, "--epochs", 1, "--out", out)
    assert {path.name for path in out.iterdir()} == {"run.json", ".lock", "status"}, sorted(path.name for path in out.iterdir())
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    assert {path.name for path in out.iterdir()} == RUN_FILES
    (folder / "mine").mkdir()
    (folder / "mine" / "weights.safetensors").write_text("x")
    assert "holds weights.safetensors already" in refuse("train", *SMALL, "--out", folder / "mine")


def a_run_that_diverges_keeps_what_it_had(folder):
    out = folder / "run"
    # Rates that grow by the epoch: the first rate is good, the third rate is too large.
    growing = [{"cosine": "step", "6": "1"}.get(value, value) for value in SMALL]
    line = refuse("train", *growing, "--gamma", "1e15", "--epochs", 3, "--out", out, "--progress", "off")
    assert re.search(r"loss is not a number (in|after) epoch [23]\b.*; lower --lr", line), line
    assert str(out) in line, line
    epochs = len(rows_of(out))
    assert all(row["loss"] != "" and row["test_loss"] != "" for row in rows_of(out))
    good = run("evaluate", "--weights", out / "weights.safetensors", "--model", "mlp", "--synthetic", 500)
    assert "nan" not in good, good
    assert f"metadata epoch = {epochs}\n" in run("inspect", out / "checkpoint.safetensors")


def a_folder_in_use_is_refused(folder):
    out = folder / "run"
    process = start_long_run(*LONG, "--epochs", 50, "--out", out)
    process.stdout.readline()  # the run has begun
    expected = f"troika: '{out}' is in use by another process; wait for its end, or give another folder"
    assert refuse("train", "--resume", out) == expected
    assert refuse("train", *LONG, "--out", out) == expected
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIME_LIMIT_S)
    run("train", *SMALL, "--epochs", 1, "--out", folder / "other", "--progress", "off")


if __name__ == "__main__":
    run_tests(globals())
