"""Tests of `troika train --tensorboard`: its event files, as the format says and as TensorBoard reads them.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import json
import signal
import struct

from tool import (IS_WINDOWS, LONG, SMALL, TIME_LIMIT_S, Skip, need_processes, refuse, rows_of, run, run_tests, start_long_run, stop_long_run,
                  wait_for_epoch)

TRAIN_TAGS = {"train/loss", "train/accuracy", "train/learning_rate", "train/images_per_second"}
EPOCH_TAGS = {"epoch/loss", "epoch/accuracy", "epoch/images_per_second", "eval/loss", "eval/accuracy",
              "eval/images_per_second"}
# The columns of metrics.csv that are also points.
COLUMN_OF = {"epoch/loss": "loss", "epoch/accuracy": "train_accuracy", "epoch/images_per_second": "images_per_second",
             "eval/loss": "test_loss", "eval/accuracy": "test_accuracy"}


def crc32c(data):
    """Bit by bit, unlike the tool's."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records_of(path):
    data = path.read_bytes()
    while data:
        head, rest = data[:12], data[12:]
        length, check = struct.unpack("<QI", head)
        assert check == masked(crc32c(head[:8])), path
        assert struct.unpack("<I", rest[length:length + 4])[0] == masked(crc32c(rest[:length])), path
        yield rest[:length]
        data = rest[length + 4:]


def fields_of(message):
    """Returns the fields of a protobuf message: number to values."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 2: None, 5: 4}[key & 7]
            size = varint() if size is None else size
            value, at = message[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def files_of(board):
    found = sorted(board.iterdir())
    assert all(path.name.startswith("events.out.tfevents.") for path in found), found
    return found


def points_of(path):
    """Returns the points of a file as (tag, step, value), and the steps at which a run begins anew."""
    events = [fields_of(record) for record in records_of(path)]
    assert events[0][3] == [b"brain.Event:2"], events[0]
    points, restarts = [], []
    for event in events:
        assert 1.5e9 < struct.unpack("<d", event[1][0])[0] < 1e10, event
        if 7 in event:
            assert fields_of(event[7][0]) == {1: [1]}, event
            restarts += event[2]
        for value in fields_of(event[5][0])[1] if 5 in event else []:
            fields = fields_of(value)
            points.append((fields[1][0].decode(), event[2][0], struct.unpack("<f", fields[2][0])[0]))
    return points, restarts


def series_of(points, tag):
    return [(step, value) for name, step, value in points if name == tag]


def matches_metrics(points, out):
    rows = rows_of(out)
    for tag, column in COLUMN_OF.items():
        wanted = [(int(row["step"]), float(row[column])) for row in rows]
        found = series_of(points, tag)
        assert [step for step, _ in found] == [step for step, _ in wanted], (tag, found)
        assert all(abs(a - b) <= 1e-5 * abs(b) + 1e-6 + (0.051 if "per_second" in tag else 0)
                   for (_, a), (_, b) in zip(found, wanted)), (tag, found, wanted)


def accumulated(board):
    """Reads a folder as TensorBoard does. Returns the points of each tag."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # only this test needs it
    except ImportError as error:
        raise Skip(f"this Python has no tensorboard: {error}") from error
    accumulator = EventAccumulator(str(board), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {tag: [(point.step, point.value) for point in accumulator.Scalars(tag)]
            for tag in accumulator.Tags()["scalars"]}


def an_event_file_has_the_figures_of_the_metrics(folder):
    run("train", *SMALL, "--epochs", 3, "--out", folder / "run", "--progress", "off", "--tensorboard", folder / "board")
    (file,) = files_of(folder / "board")
    points, restarts = points_of(file)
    assert {tag for tag, _, _ in points} == TRAIN_TAGS | EPOCH_TAGS and not restarts, points
    matches_metrics(points, folder / "run")
    for tag in TRAIN_TAGS:
        assert [step for step, _ in series_of(points, tag)] == [8, 16, 24], points  # the ends of the epochs
    rates = [float(row["learning_rate"]) for row in rows_of(folder / "run")]
    assert all(abs(a - b) < 1e-6 for (_, a), b in zip(series_of(points, "train/learning_rate"), rates)), points


def points_of_training_are_means_over_so_many_steps(folder):
    for every in (1, 3, 0):
        out, board = folder / f"run{every}", folder / f"board{every}"
        run("train", *SMALL, "--epochs", 2, "--out", out, "--progress", "off", "--tensorboard", board,
            "--tensorboard-every", every)
    each = series_of(points_of(files_of(folder / "board1")[0])[0], "train/loss")
    assert [step for step, _ in each] == list(range(1, 17)), each
    some = series_of(points_of(files_of(folder / "board3")[0])[0], "train/loss")
    assert [step for step, _ in some] == [3, 6, 8, 9, 12, 15, 16], some
    loss = dict(each)
    for (step, value), first in zip(some, (0, 3, 6, 8, 9, 12, 15)):
        if step not in (8, 16):  # an epoch's last batch is smaller
            mean = sum(loss[i] for i in range(first + 1, step + 1)) / (step - first)
            assert abs(value - mean) < 1e-5, (step, value, mean)
    points = points_of(files_of(folder / "board0")[0])[0]
    assert [step for step, _ in series_of(points, "train/loss")] == [8, 16], points
    assert all(abs(a[1] - b[1]) < 1e-6 for a, b in zip(series_of(points, "train/loss"), series_of(points, "epoch/loss")))


def tensorboard_reads_the_file(folder):
    board = folder / "board"
    run("train", *SMALL, "--epochs", 2, "--out", folder / "run", "--progress", "off", "--tensorboard", board,
        "--tensorboard-every", 2)
    found = accumulated(board)
    assert set(found) == TRAIN_TAGS | EPOCH_TAGS, found
    for tag, series in found.items():
        assert series == series_of(points_of(files_of(board)[0])[0], tag), tag
    matches_metrics([(tag, *point) for tag, series in found.items() for point in series], folder / "run")


def a_resumed_run_goes_on_in_a_new_file(folder):
    out, board = folder / "run", folder / "board"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off", "--tensorboard", board)
    run("train", "--resume", out, "--epochs", 3, "--progress", "off")  # run.json has the folder
    files = files_of(board)
    assert len(files) == 2, files
    found = sorted((points_of(file) for file in files), key=lambda pair: pair[1])
    assert [restarts for _, restarts in found] == [[], [9]], found
    assert [step for step, _ in series_of(found[1][0], "epoch/loss")] == [16, 24], found[1]
    matches_metrics(found[0][0] + found[1][0], out)
    run("train", "--resume", out, "--epochs", 3)  # nothing to do
    run("train", "--resume", out, "--epochs", 4, "--progress", "off", "--tensorboard", "")
    assert files_of(board) == files
    assert json.loads((out / "run.json").read_text())["tensorboard"] == ""


def a_run_that_was_stopped_has_every_step_once(folder):
    out, board = folder / "run", folder / "board"
    stop_long_run(start_long_run(*LONG, "--epochs", 50, "--out", out, "--tensorboard", board, "--tensorboard-every", 7))
    epochs = len(rows_of(out))
    run("train", "--resume", out, "--epochs", epochs + 1, "--progress", "off")
    found = accumulated(board)
    steps = [step for step, _ in found["train/loss"]]
    assert steps == sorted(set(steps)) and steps[-1] == (epochs + 1) * 120, steps
    matches_metrics([("epoch/loss", *point) for point in found["epoch/loss"]] +
                    [(tag, *point) for tag in COLUMN_OF if tag != "epoch/loss" for point in found[tag]], out)


def steps_that_a_crash_has_lost_are_not_shown(folder):
    out, board = folder / "run", folder / "board"
    process = start_long_run(*LONG, "--epochs", 50, "--out", out, "--tensorboard", board, "--tensorboard-every", 1)
    wait_for_epoch(process, 1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIME_LIMIT_S)
    epochs = len(rows_of(out))
    killed = [step for step, _ in series_of(points_of(files_of(board)[0])[0], "train/loss")]
    assert killed[-1] > epochs * 120, killed
    run("train", "--resume", out, "--epochs", epochs + 1, "--progress", "off")
    assert [step for step, _ in accumulated(board)["train/loss"]] == list(range(1, (epochs + 1) * 120 + 1))


def only_one_process_of_a_job_writes(folder):
    need_processes()
    on_one = [word for word in SMALL if word != "cpu:0,cpu:1"]
    on_one.insert(on_one.index("--devices") + 1, "cpu:0")
    run("train", *on_one, "--processes", 2, "--epochs", 2, "--out", folder / "run", "--progress", "off", "--tensorboard",
        folder / "board")
    (file,) = files_of(folder / "board")
    matches_metrics(points_of(file)[0], folder / "run")


def a_bad_folder_is_one_line_before_training(folder):
    (folder / "file").write_text("x")
    for board in (folder / "file", folder / "file" / "inside"):
        line = refuse("train", *SMALL, "--epochs", 1, "--out", folder / "run", "--tensorboard", board)
        assert line.startswith(f"troika: cannot make the folder '{board}': ") and ("file" in line or IS_WINDOWS), line
        assert not (folder / "run" / "checkpoint.safetensors").exists()
    assert refuse("train", *SMALL, "--out", folder / "run", "--tensorboard-every", -1) == \
        "troika: --tensorboard-every is -1; give at least 1, or 0 for epoch ends only"


if __name__ == "__main__":
    run_tests(globals())
