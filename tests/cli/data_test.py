"""Tests of the tool's data sets: IDX, CIFAR, folders of pictures, and augmentation.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import json
import random
import re
import shutil
import struct

from tool import (figures_of, need_decoder, refuse, run, run_tests, same_files, write_bmp, write_cifar, write_idx,
                  write_jpeg, write_pictures, write_png, write_pnm)


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


def a_part_of_the_training_samples_is_the_test(folder):
    data = write_idx(folder / "data", [0, 1, 2, 3] * 50, [0])
    for split in ("images-idx3", "labels-idx1"):
        (data / f"t10k-{split}-ubyte").unlink()
    begin = ["train", "--model", "mlp", "--data", data, "--batch", 30, "--epochs", 2, "--lr", 0.1, "--progress", "off"]
    assert "t10k-images" in refuse(*begin, "--out", folder / "none")
    run(*begin, "--hold-out", 0.2, "--out", folder / "run")
    assert json.loads((folder / "run" / "run.json").read_text())["dataset"].startswith("160 training samples")
    row = list(csv.DictReader((folder / "run" / "metrics.csv").open(encoding="utf-8")))[-1]
    assert run("evaluate", folder / "run").startswith(f"loss {float(row['test_loss']):.4f}  accuracy {float(row['test_accuracy']):.4f}  40 samples")
    other = write_idx(folder / "other", [0, 1, 2, 3] * 5, [0, 1, 2])
    assert run("evaluate", folder / "run", "--data", other).split("  ")[2] == "3 samples", "other data have their own test"
    assert run("evaluate", folder / "run", "--data", other, "--hold-out", 0.5).split("  ")[2] == "10 samples"
    labels = [prediction["label"] for prediction in csv.DictReader(run("predict", folder / "run").splitlines())]
    assert len(labels) == 40 and set(labels) == {"0", "1", "2", "3"}, labels
    run(*begin[:-4], "--lr", 0.1, "--hold-out", 0.2, "--limit-train", 90, "--limit-test", 7, "--out", folder / "less", "--progress", "off")
    assert run("evaluate", folder / "less").split("  ")[2] == "7 samples"
    for given, reason in ((1, "give a number from 0 to below 1"), (-0.1, "give a number from 0 to below 1"),
                          (0.001, "give a part that leaves samples on both sides: there are 200")):
        line = refuse(*begin, "--hold-out", given, "--out", folder / "none")
        assert line == f"troika: --hold-out is {given}; {reason}", line
    (folder / "text").write_text("words of a text " * 100)
    line = refuse("train", "--model", "char_lstm", "--data", folder / "text", "--hold-out", 0.1, "--out", folder / "none")
    assert line == f"troika: --hold-out is for images, '{folder / 'text'}' is a text, whose last tenth is the test", line


def an_empty_data_set_is_named(folder):
    for train, test, name in (([], [1], "train-images"), ([1], [], "t10k-images")):
        data = write_idx(folder / name, train, test)
        line = refuse("train", "--model", "mlp", "--data", data, "--out", folder / "run")
        assert line == f"troika: '{data}/{name}-idx3-ubyte' is empty; need at least 1 image", line


def cifar_trains_models_of_the_zoo(folder):
    labels = [0, 3, 9] * 10
    write_cifar(folder / "data" / "cifar-10-batches-bin", labels, [9, 0, 3])
    data, runs = ("--data", folder / "data"), {"d2l_lenet": (), "d2l_resnet18": ("--resize", 40, "--mean", 0.4, "--std", 0.3), "mlp": ()}
    for model, given in runs.items():
        out = folder / model
        run("train", "--model", model, *data, *given, "--batch", 6, "--epochs", 1, "--out", out, "--progress", "off")
        size = "3x40x40" if given else "3x32x32"
        assert json.loads((out / "run.json").read_text())["dataset"] == f"30 training samples of {size} in 10 classes"
        assert re.search(r"\b3 samples\b", run("evaluate", out))
        rows = list(csv.DictReader(run("predict", out).splitlines()))
        assert [row["label"] for row in rows] == ["9", "0", "3"], rows
    (folder / "data" / "cifar-10-batches-bin" / "data_batch_4.bin").unlink()
    assert "data_batch_4.bin'" in refuse("train", "--model", "mlp", *data, "--out", folder / "none")
    empty = folder / "empty"
    empty.mkdir()
    line = refuse("train", "--model", "mlp", "--data", empty, "--out", folder / "none")
    assert "neither IDX files ('train-images-idx3-ubyte') nor files of CIFAR ('data_batch_1.bin' or 'train.bin')" in line, line


def pictures_train_as_the_same_bytes_of_cifar_and_mnist(folder):
    cifar, idx = {"train": [], "test": []}, {"train": [], "test": []}

    def colour(file, split, number):
        planes = random.randbytes(3 * 32 * 32)
        cifar[split].append(planes)
        pixels = bytes(planes[c * 1024 + p] for p in range(1024) for c in range(3))
        if number % 4 == 0:
            write_pnm(file.with_suffix(".ppm"), 3, 32, 32, pixels)
        elif number % 4 == 1:
            write_png(file.with_suffix(".PNG"), 3, 32, 32, pixels)
        elif number % 4 == 2:
            write_bmp(file.with_suffix(".bmp"), 32, 32, pixels)
        else:
            write_png(file.with_suffix(".png"), 4, 32, 32, b"".join(pixels[3 * p:3 * p + 3] + b"\x7F" for p in range(1024)))

    def grey(file, split, number):
        pixels = random.randbytes(8 * 8) if number % 4 else random.randbytes(1) * 64
        idx[split].append(pixels)
        if number % 4 == 0:
            write_jpeg(file.with_suffix(".jpg" if number == 0 else ".JPEG"), pixels[0])
        elif number % 4 == 1:
            write_pnm(file.with_suffix(".pgm"), 1, 8, 8, pixels)
        elif number % 4 == 2:
            write_png(file.with_suffix(".png"), 1, 8, 8, pixels)
        else:
            write_png(file.with_suffix(".png"), 2, 8, 8, b"".join(bytes([p, 200]) for p in pixels))

    colours, greys = write_pictures(folder / "colours", colour, per_class=5), write_pictures(folder / "greys", grey)
    need_decoder(colours)
    for unused in (colours / "train" / "ant" / "notes.txt", colours / "train" / ".hidden.png", colours / "train" / "bee" / ".x.png"):
        unused.write_text("no picture")
    (folder / "cifar").mkdir()
    for i in range(5):
        (folder / "cifar" / f"data_batch_{i + 1}.bin").write_bytes(b"".join(bytes([n // 5]) + cifar["train"][n] for n in range(3 * i, 3 * i + 3)))
    (folder / "cifar" / "test_batch.bin").write_bytes(b"".join(bytes([n]) + planes for n, planes in enumerate(cifar["test"])))
    write_idx(folder / "idx", [0] * 4 + [1] * 4 + [2] * 4, [0, 1, 2])
    for split, name in (("train", "train"), ("test", "t10k")):
        (folder / "idx" / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, len(idx[split]), 8, 8) + b"".join(idx[split]))
    for pictures, same in ((colours, "cifar"), (greys, "idx")):
        runs = []
        for data in (pictures, folder / same):
            runs.append(folder / f"run-{data.name}")
            run("train", "--model", "mlp", "--data", data, "--classes", 3, "--mean", 0.4, "--std", 0.3, "--batch", 5, "--epochs", 2,
                "--out", runs[-1], "--progress", "off")
        same_files(*runs, "weights.safetensors")
        assert figures_of(runs[0]) == figures_of(runs[1])
        by_name, by_number = (list(csv.DictReader(run("predict", out).splitlines())) for out in runs)
        numbers = {"ant": "0", "bee": "1", "cat": "2"}
        assert [{key: numbers.get(value, value) for key, value in row.items() if key != "file"} for row in by_name] == by_number


def pictures_become_equal_by_resize_and_have_a_class_per_folder(folder):
    def write(file, split, number):
        height, width = 20 + 3 * number, 31 - number
        if number % 2 == 0:
            write_png(file.with_suffix(".png"), 1, height, width, random.randbytes(height * width))
        else:
            write_pnm(file.with_suffix(".ppm"), 3, height, width, random.randbytes(3 * height * width))

    data, out = write_pictures(folder / "data", write, per_class=3), folder / "run"
    need_decoder(data)
    base = ("train", "--model", "d2l_lenet", "--data", data, "--epochs", 1, "--batch", 4, "--out", out, "--progress", "off")
    line = refuse(*base)
    assert line == f"troika: '{data}/train/ant/01.ppm' is 1x23x30, '{data}/train/ant/00.png' is 1x20x31; give --resize SIZE", line
    run(*base, "--resize", 28, "--augment", "flip")
    assert json.loads((out / "run.json").read_text())["dataset"] == "9 training samples of 1x28x28 in 3 classes"
    assert re.search(r"\b3 samples\b", run("evaluate", out))
    assert [row["label"] for row in csv.DictReader(run("predict", out).splitlines())] == ["ant", "bee", "cat"]
    run("train", *base[1:-4], "--resize", 28, "--limit-train", 4, "--limit-test", 2, "--out", folder / "few", "--progress", "off")
    assert re.search(r"\b2 samples\b", run("evaluate", folder / "few"))
    assert json.loads((folder / "few" / "run.json").read_text())["dataset"] == "4 training samples of 1x28x28 in 3 classes"


def a_part_of_the_training_pictures_is_the_test(folder):
    def write(file, _, number):
        write_pnm(file.with_suffix(".pgm"), 1, 4, 4, bytes([40 * number % 256]) * 16)

    data = folder / "pictures"
    write_pictures(data, write)
    need_decoder(data)
    shutil.rmtree(data / "test")
    begin = ["train", "--model", "mlp", "--data", data, "--epochs", 1, "--progress", "off"]
    assert "has no folder test" in refuse(*begin, "--out", folder / "none")
    run(*begin, "--hold-out", 0.25, "--out", folder / "run")
    assert run("evaluate", folder / "run").split("  ")[2] == "3 samples"


def a_bad_folder_of_pictures_is_one_line(folder):
    def write(file, split, number):
        write_pnm(file.with_suffix(".ppm"), 3, 6, 7, random.randbytes(126))

    data = write_pictures(folder / "data", write)
    need_decoder(data)
    bad = data / "train" / "bee" / "03.ppm"
    whole = bad.read_bytes()
    png = folder / "whole.png"
    write_png(png, 3, 6, 7, random.randbytes(126))
    base = ("train", "--model", "mlp", "--data", data, "--out", folder / "run")
    for contents in (b"", b"no picture", whole[:-1], whole[:20], whole[:4], b"P6\n99999 99999\n255\n" + bytes(99), b"P6 0 0 255\n",
                     b"P6\n#" + b"x" * 50):
        bad.write_bytes(contents)
        line = refuse(*base)
        assert line.startswith(f"troika: '{bad}' "), (contents, line)
    bad.unlink()
    for name, contents in (("03.png", png.read_bytes()[:-30]), ("03.jpg", b"\xFF\xD8\xFF" + bytes(50)), ("03.bmp", b"BM" + bytes(60))):
        (bad.parent / name).write_bytes(contents)
        line = refuse(*base)
        assert line.startswith(f"troika: '{bad.parent / name}' "), line
        (bad.parent / name).unlink()
    (data / "test" / "dog").mkdir()
    assert refuse(*base) == f"troika: '{data}/test/dog' is a class that the folder train does not have"
    (data / "test" / "dog").rmdir()
    for picture in (data / "test").glob("*/*.ppm"):
        picture.unlink()
    assert refuse(*base) == f"troika: '{data}/test' has no pictures; need CLASS/PICTURE, such as cat/1.png, in it"
    for name in ("ant", "bee", "cat"):
        (data / "test" / name).rmdir()
    (data / "test").rmdir()
    assert refuse(*base) == f"troika: '{data}' has no folder test; need train/CLASS/PICTURE and test/CLASS/PICTURE in it; " \
        "or give --hold-out 0.1, which tests with a part of the training samples"
    assert not (folder / "run").exists()


def augmented_images_train_the_same_on_one_device_and_two(folder):
    data = write_cifar(folder / "data", [1, 4, 7] * 20, [1, 4, 7])
    base = ["train", "--model", "mlp", "--data", data, "--batch", 12, "--lr", 0.01, "--logical-shards", 4, "--epochs", 2,
            "--progress", "off"]
    for name, given in (("plain", []), ("one", ["--augment", "flip,crop"]), ("two", ["--augment", "crop=4,flip", "--devices", "cpu:0,cpu:1"]),
                        ("wide", ["--augment", "crop=31"])):
        run(*base, *given, "--out", folder / name)
    same_files(folder / "one", folder / "two", "weights.safetensors")
    assert len({(folder / name / "weights.safetensors").read_bytes() for name in ("plain", "one", "wide")}) == 3
    assert json.loads((folder / "one" / "run.json").read_text())["augment"] == "flip,crop"


def an_augmentation_that_cannot_be_is_one_line(folder):
    base = ["train", "--model", "mlp", "--synthetic", 20, "--out", folder / "run"]
    for given in ("flop", "flip,", "flip,flip", "crop,crop=2", "crop=", "crop=0", "crop=-1", "crop=x", "crop=3x", "none,flip", "crop=99999999999"):
        line = refuse(*base, f"--augment={given}")
        assert f"--augment is '{given}'; give none, flip, crop, crop=PIXELS, or flip and a crop" in line, line
    line = refuse(*base, "--augment", "flip,crop=28")
    assert line == "troika: --augment is 'flip,crop=28'; give a crop of at most 27, below the sides of images of 1x28x28", line
    text = folder / "text"
    text.write_bytes(b"abcdefgh" * 200)
    line = refuse("train", "--model", "char_lstm", "--data", text, "--augment", "flip", "--out", folder / "run")
    assert line == "troika: --augment is for images, --data is a text", line
    assert not (folder / "run").exists()


if __name__ == "__main__":
    run_tests(globals())
