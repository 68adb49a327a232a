"""Tests of stopping, killing and resuming a run.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from tool import (IS_WINDOWS, LONG, RUN_FILES, SMALL, TIME_LIMIT_S, TOOL, Skip, contents_of, figures_of, refuse, rows_of,
                  run, run_tests, same_files, start_long_run, stop_long_run, wait_for_epoch)

ANYWHERE = SMALL[:SMALL.index("--devices")]  # SMALL without devices


def a_resumed_run_equals_an_uninterrupted_one(folder):
    whole, parts = folder / "whole", folder / "parts"
    run("train", *SMALL, "--epochs", 3, "--out", whole, "--progress", "off")
    run("train", *SMALL, "--epochs", 2, "--out", parts, "--progress", "off")
    run("train", "--resume", parts, "--epochs", 3, "--progress", "off")
    same_files(whole, parts, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(parts)


def a_resumed_run_has_the_same_augmented_images(folder):
    whole, parts, plain = folder / "whole", folder / "parts", folder / "plain"
    augment = ("--augment", "flip,crop=3")
    run("train", *SMALL, *augment, "--epochs", 3, "--out", whole, "--progress", "off")
    run("train", *SMALL, *augment, "--epochs", 2, "--out", parts, "--progress", "off")
    run("train", *SMALL, "--epochs", 3, "--out", plain, "--progress", "off")
    assert refuse("train", "--resume", parts, "--epochs", 3, "--augment", "flip") == \
        "troika: --augment flip contradicts the run, which has flip,crop=3; leave it out, or begin a new run with --out"
    run("train", "--resume", parts, "--epochs", 3, "--progress", "off")
    same_files(whole, parts, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(parts)
    assert figures_of(whole) != figures_of(plain)
    for folder_of_run in (whole, plain):  # the test's images are not augmented
        first, second = run("evaluate", folder_of_run), run("evaluate", folder_of_run)
        assert first.split("  ")[:2] == second.split("  ")[:2]
        assert f"accuracy {float(rows_of(folder_of_run)[-1]['test_accuracy']):.4f}" in first, first


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


def a_stopped_job_says_how_many_processes_go_on(folder):
    if IS_WINDOWS:
        raise Skip("Windows has no --processes")
    process = subprocess.Popen([TOOL, "train", *LONG[:LONG.index("--devices")], "--devices", "cpu:0", "--processes", "2", "--epochs", "2",
                                "--out", str(folder / "run"), "--progress", "plain", "--log-every", "5"],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    for line in process.stdout:
        if "step " in line:
            break
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 130, rest
    command = re.search(rf"go on with: troika (train --resume \S*{folder.name}\S*/run --processes 2)\n", rest)
    assert command, rest
    run(*command[1].split(), "--progress", "off")
    assert len(rows_of(folder / "run")) == 2


def resuming_on_other_devices_goes_on(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    run("train", "--resume", out, "--epochs", 2, "--devices", "cpu:0", "--progress", "off")
    assert len(rows_of(out)) == 2
    assert json.loads((out / "run.json").read_text())["devices"] == "cpu:0"


def a_run_that_could_not_write_its_first_files_goes_on(folder):
    whole, out = folder / "whole", folder / "run"
    run("train", *SMALL, "--epochs", 2, "--out", whole, "--progress", "off")
    for name in ("accuracy.svg", "loss.svg"):
        (out / name).mkdir(parents=True)
        assert name in refuse("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off")
        (out / name).rmdir()
        run("train", "--resume", out, "--epochs", 2, "--progress", "off")
        same_files(whole, out, "weights.safetensors", "checkpoint.safetensors")
        shutil.rmtree(out)


def another_runs_checkpoint_is_refused_and_named(folder):
    out, other = folder / "run", folder / "other"
    for folder_of, batch in ((out, 64), (other, 20)):
        run("train", "--model", "mlp", "--synthetic", 500, "--batch", batch, "--epochs", 1, "--out", folder_of,
            "--progress", "off")
    shutil.copy(other / "checkpoint.safetensors", out / "checkpoint.safetensors")
    line = refuse("train", "--resume", out, "--epochs", 2)
    assert "checkpoint.safetensors' is of another run: its epochs have 25 steps, this run's 8; put back" in line, line


def a_run_in_logical_shards_moves_between_devices_without_another_bit(folder):
    shards = [*ANYWHERE, "--logical-shards", 4]
    run("train", *shards, "--devices", "cpu:0", "--epochs", 3, "--out", folder / "one", "--progress", "off")
    run("train", *shards, "--devices", "cpu:0,cpu:1,cpu:2,cpu:3", "--epochs", 1, "--out", folder / "moved",
        "--progress", "off")
    run("train", "--resume", folder / "moved", "--devices", "cpu:0,cpu:1", "--epochs", 2, "--progress", "off")
    run("train", "--resume", folder / "moved", "--devices", "cpu:0", "--epochs", 3, "--progress", "off")
    same_files(folder / "one", folder / "moved", "weights.safetensors")
    assert figures_of(folder / "one") == figures_of(folder / "moved")
    assert "--logical-shards is 4" in refuse("train", *shards, "--devices", "cpu:0,cpu:1,cpu:2", "--out", folder / "three")


def a_run_moves_between_meshes(folder):
    run("train", *ANYWHERE, "--devices", "cpu:0", "--epochs", 3, "--out", folder / "one", "--progress", "off")
    out = folder / "moved"
    run("train", *ANYWHERE, "--devices", "cpu:0,cpu:1", "--mesh", "1x2x1", "--epochs", 1, "--out", out,
        "--progress", "off")
    run("train", "--resume", out, "--devices", "cpu:0,cpu:1,cpu:2,cpu:3", "--mesh", "1x2x2", "--layer-schedule", "gpipe",
        "--epochs", 2, "--progress", "off")
    run("train", "--resume", out, "--devices", "cpu:0,cpu:1", "--mesh", "1x1x2", "--epochs", 3, "--progress", "off")
    for one, moved in zip(rows_of(folder / "one"), rows_of(out), strict=True):
        assert abs(float(one["loss"]) - float(moved["loss"])) < 1e-3, (one, moved)
    line = refuse("train", "--resume", out, "--devices", "cpu:0", "--epochs", 4)
    assert "--mesh 1x1x2 needs 2 devices, --devices has 1; give another --mesh, such as 1x1x1, or auto" in line, line


def a_run_keeps_the_mesh_that_was_chosen_for_it(folder):
    base = ["train", "--model", "mlp", "--synthetic", 100, "--batch", 4, "--threads", 2, "--devices", "cpu:0,cpu:1"]
    out, given = folder / "run", folder / "given"
    text = run(*base, "--mesh", "auto", "--epochs", 1, "--out", out)
    assert text.startswith("mlp on cpu:0,cpu:1 as 1x1x2: "), text
    assert json.loads((out / "run.json").read_text())["mesh"] == "1x1x2"
    text = run("train", "--resume", out, "--epochs", 2, "--progress", "json")
    assert json.loads(text.splitlines()[0])["mesh"] == "1x1x2", text
    run(*base, "--mesh", "1x1x2", "--epochs", 2, "--out", given, "--progress", "off")
    same_files(out, given, "weights.safetensors", "checkpoint.safetensors")
    run("train", "--resume", out, "--epochs", 3, "--mesh", "auto", "--devices", "cpu:0", "--progress", "off")
    assert json.loads((out / "run.json").read_text())["mesh"] == "1x1x1"
    run(*base, "--mesh", "auto", "--logical-shards", 2, "--epochs", 1, "--out", folder / "shards", "--progress", "off")
    assert json.loads((folder / "shards" / "run.json").read_text())["mesh"] == "2x1x1", "splits refuse logical shards"
    assert refuse(*base, "--mesh", "auto", "--eval-devices", "cpu:0", "--out", folder / "none") == \
        "troika: --eval-devices is 'cpu:0'; give all with --mesh auto, which may split the model over the devices"


def computing_activations_again_may_change_on_resuming_and_changes_no_bit(folder):
    whole, parts = folder / "whole", folder / "parts"
    run("train", *SMALL, "--epochs", 3, "--out", whole, "--progress", "off")
    run("train", *SMALL, "--epochs", 1, "--out", parts, "--recompute-layers", "*", "--progress", "off")
    run("train", "--resume", parts, "--epochs", 2, "--recompute-segments", 2, "--progress", "off")
    assert json.loads((parts / "run.json").read_text())["recompute-layers"] == "*"
    run("train", "--resume", parts, "--epochs", 3, "--recompute-segments", 0, "--recompute-layers", "",
        "--activation-budget", 1 << 20, "--progress", "off")
    same_files(whole, parts, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(parts)


def sharding_the_optimizer_may_change_on_resuming_and_changes_no_bit(folder):
    run("train", *SMALL, "--epochs", 3, "--out", folder / "whole", "--progress", "off")
    run("train", *SMALL, "--epochs", 1, "--out", folder / "parts", "--shard-optimizer", "--progress", "off")
    run("train", "--resume", folder / "parts", "--epochs", 3, "--progress", "off")
    same_files(folder / "whole", folder / "parts", "weights.safetensors", "checkpoint.safetensors")


def what_replicas_share_changes_the_run(folder):
    two = [*SMALL, "--epochs", 1, "--progress", "off"]  # on two devices
    run("train", *two, "--out", folder / "plain")
    run("train", *two, "--out", folder / "bf16", "--compress-gradients", "bf16")
    assert figures_of(folder / "plain") != figures_of(folder / "bf16")
    assert "contradicts" in refuse("train", "--resume", folder / "bf16", "--epochs", 2, "--compress-gradients", "none")
    assert "--compress-gradients is 'f16'; give none or bf16" in refuse("train", *two, "--out", folder / "f16",
                                                                        "--compress-gradients", "f16")
    run("train", "--model", "d2l_resnet18", "--synthetic", 40, "--batch", 16, "--devices", "cpu:0,cpu:1", "--epochs", 1,
        "--sync-batch-norm", "--progress", "off", "--out", folder / "synchronized")


def a_resumed_run_may_have_another_learning_rate(folder):
    constant = ["--model", "mlp", "--synthetic", 500, "--batch", 64, "--lr", 0.05, "--momentum", 0.9, "--threads", 2]
    out = folder / "run"
    run("train", *constant, "--epochs", 1, "--out", out, "--progress", "off")
    text = run("train", "--resume", out, "--epochs", 2, "--lr", 0.005)
    assert "going on in epoch 2 of 2 at step 1 of 8\n" in text, text
    run("train", "--resume", out, "--epochs", 3, "--progress", "off")
    assert [row["learning_rate"] for row in rows_of(out)] == ["0.05", "0.005", "0.005"], rows_of(out)
    assert json.loads((out / "run.json").read_text())["lr"] == 0.005
    assert float(rows_of(out)[2]["loss"]) < float(rows_of(out)[0]["loss"])


def resuming_with_other_options_is_refused(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    for option, value in (("--batch", 32), ("--model", "d2l_lenet"), ("--momentum", 0.5), ("--seed", 8),
                          ("--synthetic", 400), ("--max-gradient-norm", 2)):
        line = refuse("train", "--resume", out, "--epochs", 2, option, value)
        assert option in line and "contradicts" in line, line
    run("train", "--resume", out, "--epochs", 2, "--batch", 64, "--progress", "off")


def a_damaged_run_folder_is_one_line(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    good = (out / "checkpoint.safetensors").read_bytes()
    (out / "checkpoint.safetensors").write_bytes(good[:len(good) // 2])
    line = refuse("train", "--resume", out, "--epochs", 2)
    assert "checkpoint" in line and "put back this run's checkpoint" in line, line
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


def a_run_of_an_earlier_version_has_the_defaults_of_newer_options(folder):
    out, whole = folder / "run", folder / "whole"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    run("train", *SMALL, "--epochs", 2, "--out", whole, "--progress", "off")
    options = json.loads((out / "run.json").read_text())
    newer = ["precision", "classes", "max-gradient-norm", "micro-batches", "logical-shards", "save-every", "mesh",
             "layer-schedule", "layer-chunks", "layer-cuts", "recompute-segments", "recompute-layers", "activation-budget",
             "optimizer", "beta1", "beta2", "eps", "alpha", "trust", "skip-decay-one-axis", "average-decay", "lr-min",
             "power", "rise", "milestones", "patience", "train-only", "tensorboard", "tensorboard-every",
             "late-updates", "shares", "drop-last", "augment", "label-smoothing", "log-every",
             "target-accuracy", "early-stop", "weights", "strip-prefix", "name-map", "freeze", "lr-of", "hold-out"]
    (out / "run.json").write_text(json.dumps({key: options[key] for key in options if key not in newer}))
    assert refuse("train", "--resume", out, "--epochs", 2, "--micro-batches", 2) == \
        "troika: --micro-batches 2 contradicts the run, which has 1; leave it out, or begin a new run with --out"
    run("train", "--resume", out, "--epochs", 2, "--progress", "off")
    same_files(whole, out, "weights.safetensors", "checkpoint.safetensors")
    written = json.loads((out / "run.json").read_text())
    assert {key: written[key] for key in newer} == {key: options[key] for key in newer}, written


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


def a_cosine_schedule_that_has_ended_is_not_gone_on_with(folder):
    out = folder / "run"
    base = ["train", "--model", "mlp", "--synthetic", 100, "--schedule", "cosine"]
    run(*base, "--epochs", 2, "--out", out, "--progress", "off")
    before = contents_of(out)
    assert refuse("train", "--resume", out, "--epochs", 3) == \
        "troika: --epochs is 3; give at most 2, the end of the cosine schedule, or begin a new run with a " \
        "longer --schedule-period"
    assert contents_of(out) == before
    run(*base, "--schedule-period", 3, "--epochs", 2, "--out", folder / "long", "--progress", "off")
    run("train", "--resume", folder / "long", "--epochs", 3, "--progress", "off")
    assert float(rows_of(folder / "long")[-1]["learning_rate"]) > 0


def every_optimizer_and_schedule_goes_on_as_if_it_had_never_stopped(folder):
    small = ["--model", "mlp", "--synthetic", 300, "--batch", 64, "--lr", 0.01, "--threads", 2, "--devices", "cpu:0,cpu:1"]
    for number, more in enumerate([
            ["--optimizer", "adam", "--weight-decay", 0.01, "--schedule", "plateau", "--patience", 0, "--gamma", 0.5],
            ["--optimizer", "adamw", "--weight-decay", 0.1, "--average-decay", 0.9, "--schedule", "multi-step",
             "--milestones", "1,2.5"],
            ["--optimizer", "rmsprop", "--momentum", 0.5, "--alpha", 0.9, "--schedule", "exponential",
             "--schedule-period", 2],
            ["--optimizer", "lars", "--momentum", 0.9, "--trust", 0.02, "--schedule", "polynomial", "--power", 2,
             "--schedule-period", 3, "--warmup", 3],
            ["--optimizer", "lamb", "--schedule", "one-cycle", "--schedule-period", 3, "--shard-optimizer"],
            ["--optimizer", "adagrad", "--weight-decay", 0.01, "--eps", 1e-8, "--schedule", "cosine",
             "--schedule-period", 3]]):
        whole, parts = folder / f"whole{number}", folder / f"parts{number}"
        run("train", *small, *more, "--epochs", 3, "--out", whole, "--progress", "off")
        run("train", *small, *more, "--epochs", 1, "--out", parts, "--progress", "off")
        run("train", "--resume", parts, "--epochs", 3, "--progress", "off")
        same_files(whole, parts, "weights.safetensors", "checkpoint.safetensors")
        assert [row["learning_rate"] for row in rows_of(whole)] == [row["learning_rate"] for row in rows_of(parts)]
    same_files(folder / "whole1", folder / "parts1", "average.safetensors")


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
    if IS_WINDOWS:
        raise Skip("Windows has no SIGTERM")
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
    assert pathlib.Path(last["checkpoint"].replace("\\", "/")) == stopped / "checkpoint.safetensors", last
    assert "weights" not in last, last
    # It depends on chance at which batch the run stops, and whether it stops twice in one epoch.
    stop_long_run(start_long_run("--resume", stopped), epoch=None)
    copy = folder / "copy"
    shutil.copytree(stopped, copy)
    run("train", "--resume", stopped, "--progress", "off")
    same_files(whole, stopped, "weights.safetensors", "checkpoint.safetensors")
    assert figures_of(whole) == figures_of(stopped), "the epoch that was stopped has figures of all its parts"
    assert all(float(row["seconds"]) > 0 and float(row["images_per_second"]) > 0 for row in rows_of(stopped))
    a_part_that_is_not_known_leaves_its_cells_empty(whole, copy)


def a_part_that_is_not_known_leaves_its_cells_empty(whole, stopped):
    """The run was stopped in the middle of an epoch, and the sums of the first part are lost."""
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
    if IS_WINDOWS:
        raise Skip("the test has no number of a process of Windows")
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    gone = subprocess.Popen(["true"])
    gone.wait()
    stale = [f".metrics.csv.tmp.{gone.pid}", f".weights.safetensors.tmp.{gone.pid}.0123abcd", f".average.safetensors.tmp.{gone.pid}.0123abcd"]
    others = [f".metrics.csv.tmp.{os.getpid()}", f".notes.tmp.{gone.pid}", ".metrics.csv.tmp.mine", "notes.txt"]
    for name in stale + others:
        (out / name).write_text("x")
    run("train", "--resume", out, "--epochs", 2, "--progress", "off")
    assert {path.name for path in out.iterdir()} == RUN_FILES | set(others), sorted(path.name for path in out.iterdir())


if __name__ == "__main__":
    run_tests(globals())
