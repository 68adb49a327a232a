"""Runs the `troika` program (TROIKA_TOOL, or build/troika) as a user does, and reads its files."""

import csv
import inspect
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
import traceback

TOOL = os.environ.get("TROIKA_TOOL", "build/troika")
# tests/windows/troika, which runs the tool for Windows under Wine.
IS_WINDOWS = pathlib.Path(TOOL).parent.name == "windows"
TIME_LIMIT_S = 300
RUN_FILES = {"metrics.csv", "accuracy.svg", "loss.svg", "weights.safetensors", "weights.best.safetensors",
             "checkpoint.safetensors", "run.json", ".lock", "status"}
COLUMNS = ["epoch", "step", "loss", "train_accuracy", "test_loss", "test_accuracy", "images_per_second", "seconds",
           "learning_rate", "training_seconds"]

# A small run with everything that a resume must restore: momentum, a schedule, and a smaller last
# batch.
SMALL = ["--model", "mlp", "--synthetic", "500", "--batch", "64", "--lr", "0.05", "--momentum", "0.9", "--schedule",
         "cosine", "--schedule-period", "6", "--seed", "7", "--devices", "cpu:0,cpu:1", "--threads", "2"]
# A run that is long enough to be stopped in the middle of an epoch.
LONG = ["--model", "d2l_lenet", "--synthetic", "6000", "--batch", "50", "--lr", "0.02", "--momentum", "0.9", "--seed",
        "3", "--devices", "cpu:0,cpu:1", "--threads", "2"]


def with_slashes(text):
    """Returns a text of the tool with the names that files have here, also under Wine."""
    return text.replace("Z:\\", "/").replace("\\", "/") if IS_WINDOWS else text


def run(*arguments, status=0, environment=None):
    """Runs the program and returns its stdout. Fails if the exit status is not `status`."""
    finished = subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}, check=False)
    assert finished.returncode == status, \
        f"{' '.join(map(str, arguments))}: exit status {finished.returncode}, stderr: {finished.stderr}"
    return finished.stdout


def refuse(*arguments):
    """Runs the program, which must fail with status 1 and one line on stderr. Returns this line."""
    finished = subprocess.run([TOOL, *map(str, arguments)], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                              stdin=subprocess.DEVNULL, check=False)
    assert finished.returncode == 1, f"exit status {finished.returncode}, stderr: {finished.stderr}"
    lines = finished.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("troika: "), f"stderr: {finished.stderr}"
    return with_slashes(lines[0])


def rows_of(folder, columns=COLUMNS):
    with open(folder / "metrics.csv", newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        assert reader.fieldnames == columns, reader.fieldnames
        return rows


def figures_of(folder):
    """Returns the rows of metrics.csv without the columns that depend on time."""
    columns = [key for key in COLUMNS if key not in ("images_per_second", "seconds", "training_seconds")]
    return [{key: row[key] for key in columns} for row in rows_of(folder)]


def contents_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same_files(a, b, *names):
    for name in names:
        assert (a / name).read_bytes() == (b / name).read_bytes(), f"{name} differs between {a.name} and {b.name}"


def start_long_run(*arguments):
    return subprocess.Popen([TOOL, "train", *map(str, arguments), "--progress", "json"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def wait_for_epoch(process, epoch):
    """Waits for the end of an epoch in the JSON lines, and then a moment for the next epoch."""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "epoch" and event["epoch"] >= epoch:
            time.sleep(0.2 * event["seconds"])
            return
    raise AssertionError(f"the run ended before epoch {epoch}: {process.stderr.read()}")


def stop_long_run(process, epoch=1, by=signal.SIGINT):
    """Ends a run as Ctrl-C does, after epoch `epoch` (None: in the first). Returns the last JSON line."""
    if epoch:
        wait_for_epoch(process, epoch)
    else:
        process.stdout.readline()  # the run has begun
        time.sleep(0.1)
    process.send_signal(by)
    rest, errors = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 128 + by, f"exit status {process.returncode}: {errors}"
    return json.loads(rest.splitlines()[-1])


def write_idx(folder, train_labels, test_labels):
    """Writes a data set of 4 x 4 images in MNIST's format. The pixels determine the label."""
    folder.mkdir()
    for split, labels in (("train", train_labels), ("t10k", test_labels)):
        images = b"".join(bytes([16 * label]) * 16 for label in labels)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, len(labels), 4, 4) + images)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))
    return folder


def write_cifar(folder, train_labels, test_labels):
    """Writes a data set in the format of CIFAR-10. The pixels determine the label."""
    folder.mkdir(parents=True)
    images = {label: bytes((25 * label + pixel * pixel) % 251 for pixel in range(3072)) for label in range(10)}
    files = {f"data_batch_{i + 1}.bin": train_labels[i::5] for i in range(5)} | {"test_batch.bin": test_labels}
    for name, labels in files.items():
        (folder / name).write_bytes(b"".join(bytes([label]) + images[label] for label in labels))
    return folder


def write_pnm(file, channels, height, width, pixels):
    """Writes a PGM or PPM file of the bytes of an image, [height, width, channels]."""
    file.write_bytes((b"P5" if channels == 1 else b"P6") + f"\n# a comment 9 9\n{width} {height}\n255\n".encode() + bytes(pixels))


def write_png(file, channels, height, width, pixels):
    """Writes a PNG file: 1 channel is grey, 3 are colours, and with 2 or 4 the last one is transparency."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = width * channels
    lines = b"".join(b"\0" + bytes(pixels[y * row:(y + 1) * row]) for y in range(height))
    header = struct.pack(">2I5B", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def write_bmp(file, height, width, pixels):
    """Writes a BMP file of colours: rows from the last to the first, blue first, each of a multiple of 4 bytes."""
    rows = [b"".join(bytes(pixels[3 * (y * width + x):3 * (y * width + x) + 3][::-1]) for x in range(width)) for y in range(height)]
    data = b"".join(row + bytes(-len(row) % 4) for row in reversed(rows))
    file.write_bytes(struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + len(data), 0, 54, 40, width, height, 1, 24, 0, len(data), 1, 1, 0, 0) + data)


def write_jpeg(file, grey):
    """Writes a JPEG file of 8 x 8 equal pixels: one block, whose only coefficient is the mean."""
    def segment(kind, data):
        return bytes([0xFF, kind]) + struct.pack(">H", 2 + len(data)) + data

    mean = grey - 128
    size = abs(mean).bit_length()
    bits = f"{size:04b}" + (f"{mean if mean > 0 else mean + (1 << size) - 1:0{size}b}" if size else "") + "0"
    bits += "1" * (-len(bits) % 8)
    scan = b"".join(bytes([int(bits[i:i + 8], 2)]) for i in range(0, len(bits), 8)).replace(b"\xFF", b"\xFF\0")
    file.write_bytes(b"\xFF\xD8" + segment(0xDB, b"\0" + bytes([8] * 64)) + segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 1) + b"\1\x11\0") +
                     segment(0xC4, b"\0" + bytes([0, 0, 0, 9] + [0] * 12) + bytes(range(9))) +
                     segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\0") +
                     segment(0xDA, b"\1\1\0\0\x3F\0") + scan + b"\xFF\xD9")


def write_pictures(folder, write, classes=("ant", "bee", "cat"), per_class=4):
    """Calls `write(file without its ending, split, number)` for pictures of classes in folders."""
    for split, count in (("train", per_class), ("test", 1)):
        for c, name in enumerate(classes):
            (folder / split / name).mkdir(parents=True)
            for i in range(count):
                write(folder / split / name / f"{i:02}", split, c * count + i)
    return folder


class Skip(Exception):
    """Raised by a test that cannot run here. The text is the reason."""


def need_decoder(data):
    """Skips a test of pictures if the tool cannot read them."""
    if "built without stb_image.h" in refuse("predict", "--weights", "none", "--model", "mlp", "--data", data):
        raise Skip("the tool was built without stb_image.h")


def need_processes():
    """Skips a test of several processes if the system has none."""
    if IS_WINDOWS:
        raise Skip("on Windows a job has one process")


def run_tests(names):
    """Runs the functions in `names` whose only parameter is `folder`, in order. Ends the program."""
    tests = [value for value in names.values()
             if inspect.isfunction(value) and value.__module__ == "__main__"
             and value.__code__.co_varnames[:value.__code__.co_argcount] == ("folder",)]
    failed = 0
    for test in tests:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="troika-cli-"))
        try:
            test(folder)
            print(f"ok {test.__name__}", flush=True)
        except Skip as reason:
            print(f"skip {test.__name__} {reason}", flush=True)
        except Exception:  # the other tests run after any failure
            failed += 1
            print("\n".join("  " + line for line in traceback.format_exc().splitlines()[-6:]))
            print(f"not ok {test.__name__}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)
