"""Tests of the commands that look at models and runs, of completion and of the manual pages.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import io
import itertools
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree

from tool import IS_WINDOWS, SMALL, TIME_LIMIT_S, TOOL, Skip, refuse, rows_of, run, run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def model_lists_every_layer(folder):
    lines = run("model", "mlp").splitlines()
    assert lines[0] == "mlp: 1x28x28 to 10; operations are those of a forward pass of one sample", lines
    assert [line.split() for line in lines[1:]] == [
        ["layer", "kind", "output", "parameters", "operations"], ["x", "input", "1x28x28"], ["flatten", "flatten", "784"],
        ["fc1", "linear", "256", "200,960", "401,408"], ["relu", "relu", "256", "256"],
        ["fc2", "linear", "10", "2,570", "5,120"], ["total", "203,530", "406,784"]], lines
    names = [line.split()[0] for line in run("model", "resnet50", "--classes", 7).splitlines()[2:-1]]
    assert "layer4.2.conv3" in names and names[-1] == "fc", names
    # The names are those that options take.
    run("bench", "--model", "d2l_lenet", "--batch", 4, "--steps", 1, "--windows", 1, "--devices", "cpu:0,cpu:1", "--mesh", "1x2x1",
        "--layer-cuts", [line.split()[0] for line in run("model", "d2l_lenet").splitlines() if " linear " in line][0])
    assert "fc.weight  7x2048" in run("model", "resnet50", "--classes", 7, "--parameters").splitlines()
    assert "  buffer" in run("model", "resnet18", "--parameters")
    assert "did you mean 'resnet50'" in refuse("model", "ResNet50")


def model_opens_a_file(folder):
    run("train", *SMALL, "--epochs", 1, "--out", folder / "run", "--progress", "off")
    assert run("model", folder / "run" / "weights.safetensors").splitlines()[1:] == run("model", "mlp").splitlines()[1:]
    for option in ("--classes", "--size"):
        file = folder / "run" / "weights.safetensors"
        assert refuse("model", file, option, 12) == \
            f"troika: {option} is for the model of a name, '{file}' is a file; leave it out"


def zoo():
    return re.search(r"NAME\|FILE REQUIRED +(.*?);", run("model", "--help")).group(1).replace(" or ", ", ").split(", ")


def drawing_of(folder, model, *options):
    """Draws a model and checks the picture. Returns its boxes by name, its edges as (from, to), and its texts."""
    file = folder / "model.svg"
    assert run("model", model, "--svg", file, *options).splitlines()[-1] == f"drawing in {file}"
    root = xml.etree.ElementTree.parse(file).getroot()
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    assert float(root.attrib["width"]) <= 1200 and float(root.attrib["height"]) <= height, root.attrib
    elements = list(root)
    boxes = {}
    for box, name in zip(elements, elements[1:]):
        if box.attrib.get("class") != "layer":
            continue
        x, y, w, h = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        assert 0 <= x and x + w <= width and 0 <= y and y + h <= height, (name.text, box.attrib)
        boxes[name.text] = (x, y, x + w, y + h)
    # Boxes neither overlap nor touch.
    for (a, (left, top, right, bottom)), (b, (x, y, end, low)) in itertools.combinations(boxes.items(), 2):
        assert right < x or end < left or bottom < y or low < top, (a, b)
    edges, segments = [], set()
    for path in root.iter(f"{SVG}path"):
        if path.attrib.get("class") == "edge":
            edges.append(tuple(path.find(f"{SVG}title").text.split(" to ")))
            segments |= {(*edges[-1], *segment) for segment in follow(path.attrib["d"], *edges[-1], boxes)}
    refuse_shared_lines(segments)
    return boxes, edges, [element.text for element in root.iter(f"{SVG}text")]


def follow(path, begin, end, boxes):
    """A line begins below one box, ends at the upper side of another, and crosses none. Returns its segments."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
    points = list(zip(numbers[::2], numbers[1::2]))
    assert boxes[begin][0] < points[0][0] < boxes[begin][2] and abs(points[0][1] - boxes[begin][3]) < 0.11, (path, begin)
    assert boxes[end][0] < points[-1][0] < boxes[end][2] and abs(points[-1][1] - boxes[end][1]) < 0.11, (path, end)
    for (x, y), (to_x, to_y) in zip(points, points[1:]):
        assert to_y >= y, path
        for name, (left, top, right, bottom) in boxes.items():
            is_beside = max(x, to_x) < left or min(x, to_x) > right
            assert is_beside or to_y < top + 0.11 or y > bottom - 0.11, (path, name)
    return [(*a, *b) for a, b in zip(points, points[1:])]


def refuse_shared_lines(segments):
    """Lines of different layers to different layers may cross, but none runs along another."""
    along = {}
    for begin, end, x, y, to_x, to_y in segments:
        if y == to_y:
            along.setdefault(("row", y), []).append((min(x, to_x), max(x, to_x), begin, end))
        if x == to_x:
            along.setdefault(("column", x), []).append((y, to_y, begin, end))
    for place, runs in along.items():
        for (low, high, begin, end), (other_low, other_high, other_begin, other_end) in itertools.combinations(runs, 2):
            shared = min(high, other_high) - max(low, other_low)
            assert begin == other_begin or end == other_end or shared < 1, (place, begin, end, other_begin, other_end)


def model_draws_every_model_of_the_zoo(folder):
    assert len(zoo()) >= 8, zoo()
    for model in zoo():
        lines = [line.split() for line in run("model", model).splitlines()[2:-1]]
        boxes, edges, texts = drawing_of(folder, model)
        assert list(boxes) == [line[0] for line in lines] + ["output"], model
        assert texts[0] == model and "parameters, " in texts[1], texts[:2]
        for name, kind, shape, *_ in lines:
            assert sum(end == name for _, end in edges) == {"input": 0, "sum": 2}.get(kind, 1), (model, name)
            place = texts.index(name)
            assert texts[place + 1] == kind and any(text.startswith(shape) for text in texts[place:place + 4]), (model, name)
        # The longest path is one column.
        assert boxes[lines[0][0]][0] == boxes["output"][0] and sum(end == "output" for _, end in edges) == 1
    boxes, edges, texts = drawing_of(folder, "resnet50", "--classes", 7)
    for block, before in (("layer1.1", "layer1.0.relu3"), ("layer4.2", "layer4.1.relu3")):
        assert {(f"{block}.bn3", f"{block}.add"), (before, f"{block}.add"), (before, f"{block}.conv1")} <= set(edges), block
    assert boxes["layer2.0.downsample.0"][1] == boxes["layer2.0.conv1"][1], "branches begin side by side"
    assert texts[texts.index("layer2.0.conv2"):][:5] == ["layer2.0.conv2", "conv2d", "3x3, stride 2x2, padding 1x1, no bias",
                                                         "128x28x28", "147,456 parameters"]


def write_model(file, lines, parameters):
    """Writes a model file without checksums; `parameters` has shapes by name. All values are 0."""
    header, end = {"__metadata__": {"format": "pt", "model": "net", "troika.model": "model 1 \"net\" {\n  initializer pytorch\n" +
                                    "".join(f"  {line}\n" for line in lines) + "}\n"}}, 0
    for name, (rows, columns) in parameters.items():
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [end, end + 4 * rows * columns]}
        end += 4 * rows * columns
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))
    return file


def a_header_whose_size_begins_as_a_pickle_does_is_read(folder):
    file = folder / "net.safetensors"
    for length in range(640):
        layers = [f'%{index + 1} : f32[3] = relu(%{index}) "{index}{"n" * (length // 4)}" {{}}' for index in range(4)]
        write_model(file, ['%0 : f32[3] = input() "x" {dtype="f32", shape=[3]}', *layers, "return %4"], {})
        if file.read_bytes().startswith(b"\x80\2"):  # the header has 640 bytes
            break
    assert file.read_bytes().startswith(b"\x80\2")
    assert run("model", file).startswith("net: 3 to 3; ")
    assert "model: net, 5 layers" in run("inspect", file)


def model_draws_any_wiring(folder):
    file = folder / "net.safetensors"
    seed = random.randrange(2 ** 32)
    print(f"  seed {seed}", flush=True)
    draw = random.Random(seed)
    for _ in range(12):
        lines, expected, reach = ['%0 : f32[3] = input() "x" {dtype="f32", shape=[3]}'], [], draw.choice((2, 4, 40))
        names = ["x"]
        for index in range(1, draw.randrange(2, 45)):
            kind, count = draw.choice((("relu", 1), ("sum", 2), ("product", 2)))
            inputs = [draw.randrange(max(0, index - reach), index) for _ in range(count)]
            names.append(draw.choice(("a", "block.inner", "\u00e9 & <b>")) + f".{index}")
            read = ", ".join(f"%{value}" for value in inputs)
            lines.append(f'%{index} : f32[3] = {kind}({read}) "{names[-1]}" {{}}')
            expected += [(names[value], names[-1]) for value in inputs]
        output = draw.randrange(1, len(lines))
        lines.append(f"return %{output}")
        boxes, edges, _ = drawing_of(folder, write_model(file, lines, {}))
        assert list(boxes) == names + ["output"], lines
        assert sorted(edges) == sorted(expected + [(names[output], "output")]), lines


def model_draws_long_names_wide_joins_and_shared_parameters(folder):
    name = "n" * 200
    lines = ['%0 : i32[5] = input() "x" {dtype="i32", shape=[5]}', '%1 : f32[5, 3] = embedding(%0) "e" {features=3, words=7}']
    lines += [f'%{index} : f32[5, 3] = tanh(%1) "branch{index}" {{}}' for index in range(2, 13)]
    lines += [f'%13 : f32[5, 33] = concat({", ".join(f"%{index}" for index in range(2, 13))}) "join" {{axis=2}}',
              '%14 : f32[5, 3] = slice(%13) "part" {axis=2, begin=1, end=4}',
              f'%15 : f32[5, 7] = linear_per_position(%14) "{name}" {{bias=0, out_features=7, shared_weight="e.weight"}}', "return %15"]
    boxes, edges, texts = drawing_of(folder, write_model(folder / "net.safetensors", lines, {"e.weight": (7, 3)}))
    assert {edge for edge in edges if edge[1] == "join"} == {(f"branch{index}", "join") for index in range(2, 13)}
    assert len({boxes[f"branch{index}"][1] for index in range(2, 13)}) == 1, "branches are side by side"
    for text in (name, "shared weight e.weight, no bias", "axis 2, begin 1, end 4", "5 i32", "21 parameters", "words 7"):
        assert text in texts, (text, texts)
    root = xml.etree.ElementTree.parse(folder / "model.svg").getroot()
    squeezed = {element.text: float(element.attrib["textLength"]) for element in root.iter(f"{SVG}text") if "textLength" in element.attrib}
    assert list(squeezed) == [name] and squeezed[name] < boxes[name][2] - boxes[name][0], squeezed


def model_refuses_files_that_cannot_have_the_drawing(folder):
    assert refuse("model", "mlp", "--svg", folder / "none" / "a.svg").startswith(f"troika: file '{folder}/none/a.svg'")
    assert refuse("model", "mlp", "--svg", "") == "troika: --svg is ''; give a file, such as model.svg"
    file = write_model(folder / "net.safetensors", ['%0 : f32[3] = input() "x" {dtype="f32", shape=[3]}',
                                                    '%1 : f32[3] = relu(%0) "r" {}', "return %1"], {})
    before = file.read_bytes()
    assert refuse("model", file, "--svg", file) == f"troika: --svg is '{file}'; give another file than the model's"
    assert file.read_bytes() == before
    assert "alexnet" in refuse("model", "alexnet", "--svg", folder / "model.svg")
    assert not (folder / "model.svg").exists()


def predictions_of(*arguments):
    return list(csv.DictReader(io.StringIO(run("predict", *arguments))))


def predict_agrees_with_the_evaluation(folder):
    out = folder / "run"
    run("train", "--model", "mlp", "--synthetic", 400, "--limit-test", 70, "--batch", 32, "--lr", 0.01, "--epochs", 2, "--out", out,
        "--progress", "off")
    rows = predictions_of(out, "--top", 10)
    assert [int(row["row"]) for row in rows] == list(range(70))
    for row in rows:
        probabilities = [float(row[f"probability{i}"]) for i in range(1, 11)]
        assert abs(sum(probabilities) - 1) < 2e-5 and probabilities == sorted(probabilities, reverse=True), row
        assert sorted(int(row[f"class{i}"]) for i in range(1, 11)) == list(range(10)), row
    right = sum(row["label"] == row["class1"] for row in rows)
    assert abs(right / 70 - float(rows_of(out)[-1]["test_accuracy"])) < 1e-6, right
    some = predictions_of(out, "--first", 40, "--count", 5, "--top", 2)
    assert some == [{key: rows[40 + i][key] for key in some[0]} for i in range(5)], some
    assert [row["row"] for row in predictions_of(out, "--first", 68, "--count", 2 ** 63 - 1)] == ["68", "69"]
    run("predict", out, "--csv", folder / "all.csv", "--top", 10)
    assert list(csv.DictReader((folder / "all.csv").open(encoding="utf-8"))) == rows
    assert len(predictions_of(out, "--split", "train")) == 400
    assert [row["class1"] for row in predictions_of("--weights", out / "weights.safetensors", "--model", "mlp", "--synthetic", 400,
                                                    "--limit-test", 70)] == [row["class1"] for row in rows]
    for option, value, rest in (("--top", 11, "is 11; give 1 to 10"), ("--top", -1, "is -1; give 1 to 10"),
                                ("--first", 70, "is 70; give less than 70, the number of samples"),
                                ("--split", "all", "is 'all'; give test or train"),
                                ("--devices", "cpu:0,cpu:1", "is 'cpu:0,cpu:1'; give one device, such as cpu:0")):
        assert refuse("predict", out, option, value) == f"troika: {option} {rest}"
    # Predictions are computed in f32.
    assert refuse("predict", out, "--precision", "bf16").startswith("troika: predict has no option '--precision'")


def compare_draws_the_curves_of_several_runs(folder):
    names = []
    for index, rate in enumerate((0.001, 0.01, 0.05)):
        names.append(folder / f"run{index}")
        run("train", "--model", "mlp", "--synthetic", 300, "--batch", 50, "--lr", rate, "--epochs", index + 2, "--out", names[-1],
            "--progress", "off")
    picture = folder / "runs.svg"
    lines = run("compare", *names, "--svg", picture).splitlines()
    assert len(lines) == 5 and lines[-1] == f"test_accuracy in {picture}", lines
    assert lines[1].endswith("mlp, batch 50, sgd, lr 0.001, cpu:0"), lines
    for index, name in enumerate(names):
        rows = rows_of(name)
        cells = lines[1 + index].split()
        best = max(float(row["test_accuracy"]) for row in rows)
        assert cells[:2] == [str(name), str(index + 2)] and cells[4] == f"{best:.4f}", (cells, rows)
        assert cells[2:4] == [f"{float(rows[-1]['test_loss']):.4f}", f"{float(rows[-1]['test_accuracy']):.4f}"], cells
    root = xml.etree.ElementTree.parse(picture).getroot()
    curves = [path for path in root.iter(f"{SVG}path") if path.attrib.get("stroke-width") == "2.2"]
    assert len(curves) == 3 and len({path.attrib["stroke"] for path in curves}) == 3, curves
    texts = {element.text: element.attrib for element in root.iter(f"{SVG}text")}
    for name in names:  # a long name is squeezed, not cut
        at = texts[str(name)]
        room = float(at.get("textLength", 7.6 * len(str(name))))
        assert float(at["x"]) + room <= 720, at
    run("compare", names[2], "--metric", "loss", "--svg", picture)
    root = xml.etree.ElementTree.parse(picture).getroot()
    losses = [float(row["loss"]) for row in rows_of(names[2])]
    ticks = [float(element.text) for element in root.iter(f"{SVG}text")
             if element.attrib.get("class") == "tick" and element.attrib.get("text-anchor") == "end"]
    assert min(ticks) <= min(losses) and max(losses) <= max(ticks), (ticks, losses)
    (names[0] / "metrics.csv").unlink()
    assert refuse("compare", *names, "--svg", picture) == f"troika: '{names[0]}' has no epochs in metrics.csv yet"
    assert "--metric is 'speed'; give test_accuracy, train_accuracy, " in refuse("compare", names[0], "--metric", "speed")
    assert "is not a run folder" in refuse("compare", folder)


def complete(*words):
    """Returns what bash offers after these words of a command line."""
    if shutil.which("bash") is None:
        raise Skip("there is no bash")
    script = f'source "{ROOT}/src/cli/completion/troika"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _troika; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", script, "bash", TOOL, *words], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                          check=True).stdout.split()


def bash_completes_commands_options_and_models(folder):
    if IS_WINDOWS:
        raise Skip("bash is not the shell of Windows")
    assert complete("tr") == ["train"], complete("tr")
    assert {"train", "evaluate", "predict", "compare", "model", "help"} <= set(complete(""))
    assert sorted(complete("train", "--ep")) == ["--epochs", "--eps"]
    assert complete("evaluate", "--dev") == ["--device", "--devices"]
    assert complete("bench", "--model", "resnet5") == ["resnet50"]
    assert complete("model", "d2l_l") == ["d2l_lenet"]
    assert complete("help", "tr") == ["train"]
    assert sorted(complete("model", "mlp", "--s")) == ["--size", "--svg"]


def manual_pages_are_made_from_the_help(folder):
    if IS_WINDOWS:
        raise Skip("Windows has other processes, and so another help")
    subprocess.run([sys.executable, ROOT / "docs" / "tools" / "man-pages", TOOL, folder], timeout=TIME_LIMIT_S, check=True)
    written = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    kept = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "docs" / "man").glob("*.1")}
    other = sorted(name for name in written.keys() | kept.keys() if written.get(name) != kept.get(name))
    assert not other, f"{other} differ: run docs/tools/man-pages build/troika docs/man"
    listed = re.findall(r"'(\S+\.1)'", (ROOT / "docs" / "man" / "meson.build").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(kept), listed
    if shutil.which("man"):
        shown = subprocess.run(["man", "-l", str(folder / "troika-train.1")], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                               env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}, check=False)
        assert shown.returncode != 0 or "--drop-last" in re.sub(r".\x08", "", shown.stdout), shown


if __name__ == "__main__":
    run_tests(globals())
