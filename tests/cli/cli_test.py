#!/usr/bin/env python3
"""Runs the `troika` program as a user does: cli_test.py [PATH OF THE PROGRAM], or by the variable TROIKA_TOOL.

Prints one line a test: `ok NAME`, `not ok NAME` or `skip NAME reason`.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree

TOOL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TROIKA_TOOL", "build/troika")
TIME_LIMIT_S = 300
RUN_FILES = {"metrics.csv", "accuracy.svg", "loss.svg", "weights.safetensors", "checkpoint.safetensors", "run.json",
             ".lock"}
COLUMNS = ["epoch", "step", "loss", "train_accuracy", "test_loss", "test_accuracy", "images_per_second", "seconds",
           "learning_rate"]

# A small run with everything that a resume must carry over: momentum, a schedule, and a last, smaller batch.
SMALL = ["--model", "mlp", "--synthetic", "500", "--batch", "64", "--lr", "0.05", "--momentum", "0.9", "--schedule",
         "cosine", "--schedule-period", "6", "--seed", "7", "--devices", "cpu:0,cpu:1", "--threads", "2"]
# A run that is long enough to be stopped in the middle of an epoch.
LONG = ["--model", "d2l_lenet", "--synthetic", "6000", "--batch", "50", "--lr", "0.02", "--momentum", "0.9", "--seed",
        "3", "--devices", "cpu:0,cpu:1", "--threads", "2"]


def run(*arguments, status=0):
    """Runs the program to its end; gives stdout. Fails where the exit status is another."""
    finished = subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, check=False)
    assert finished.returncode == status, \
        f"{' '.join(map(str, arguments))}: exit status {finished.returncode}, stderr: {finished.stderr}"
    return finished.stdout


def refuse(*arguments):
    """Runs the program, which must refuse with status 1 and one line on stderr; gives this line."""
    finished = subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, check=False)
    assert finished.returncode == 1, f"exit status {finished.returncode}, stderr: {finished.stderr}"
    lines = finished.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("troika: "), f"stderr: {finished.stderr}"
    return lines[0]


def rows_of(folder):
    with open(folder / "metrics.csv", newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        assert reader.fieldnames == COLUMNS, reader.fieldnames
        return rows


def figures_of(folder):
    """The rows of metrics.csv without what a clock says."""
    columns = [key for key in COLUMNS if key not in ("images_per_second", "seconds")]
    return [{key: row[key] for key in columns} for row in rows_of(folder)]


def contents_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same_files(a, b, *names):
    for name in names:
        assert (a / name).read_bytes() == (b / name).read_bytes(), f"{name} differs between {a.name} and {b.name}"


def start_long_run(*arguments):
    return subprocess.Popen([TOOL, "train", *map(str, arguments), "--progress", "json"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def wait_for_epoch(process, epoch):
    """Waits until the JSON lines tell that an epoch is done, then a moment more, so that the next one is under way."""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "epoch" and event["epoch"] >= epoch:
            time.sleep(0.2 * event["seconds"])
            return
    raise AssertionError(f"the run ended before epoch {epoch}: {process.stderr.read()}")


def stop_long_run(process, epoch=1, by=signal.SIGINT):
    """Ends a run as Ctrl-C does, in the epoch behind `epoch`, or in its first one; gives its last JSON line."""
    if epoch:
        wait_for_epoch(process, epoch)
    else:
        process.stdout.readline()  # it has begun
        time.sleep(0.1)
    process.send_signal(by)
    rest, errors = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 128 + by, f"exit status {process.returncode}: {errors}"
    return json.loads(rest.splitlines()[-1])


def write_idx(folder, train_labels, test_labels):
    """A data set of 4 x 4 images in MNIST's format; pixels tell the label."""
    folder.mkdir()
    for split, labels in (("train", train_labels), ("t10k", test_labels)):
        images = b"".join(bytes([16 * label]) * 16 for label in labels)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, len(labels), 4, 4) + images)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))
    return folder


# ---- tests: functions whose names are sentences; each gets a folder of its own ----


def help_names_every_command(folder):
    text = run("--help")
    for command in ("devices", "train", "evaluate", "inspect", "bench"):
        assert command in text, command
        assert "--help" in run(command, "--help")


def version_names_the_program(folder):
    assert re.match(r"troika .*\d+\.\d+\.\d+", run("--version"))


def devices_lists_the_cpu_and_says_why_there_is_no_gpu(folder):
    text = run("devices")
    assert "cpu:0" in text, text
    assert re.search(r"^cuda(:0 .*| +device cuda:0 is not usable: \S.*)$", text, re.MULTILINE), text


def a_call_without_a_command_fails(folder):
    assert "--help" in refuse()


def an_unknown_command_is_one_line(folder):
    assert "fly" in refuse("fly")


def an_unknown_option_is_one_line(folder):
    assert "troika train --help" in refuse("train", "--synthetic", 100, "--out", folder / "run", "--fast")


def an_unknown_model_lists_the_names(folder):
    line = refuse("train", "--model", "alexnet", "--synthetic", 100, "--out", folder / "run")
    assert "alexnet" in line and "d2l_lenet" in line, line
    assert not (folder / "run").exists()


def an_unknown_device_is_one_line(folder):
    assert "tpu" in refuse("train", "--model", "mlp", "--synthetic", 100, "--devices", "tpu:0", "--out", folder / "run")
    assert "cuda:99" in refuse("bench", "--model", "mlp", "--batch", 8, "--devices", "cuda:99", "--steps", 1)
    assert not (folder / "run").exists()


def a_missing_file_is_one_line(folder):
    for command in (["inspect", folder / "none.safetensors"],
                    ["evaluate", "--weights", folder / "none.safetensors", "--model", "mlp", "--synthetic", 100],
                    ["train", "--model", "mlp", "--data", folder / "none", "--out", folder / "run"],
                    ["train", "--resume", folder / "none"]):
        assert "none" in refuse(*command)


def a_file_that_is_no_safetensors_is_one_line(folder):
    (folder / "text.safetensors").write_text("this is no weights file, whatever its name says")
    assert "text.safetensors" in refuse("inspect", folder / "text.safetensors")


def bad_values_are_one_line(folder):
    base = ["train", "--model", "mlp", "--synthetic", 100, "--out", folder / "run"]
    for option, value in (("--batch", 0), ("--batch", "many"), ("--epochs", 0), ("--lr", "nan"), ("--lr", -1),
                          ("--momentum", 1.5), ("--progress", "loud"), ("--schedule", "magic"), ("--schedule", "step"),
                          ("--synthetic", -5), ("--threads", -1)):
        assert len(refuse(*base, option, value)) > 20, option
    assert "--out" in refuse("train", "--model", "mlp", "--synthetic", 100)
    assert not (folder / "run").exists()


def a_bad_value_is_named_with_its_option_and_what_is_allowed(folder):
    train = ["train", "--model", "mlp", "--synthetic", 100, "--out", folder / "run"]
    evaluate = ["evaluate", "--weights", folder / "w", "--model", "mlp", "--synthetic", 100]
    bench = ["bench", "--model", "mlp"]
    for command, option, value, rest in (
            (train, "--schedule", "foo", "is 'foo'; give constant, step or cosine"),
            (train, "--lr", "abc", "is 'abc'; give a number"),
            (train, "--lr", "-1", "is -1; give a number of at least 0"),
            (train, "--lr", "nan", "is nan; give a number of at least 0"),
            (train, "--momentum", "1.5", "is 1.5; give at least 0 and below 1"),
            (train, "--batch", "0", "is 0; give at least 1"),
            (train, "--batch", "many", "is 'many'; give a whole number of at most 2147483647"),
            (train, "--batch", "2147483648", "is '2147483648'; give a whole number of at most 2147483647"),
            (train, "--seed", "-1", "is '-1'; give a whole number from 0 to 18446744073709551615"),
            (train, "--lr", "inf", "is inf; give a number below 1e+30"),
            (train, "--weight-decay", "inf", "is inf; give a number below 1e+30"),
            (train, "--schedule-period", "inf", "is inf; give a number below 1e+09"),
            (train, "--threads", "100000", "is 100000; give 1 to 4096, or 0 for every core"),
            (train, "--std", "0", "is 0; give a finite number above 0"),
            (train, "--mean", "nan", "is nan; give a finite number"),
            (train, "--resize", "100000", "is 100000; give at most 65535"),
            (train, "--devices", "", "is ''; give devices, such as cpu:0,cpu:1, or all"),
            (train, "--eval-devices", "", "is ''; give devices, such as cpu:0,cpu:1, or all"),
            (train, "--classes", "9", "is 9; give at least 10, as many as the labels need"),
            (train, "--save-every", "-1", "is -1; give at least 1, or 0 for epoch ends alone"),
            (bench, "--size", "100000", "is 100000; give at most 65535"),
            (bench, "--devices", "", "is ''; give devices, such as cpu:0,cpu:1, or all"),
            (train, "--limit-train", "-3", "is -3; give at least 1, or 0 for all"),
            (train, "--limit-test", "few", "is 'few'; give a whole number of at most 9223372036854775807"),
            (evaluate, "--limit-test", "-1", "is -1; give at least 1, or 0 for all"),
            (evaluate, "--batch", "0", "is 0; give at least 1"),
            (bench, "--steps", "0", "is 0; give at least 1"),
            (bench, "--windows", "0", "is 0; give at least 1"),
            (bench, "--batch", "-8", "is -8; give at least 1"),
            (bench, "--size", "-1", "is -1; give at least 1, or 0 for the model's default"),
            (bench, "--precision", "f8", "is 'f8'; give f32, tf32, bf16 or f16")):
        assert refuse(*command, option, value) == f"troika: {option} {rest}"
    assert refuse(*train, "--nesterov") == "troika: --nesterov needs --momentum above 0"
    assert not (folder / "run").exists()


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


def progress_off_prints_nothing_and_json_prints_objects(folder):
    assert run("train", *SMALL, "--epochs", 1, "--out", folder / "a", "--progress", "off") == ""
    events = [json.loads(line) for line in
              run("train", *SMALL, "--epochs", 2, "--out", folder / "b", "--progress", "json").splitlines()]
    assert [event["event"] for event in events] == ["start", "epoch", "epoch", "done"], events


def a_used_folder_is_not_overwritten(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    before = contents_of(out)
    assert "--resume" in refuse("train", *SMALL, "--epochs", 1, "--out", out)
    assert contents_of(out) == before


def a_resumed_run_equals_an_uninterrupted_one(folder):
    whole, parts = folder / "whole", folder / "parts"
    run("train", *SMALL, "--epochs", 3, "--out", whole, "--progress", "off")
    run("train", *SMALL, "--epochs", 2, "--out", parts, "--progress", "off")
    run("train", "--resume", parts, "--epochs", 3, "--progress", "off")
    same_files(whole, parts, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(parts)


def a_finished_run_resumes_to_nothing(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off")
    before = contents_of(out)
    for epochs in ([], ["--epochs", 1, "--devices", "cpu:0"]):
        text = run("train", "--resume", out, *epochs)
        assert re.fullmatch(r"nothing to do: '.*' is trained to epoch 2, --epochs is \d; give more to go on\n",
                            text), text
        assert contents_of(out) == before
    text = run("train", "--resume", out, "--epochs", 1, "--progress", "json")
    assert [json.loads(line)["event"] for line in text.splitlines()] == ["done"], text


def resuming_on_other_devices_goes_on(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    run("train", "--resume", out, "--epochs", 2, "--devices", "cpu:0", "--progress", "off")
    assert len(rows_of(out)) == 2
    assert json.loads((out / "run.json").read_text())["devices"] == "cpu:0"


def resuming_with_other_options_is_refused(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    for option, value in (("--batch", 32), ("--model", "d2l_lenet"), ("--lr", 0.5), ("--seed", 8),
                          ("--synthetic", 400)):
        line = refuse("train", "--resume", out, "--epochs", 2, option, value)
        assert option in line and "contradicts" in line, line
    run("train", "--resume", out, "--epochs", 2, "--batch", 64, "--progress", "off")


def a_damaged_run_folder_is_one_line(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    good = (out / "checkpoint.safetensors").read_bytes()
    (out / "checkpoint.safetensors").write_bytes(good[:len(good) // 2])
    assert "checkpoint" in refuse("train", "--resume", out, "--epochs", 2)
    (out / "checkpoint.safetensors").write_bytes(good)
    (out / "run.json").write_text("{\"model\": ")
    assert "run.json" in refuse("train", "--resume", out, "--epochs", 2)


def a_damaged_run_json_is_named_by_its_key(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    good = json.loads((out / "run.json").read_text())
    for change, rest in (({"lr": "fast"}, "has 'lr' \"fast\", need a number"),
                         ({"batch": 64.5}, "has 'batch' 64.5, need a whole number"),
                         ({"batch": 2 ** 40}, "has 'batch' 1099511627776, need a whole number"),
                         ({"nesterov": 1}, "has 'nesterov' 1, need true or false"),
                         ({"model": None}, "has 'model' null, need a text"),
                         ({"last_stop": 3}, "has 'last_stop' 3, need an object"),
                         ({"last_stop": {}}, "has no 'last_stop.step', need a whole number")):
        (out / "run.json").write_text(json.dumps(good | change))
        assert refuse("train", "--resume", out, "--epochs", 2) == \
            f"troika: '{out / 'run.json'}' {rest}; mend it, or begin a new run with --out"
    (out / "run.json").write_text(json.dumps({key: good[key] for key in good if key != "seed"}))
    assert "has no 'seed', need a whole number of at least 0; " in refuse("train", "--resume", out, "--epochs", 2)
    for text in ("", "{\"model\": ", "[1]"):
        (out / "run.json").write_text(text)
        assert "run.json' is no JSON object; " in refuse("train", "--resume", out, "--epochs", 2)


def a_run_without_its_checkpoint_is_left_as_it_is(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    (out / "checkpoint.safetensors").unlink()
    for present in ("metrics.csv", "weights.safetensors"):
        before = contents_of(out)
        assert f"has {present} but no checkpoint.safetensors" in refuse("train", "--resume", out, "--epochs", 2)
        assert "holds a run already" in refuse("train", *SMALL, "--epochs", 1, "--out", out)
        assert contents_of(out) == before
        (out / present).unlink()
    run("train", "--resume", out, "--progress", "off")
    assert len(rows_of(out)) == 1


def a_run_that_failed_at_its_start_leaves_its_folder_free(folder):
    out = folder / "run"
    wild = ["1e20" if value == "0.05" else value for value in SMALL]
    assert "loss is not a number in epoch 1" in refuse("train", *wild, "--epochs", 1, "--out", out)
    assert {path.name for path in out.iterdir()} == {"run.json", ".lock"}, sorted(path.name for path in out.iterdir())
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    assert {path.name for path in out.iterdir()} == RUN_FILES
    (folder / "mine").mkdir()
    (folder / "mine" / "weights.safetensors").write_text("x")
    assert "holds weights.safetensors already" in refuse("train", *SMALL, "--out", folder / "mine")


def a_run_that_diverges_keeps_what_it_had(folder):
    out = folder / "run"
    # Rates that grow by the epoch: the first one is good, the third one is not.
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
    process.stdout.readline()  # it has begun
    expected = f"troika: '{out}' is in use by another process; wait for its end, or give another folder"
    assert refuse("train", "--resume", out) == expected
    assert refuse("train", *LONG, "--out", out) == expected
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIME_LIMIT_S)
    run("train", *SMALL, "--epochs", 1, "--out", folder / "other", "--progress", "off")


def a_cosine_schedule_that_has_ended_is_not_gone_on_with(folder):
    out = folder / "run"
    base = ["train", "--model", "mlp", "--synthetic", 100, "--schedule", "cosine"]
    run(*base, "--epochs", 2, "--out", out, "--progress", "off")
    before = contents_of(out)
    assert refuse("train", "--resume", out, "--epochs", 3) == \
        "troika: --epochs is 3; give at most 2, where the cosine schedule ends at rate 0, or begin a new run with a " \
        "longer --schedule-period"
    assert contents_of(out) == before
    run(*base, "--schedule-period", 3, "--epochs", 2, "--out", folder / "long", "--progress", "off")
    run("train", "--resume", folder / "long", "--epochs", 3, "--progress", "off")
    assert float(rows_of(folder / "long")[-1]["learning_rate"]) > 0


def a_run_has_ten_classes_or_as_many_as_it_is_told(folder):
    data = write_idx(folder / "data", [0, 1, 2] * 20, [0, 1, 2])
    wide = write_idx(folder / "wide", [0, 1, 2] * 20, [0, 1, 11])
    for name, given, classes in (("ten", [], 10), ("three", ["--classes", 3], 3)):
        weights = folder / name / "weights.safetensors"
        run("train", "--model", "mlp", "--data", data, "--epochs", 1, *given, "--out", folder / name, "--progress", "off")
        assert re.search(rf"^\S+\.bias F32 \[{classes}\]$", run("inspect", weights), re.MULTILINE)
        for file in (weights, folder / name / "checkpoint.safetensors"):
            assert "3 samples" in run("evaluate", "--weights", file, "--model", "mlp", "--data", data)
        line = refuse("evaluate", "--weights", weights, "--model", "mlp", "--data", wide)
        assert f"has {classes} classes, the labels need 12" in line, line
    assert "does not fit" in refuse("evaluate", "--weights", weights, "--model", "mlp", "--data", data, "--classes", 5)


def an_empty_data_set_is_named(folder):
    for train, test, name in (([], [1], "train-images"), ([1], [], "t10k-images")):
        data = write_idx(folder / name, train, test)
        line = refuse("train", "--model", "mlp", "--data", data, "--out", folder / "run")
        assert line == f"troika: '{data}/{name}-idx3-ubyte' is empty; need at least 1 image", line


def save_every_saves_inside_an_epoch(folder):
    whole, killed = folder / "whole", folder / "killed"
    run("train", *LONG, "--epochs", 1, "--out", whole, "--progress", "off")
    process = start_long_run(*LONG, "--epochs", 1, "--save-every", 7, "--out", killed)
    deadline = time.monotonic() + TIME_LIMIT_S
    while "last_stop" not in (killed / "run.json").read_text() if (killed / "run.json").exists() else True:
        assert process.poll() is None and time.monotonic() < deadline, "the run ended before its first checkpoint"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIME_LIMIT_S)
    assert not (killed / "metrics.csv").exists(), "the run was over before it was killed; make it longer"
    assert json.loads((killed / "run.json").read_text())["last_stop"]["step"] % 7 == 0
    run("train", "--resume", killed, "--progress", "off")
    same_files(whole, killed, "weights.safetensors", "checkpoint.safetensors")


def sigterm_saves_a_checkpoint_and_exits_with_143(folder):
    out = folder / "run"
    last = stop_long_run(start_long_run(*LONG, "--epochs", 50, "--out", out), epoch=None, by=signal.SIGTERM)
    assert last["event"] == "stopped" and (out / "checkpoint.safetensors").exists(), last


def a_killed_run_resumes_bit_for_bit(folder):
    whole, killed = folder / "whole", folder / "killed"
    run("train", *LONG, "--epochs", 3, "--out", whole, "--progress", "off")
    process = start_long_run(*LONG, "--epochs", 3, "--out", killed)
    wait_for_epoch(process, 1)
    process.send_signal(signal.SIGKILL)
    assert process.wait(TIME_LIMIT_S) == -signal.SIGKILL, "the run was over before it was killed; make it longer"
    process.stdout.close()
    process.stderr.close()
    run("train", "--resume", killed, "--progress", "off")
    same_files(whole, killed, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(killed)


def a_run_killed_before_its_first_checkpoint_resumes_from_the_start(folder):
    whole, killed = folder / "whole", folder / "killed"
    run("train", *SMALL, "--epochs", 1, "--out", whole, "--progress", "off")
    killed.mkdir()
    options = json.loads((whole / "run.json").read_text())
    (killed / "run.json").write_text(json.dumps(options))
    run("train", "--resume", killed, "--progress", "off")
    same_files(whole, killed, "weights.safetensors")


def ctrl_c_saves_a_checkpoint_in_the_middle_of_an_epoch(folder):
    whole, stopped = folder / "whole", folder / "stopped"
    run("train", *LONG, "--epochs", 3, "--out", whole, "--progress", "off")
    last = stop_long_run(start_long_run(*LONG, "--epochs", 3, "--out", stopped))
    assert last["event"] == "stopped" and f"troika train --resume {stopped}" in last["message"], last
    assert last["checkpoint"] == str(stopped / "checkpoint.safetensors") and "weights" not in last, last
    # Where it stops is a matter of chance; that it stops twice in one epoch, too.
    stop_long_run(start_long_run("--resume", stopped), epoch=None)
    copy = folder / "copy"
    shutil.copytree(stopped, copy)
    run("train", "--resume", stopped, "--progress", "off")
    same_files(whole, stopped, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(stopped), "the epoch that was stopped has figures of all its parts"
    assert all(float(row["seconds"]) > 0 and float(row["images_per_second"]) > 0 for row in rows_of(stopped))
    a_part_that_is_not_known_leaves_its_cells_empty(whole, copy)


def a_part_that_is_not_known_leaves_its_cells_empty(whole, stopped):
    """Of a run that was stopped in the middle of an epoch, with the sums of its first part lost."""
    options = json.loads((stopped / "run.json").read_text())
    assert options.pop("last_stop")["samples"] > 0
    (stopped / "run.json").write_text(json.dumps(options))
    text = run("train", "--resume", stopped, "--progress", "plain")
    assert re.search(r"loss -  train -  test [01]\.\d{4}  - img/s  - s  ETA", text), text
    same_files(whole, stopped, "weights.safetensors")
    lost = [row for row in rows_of(stopped) if row["loss"] == ""]
    assert len(lost) == 1, lost
    assert [lost[0][key] for key in ("train_accuracy", "images_per_second", "seconds")] == ["", "", ""], lost
    assert float(lost[0]["learning_rate"]) > 0
    for a, b in zip(figures_of(whole), figures_of(stopped)):
        assert (a["test_loss"], a["test_accuracy"], a["step"]) == (b["test_loss"], b["test_accuracy"], b["step"])


def leftovers_of_killed_processes_are_removed(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    gone = subprocess.Popen(["true"])
    gone.wait()
    stale = [f".metrics.csv.tmp.{gone.pid}", f".weights.safetensors.tmp.{gone.pid}.0123abcd"]
    others = [f".metrics.csv.tmp.{os.getpid()}", f".notes.tmp.{gone.pid}", ".metrics.csv.tmp.mine", "notes.txt"]
    for name in stale + others:
        (out / name).write_text("x")
    run("train", "--resume", out, "--epochs", 2, "--progress", "off")
    assert {path.name for path in out.iterdir()} == RUN_FILES | set(others), sorted(path.name for path in out.iterdir())


def inspect_shows_weights_and_checkpoint(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    text = run("inspect", out / "weights.safetensors")
    assert re.search(r"^\S+\.weight F32 \[\d+, \d+\]$", text, re.MULTILINE), text
    assert text.endswith("\ntotal: 4 tensors, 203,530 parameters, 814,120 bytes\n"), text
    text = run("inspect", out / "checkpoint.safetensors")
    assert "metadata" in text and text.endswith("\ntotal: 8 tensors, 203,530 parameters, 1,628,240 bytes\n"), text
    header = b"{}      "
    (folder / "empty.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert run("inspect", folder / "empty.safetensors") == "total: 0 tensors, 0 parameters, 0 bytes\n"


def evaluate_agrees_with_the_last_row(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off")
    text = run("evaluate", "--weights", out / "weights.safetensors", "--model", "mlp", "--synthetic", 500, "--device",
               "cpu:0")
    match = re.fullmatch(r"loss (\d+\.\d{4})  accuracy ([01]\.\d{4})  100 samples  [\d,]+ img/s\n", text)
    assert match, text
    row = rows_of(out)[-1]
    assert abs(float(match[1]) - float(row["test_loss"])) < 1e-3, (text, row)
    assert abs(float(match[2]) - float(row["test_accuracy"])) < 1e-4, (text, row)
    of_checkpoint = run("evaluate", "--weights", out / "checkpoint.safetensors", "--model", "mlp", "--synthetic", 500,
                        "--device", "cpu:0")
    assert of_checkpoint.split("  ")[:3] == text.split("  ")[:3], (of_checkpoint, text)


def evaluate_refuses_weights_of_another_model(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    for name, kind in (("weights", ""), ("checkpoint", ", a training state,")):
        line = refuse("evaluate", "--weights", out / f"{name}.safetensors", "--model", "d2l_lenet", "--synthetic", 500)
        assert f"{name}.safetensors'{kind} does not fit model 'd2l_lenet'" in line, line


def bench_prints_one_line(folder):
    text = run("bench", "--model", "d2l_lenet", "--batch", 32, "--devices", "cpu:0,cpu:1", "--precision", "f32",
               "--steps", 2, "--windows", 3)
    assert re.fullmatch(r"d2l_lenet batch 32 f32 cpu:0,cpu:1: \d+ img/s \(\d+-\d+\), \d+\.\d\d ms/step, "
                        r"arena \d+\.\d MiB\n", text), text


def a_full_output_is_an_error(folder):
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        finished = subprocess.run([TOOL, "devices"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=TIME_LIMIT_S, check=False)
    assert finished.returncode == 1 and finished.stderr.startswith("troika: "), finished


class Skip(Exception):
    """A test that cannot run here; the text says why."""


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("folder",)
         and value.__name__ not in ("rows_of", "figures_of", "contents_of", "write_idx")]


def main():
    failed = 0
    for test in TESTS:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="troika-cli-"))
        try:
            test(folder)
            print(f"ok {test.__name__}", flush=True)
        except Skip as reason:
            print(f"skip {test.__name__} {reason}", flush=True)
        except Exception:  # whatever fails, the other tests still run
            failed += 1
            print("\n".join("  " + line for line in traceback.format_exc().splitlines()[-6:]))
            print(f"not ok {test.__name__}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
