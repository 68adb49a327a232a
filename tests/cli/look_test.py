"""Tests of the commands that look at models and runs, of completion and of the manual pages.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import csv
import io
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from tool import IS_WINDOWS, SMALL, TIME_LIMIT_S, TOOL, Skip, refuse, rows_of, run, run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
    for option, value, rest in (("--top", 11, "is 11; give 1 to 10"), ("--top", 0, "is 0; give 1 to 10"),
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
    for index, name in enumerate(names):
        rows = rows_of(name)
        cells = lines[1 + index].split()
        best = max(float(row["test_accuracy"]) for row in rows)
        assert cells[:2] == [str(name), str(index + 2)] and cells[4] == f"{best:.4f}", (cells, rows)
        assert cells[2:4] == [f"{float(rows[-1]['test_loss']):.4f}", f"{float(rows[-1]['test_accuracy']):.4f}"], cells
    root = xml.etree.ElementTree.parse(picture).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    curves = [path for path in root.iter(f"{svg}path") if path.attrib.get("stroke-width") == "2.2"]
    assert len(curves) == 3 and len({path.attrib["stroke"] for path in curves}) == 3, curves
    texts = {element.text: element.attrib for element in root.iter(f"{svg}text")}
    for name in names:  # a long name is squeezed, not cut
        at = texts[str(name)]
        room = float(at.get("textLength", 7.6 * len(str(name))))
        assert float(at["x"]) + room <= 720, at
    run("compare", names[2], "--metric", "loss", "--svg", picture)
    root = xml.etree.ElementTree.parse(picture).getroot()
    losses = [float(row["loss"]) for row in rows_of(names[2])]
    ticks = [float(element.text) for element in root.iter(f"{svg}text")
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
