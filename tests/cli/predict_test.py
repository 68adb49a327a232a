"""Tests of predictions of a user's own images, and of the names of classes.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import gzip
import json
import os
import random
import shutil
import struct
import xml.etree.ElementTree

from tool import Skip, need_decoder, refuse, run, run_tests, write_cifar, write_idx, write_pictures, write_png, write_pnm

CLASSES = ("ant", "bee", "cat")


def write_picture(file, _, number):
    """Writes a coloured picture of one of several sizes."""
    height, width = 20 + number % 3, 22 - number % 2
    write_png(file.with_suffix(".png"), 3, height, width, random.Random(number).randbytes(3 * height * width))


def train(data, out, *given):
    run("train", "--model", "mlp", "--data", data, "--epochs", 1, "--batch", 4, *given, "--out", out, "--progress", "off")
    return out


def predict(*arguments):
    return list(csv.DictReader(run("predict", *arguments).splitlines()))


def outputs_of(rows):
    """Returns what rows say of the outputs, without the pictures and their labels."""
    return [{key: value for key, value in row.items() if key not in ("file", "row", "label")} for row in rows]


def a_users_own_pictures_are_prepared_as_those_of_the_run(folder):
    data = write_pictures(folder / "data", write_picture)
    need_decoder(data)
    out = train(data, folder / "run", "--resize", 16, "--mean", 0.4, "--std", 0.3, "--limit-test", 2)
    tests = [data / "test" / name / "00.png" for name in CLASSES]
    expected = predict(out, "--limit-test", 0)
    assert [row["file"] for row in expected] == [f"test/{name}/00.png" for name in CLASSES], expected
    assert [row["label"] for row in expected] == list(CLASSES), "labels are names"
    for row in expected:
        assert sorted(row[f"class{i}"] for i in (1, 2, 3)) == list(CLASSES), row
    shutil.copytree(data / "test", folder / "alone" / "test")
    assert predict(out, "--data", folder / "alone") == expected, "the run's --limit-test is for its own data"
    shutil.rmtree(folder / "alone" / "test" / "bee")
    assert [row["label"] for row in predict(out, "--data", folder / "alone")] == ["ant", "cat"], "classes may be missing"
    flat = folder / "flat"
    flat.mkdir()
    for name, test in zip(("z.png", "a.png", "m, 1.PNG"), tests):
        shutil.copy(test, flat / name)
    (flat / "notes.txt").write_text("no picture")
    (flat / ".hidden.png").write_text("no picture")
    rows = predict(out, "--data", flat)
    assert [row["file"] for row in rows] == ["a.png", "m, 1.PNG", "z.png"] and {row["label"] for row in rows} == {""}, rows
    assert outputs_of(rows) == outputs_of([expected[1], expected[2], expected[0]])
    assert [row["row"] for row in predict(out, "--data", flat, "--first", 1)] == ["1", "2"]
    assert predict(out, "--data", flat, "--limit-test", 2) == rows[:2]
    one = predict(out, "--data", tests[2])
    assert [row["file"] for row in one] == ["00.png"] and outputs_of(one) == outputs_of(expected[2:])
    weights = out / "weights.safetensors"  # without the run's folder, whose classes then have no names
    shutil.copy(weights, folder / "alone.safetensors")
    prepared = ("--resize", 16, "--mean", 0.4, "--std", 0.3)
    for file, names in ((weights, CLASSES), (folder / "alone.safetensors", ("0", "1", "2"))):
        for model in ((), ("--model", "mlp")):
            row, = predict("--weights", file, *model, *prepared, "--data", tests[2])
            assert [names.index(row[f"class{i}"]) for i in (1, 2, 3)] == [CLASSES.index(one[0][f"class{i}"]) for i in (1, 2, 3)], row


def pictures_have_the_colours_that_the_model_reads(folder):
    def grey(file, _, number):
        write_pnm(file.with_suffix(".pgm"), 1, 8, 8, random.Random(number).randbytes(64))

    def colour(file, _, number):
        write_pnm(file.with_suffix(".ppm"), 3, 8, 8, random.Random(number).randbytes(192))

    greys, colours = write_pictures(folder / "greys", grey), write_pictures(folder / "colours", colour)
    need_decoder(greys)
    picture = folder / "x.png"
    for data, equal in ((greys, (folder / "x.ppm", 3)), (colours, (folder / "x.pgm", 1))):
        out = train(data, folder / f"run-{data.name}")
        pixels = random.randbytes(64)
        write_png(picture, 1, 8, 8, pixels)
        file, channels = equal  # grey as three equal colours, and the reverse
        write_pnm(file, channels, 8, 8, b"".join(bytes([p] * channels) for p in pixels))
        assert outputs_of(predict(out, "--data", picture)) == outputs_of(predict(out, "--data", file))
    write_png(picture, 1, 9, 8, bytes(72))
    line = refuse("predict", out, "--data", picture)
    assert line == f"troika: '{picture}' is 3x9x8, the model reads 3x8x8; give --resize 8", line
    assert len(predict(out, "--data", picture, "--resize", 8)) == 1
    weights = folder / "run-colours" / "weights.safetensors"
    assert "the model reads 3x8x8" in refuse("predict", "--model", weights, "--data", picture)


def idx_images_need_no_labels_to_be_predicted(folder):
    data = write_idx(folder / "data", [0, 1, 2] * 8, [2, 0, 1, 2])
    for given in ((), ("--resize", 6, "--mean", 0.2, "--std", 0.7)):
        out = train(data, folder / f"run{len(given)}", *given)
        expected, on_train = predict(out), predict(out, "--split", "train")
        alone, images = folder / f"alone{len(given)}", (data / "t10k-images-idx3-ubyte").read_bytes()
        alone.mkdir()
        (alone / "t10k-images-idx3-ubyte").write_bytes(images)
        unlabelled = [{**row, "label": ""} for row in expected]
        assert predict(out, "--data", alone) == predict(out, "--data", alone / "t10k-images-idx3-ubyte") == unlabelled
        (alone / "t10k-images-idx3-ubyte").unlink()
        packed = alone / "t10k-images-idx3-ubyte.gz"
        packed.write_bytes(gzip.compress(images[:30]) + gzip.compress(images[30:]))  # two streams are one file
        assert predict(out, "--data", alone) == predict(out, "--data", packed) == unlabelled
        assert refuse("predict", out, "--data", alone, "--split", "test") == \
            f"troika: --split is for data with training samples, '{alone}' has IDX images without labels; leave it out"
        shutil.copy(data / "train-images-idx3-ubyte", alone)
        assert predict(out, "--data", alone, "--split", "train") == [{**row, "label": ""} for row in on_train]
    (data / "t10k-labels-idx1-ubyte").unlink()
    held = train(data, folder / "held", "--hold-out", 0.25)
    assert len(predict(held)) == 6 and all(row["label"] for row in predict(held)), "its test is a part of its training samples"
    assert len(predict(held, "--data", data)) == 4
    bad = folder / "bad-images-idx3-ubyte"
    for contents, reason in ((images[:-1], "is truncated"), (b"", "is truncated"), (images + b"x", "bytes after"), (images[:9], "is truncated"),
                             (b"\0\0\x0D" + images[3:], "idx file"), (struct.pack(">4I", 0x803, 0, 4, 4), "is empty"),
                             (struct.pack(">4I", 0x803, 2, 0, 4), "[2, 0, 4]"),
                             (struct.pack(">4I", 0x803, 2 ** 32 - 1, 65535, 65535), "idx"),
                             (gzip.compress(images)[:-9], "idx file"), (gzip.compress(images) + b"x", "idx file")):
        bad.write_bytes(contents)
        line = refuse("predict", out, "--data", bad)
        assert line.startswith("troika: ") and f"'{bad}'" in line and reason in line, (line, reason)


def two_classes_need_no_option(folder):
    data = write_pictures(folder / "data", write_picture)
    need_decoder(data)
    for part in ("train", "test"):
        for name in sorted(path.name for path in (data / part).iterdir())[2:]:
            shutil.rmtree(data / part / name)
    out = train(data, folder / "run", "--resize", 8)
    rows = predict(out)
    assert rows and "class2" in rows[0] and "class3" not in rows[0], rows
    line = refuse("predict", out, "--data", data / "train")
    assert line.endswith("; pictures are read from the folder itself, or from test/CLASS/PICTURE"), line


def classes_whose_names_are_no_utf8_have_numbers(folder):
    data = write_pictures(folder / "data", write_picture)
    need_decoder(data)
    for part in ("train", "test"):
        first = sorted(path for path in (data / part).iterdir())[0]
        try:
            os.rename(os.fsencode(first), os.fsencode(first.parent) + b"/a\xe9")
        except OSError:
            raise Skip("this file system has names in UTF-8 alone") from None
    out = train(data, folder / "run", "--resize", 8)
    assert "class_names" not in json.loads((out / "run.json").read_text())
    run("evaluate", out, "--scores", folder / "scores")
    xml.etree.ElementTree.parse(folder / "scores" / "confusion.svg")
    assert [line.split(",")[0] for line in (folder / "scores" / "scores.csv").read_text().splitlines()[1:3]] == ["0", "1"]


def own_images_that_cannot_be_are_one_line(folder):
    data = write_pictures(folder / "data", write_picture)
    need_decoder(data)
    out = train(data, folder / "run", "--resize", 8)
    picture, flat, alone = data / "test" / "bee" / "00.png", data / "test" / "bee", folder / "alone"
    shutil.copytree(data / "test", alone / "test")
    for path, what in ((picture, "is a picture"), (flat, "is a folder of pictures"), (alone, "has no folder train")):
        for given in (("--split", "train"), ("--split", "test"), ("--hold-out", 0.5)):
            line = refuse("predict", out, "--data", path, *given)
            assert line == f"troika: {given[0]} is for data with training samples, '{path}' {what}; leave it out", line
    (alone / "test" / "bee").rename(alone / "test" / "dog")
    line = refuse("predict", out, "--data", alone)
    assert line == f"troika: '{alone}/test/dog' is a class that the run does not have; it has ant, bee, cat", line
    (folder / "x.png").write_text("no picture")
    assert refuse("predict", out, "--data", folder / "x.png").startswith(f"troika: '{folder}/x.png' is no PNG, JPEG")
    assert f"{folder}/none.png'" in refuse("predict", out, "--data", folder / "none.png")
    empty = folder / "empty"
    empty.mkdir()
    (empty / "notes.txt").write_text("no picture")
    assert f"'{empty}' has neither " in refuse("predict", out, "--data", empty)
    assert f"'{empty / 'notes.txt'}' is a text" in refuse("predict", out, "--data", empty / "notes.txt")
    assert "has no folder train" in refuse("evaluate", out, "--data", alone), "an evaluation needs the whole set"


def a_run_on_pictures_keeps_the_names_of_its_classes(folder):
    def write(file, split, number):
        write_picture(file, split, number)

    names = ["ant & bee", "cat, black", "\u00e9tale"]
    data = write_pictures(folder / "data", write, names)
    need_decoder(data)
    out = train(data, folder / "run", "--resize", 8)
    saved = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert saved["class_names"] == names, saved
    assert [row["label"] for row in predict(out)] == names
    scores = folder / "scores"
    run("evaluate", out, "--scores", scores)
    assert [row["class"] for row in csv.DictReader((scores / "scores.csv").open(encoding="utf-8"))] == names
    rows = list(csv.reader((scores / "confusion.csv").open(encoding="utf-8")))
    assert rows[0] == ["label", *names] and [row[0] for row in rows[1:]] == names, rows
    texts = [element.text for element in xml.etree.ElementTree.parse(scores / "confusion.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert all(texts.count(name) == 2 for name in names), texts
    # A resumed run keeps them, and the options of a run may begin another.
    run("train", "--resume", out, "--epochs", 2, "--progress", "off")
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["class_names"] == names
    run("train", "--config", out / "run.json", "--out", folder / "again", "--epochs", 1, "--progress", "off")
    # A run of an earlier version has none, its data have.
    del saved["class_names"]
    (out / "run.json").write_text(json.dumps(saved), encoding="utf-8")
    assert [row["label"] for row in predict(out)] == names
    shutil.copytree(data / "test", folder / "alone" / "test")
    rows = predict(out, "--data", folder / "alone")
    assert [row["label"] for row in rows] == names and {row["class1"] for row in rows} <= {"0", "1", "2"}, rows
    (out / "run.json").write_text(json.dumps({**saved, "class_names": [1, 2]}), encoding="utf-8")
    assert "has 'class_names' [1,2], need a list of texts" in refuse("predict", out)


def data_of_other_classes_are_refused(folder):
    data = write_pictures(folder / "data", write_picture)
    need_decoder(data)
    out = train(data, folder / "run", "--resize", 8)
    other = write_pictures(folder / "other", write_picture, ("ant", "bee", "dog"))
    reason = "troika: the data have the classes ant, bee, dog, the run has ant, bee, cat; give data of the same classes"
    for command in (("evaluate", out), ("predict", out), ("train", "--epochs", 2, "--progress", "off", "--resume", out)):
        line = refuse(*command, "--data", other)
        assert line == reason, line
    many = [f"class{i:02}" for i in range(12)]
    line = refuse("predict", out, "--data", write_pictures(folder / "many", write_picture, many))
    assert "class00, class01, " in line and "class09 and 2 more, the run has ant, bee, cat;" in line, line


def held_out_pictures_keep_their_files(folder):
    data = write_pictures(folder / "data", write_picture, per_class=6)
    need_decoder(data)
    out = train(data, folder / "run", "--resize", 8, "--hold-out", 0.4)
    held, rest = predict(out), predict(out, "--split", "train")
    files = [row["file"] for row in held + rest]
    assert len(held) == 7 and sorted(files) == sorted(f"train/{name}/{i:02}.png" for name in CLASSES for i in range(6)), files
    for row in held + rest:
        assert row["file"].split("/")[1] == row["label"], row
    for row in held[:3]:
        same, = predict(out, "--data", data / row["file"])
        assert [same[f"class{i}"] for i in (1, 2, 3)] == [row[f"class{i}"] for i in (1, 2, 3)], (same, row)


def classes_of_cifar_have_the_names_in_its_own_file(folder):
    data = write_cifar(folder / "data" / "cifar-10-batches-bin", [0, 3, 9] * 10, [9, 0, 3])
    names = [f"kind{i}" for i in range(10)]
    assert "class_names" not in json.loads((train(folder / "data", folder / "none") / "run.json").read_text())
    (data / "batches.meta.txt").write_text("\n".join(names) + "\n\n")
    for place in (folder / "data", data):
        out = train(place, folder / f"run-{place.name}")
        assert json.loads((out / "run.json").read_text())["class_names"] == names
        rows = list(csv.DictReader(run("predict", out).splitlines()))
        assert [row["label"] for row in rows] == ["kind9", "kind0", "kind3"] and "file" not in rows[0], rows
    (data / "batches.meta.txt").write_text("one\ntwo\n")  # not those of ten classes
    assert [row["label"] for row in predict(folder / "none")] == ["9", "0", "3"]


if __name__ == "__main__":
    run_tests(globals())
