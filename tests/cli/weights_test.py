"""Tests of weights that begin a run: files of other programs, models in files, frozen parameters.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import json
import os
import pathlib
import re
import struct
import subprocess

from tool import TIME_LIMIT_S, TOOL, refuse, rows_of, run, run_tests, same_files, with_slashes, write_cifar, write_idx

MLP = ["--model", "mlp", "--synthetic", 300, "--batch", 50, "--seed", 2, "--progress", "off"]


def parameters_of(file):
    """Returns the tensors of a safetensors file: bytes by name."""
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in sorted(header.items()) if name != "__metadata__"}


def write_renamed(source, target, rules):
    """Writes a weights file as another program would, with names after (pattern, name) rules."""
    def renamed(name):
        for pattern, other in rules:
            name = re.sub(pattern, other, name)
        return name

    data = source.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.dumps({renamed(name): entry for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"})
    header += " " * (-len(header) % 8)
    target.write_bytes(len(header).to_bytes(8, "little") + header.encode() + data[8 + size:])


def weights_with_other_names_begin_a_run(folder):
    run("train", *MLP, "--lr", 0.1, "--epochs", 1, "--out", folder / "first")
    weights, renamed = folder / "first" / "weights.safetensors", folder / "renamed.safetensors"
    write_renamed(weights, renamed, [(r"^fc1\.", "encoder.0.")])
    begin = ["train", *MLP, "--lr", 0, "--epochs", 1, "--weights", renamed]
    assert "missing ('fc1.weight'" in refuse(*begin, "--out", folder / "none")
    run(*begin, "--name-map", "encoder.0.*=fc1.*", "--out", folder / "same")
    assert parameters_of(folder / "same" / "weights.safetensors") == parameters_of(weights)
    line = refuse(*begin, "--name-map", "encoder", "--out", folder / "none2")
    assert line == "troika: name map: 'encoder' is no rule, needs 'name in file=name in model', d2l or torchvision", line
    score = run("evaluate", *MLP[:4], "--weights", renamed, "--name-map", "encoder.0.*=fc1.*").split("  ")[:3]
    assert score == run("evaluate", *MLP[:4], "--weights", weights).split("  ")[:3]


def a_run_begins_from_weights_and_freezes_some(folder):
    run("train", *MLP, "--lr", 0.1, "--epochs", 2, "--out", folder / "first")
    weights = folder / "first" / "weights.safetensors"
    before = parameters_of(weights)
    run("train", *MLP, "--lr", 0, "--epochs", 1, "--weights", weights, "--out", folder / "same")
    assert parameters_of(folder / "same" / "weights.safetensors") == before
    run("train", *MLP, "--lr", 0.1, "--epochs", 1, "--weights", weights, "--freeze", "fc1.*", "--out", folder / "tuned")
    after = parameters_of(folder / "tuned" / "weights.safetensors")
    assert [name for name in before if before[name] != after[name]] == ["fc2.bias", "fc2.weight"]
    # The frozen part stays so on resuming, and the file is no longer needed.
    weights.unlink()
    run("train", "--resume", folder / "tuned", "--epochs", 2, "--progress", "off")
    assert parameters_of(folder / "tuned" / "weights.safetensors")["fc1.weight"] == before["fc1.weight"]
    assert refuse("train", "--resume", folder / "tuned", "--epochs", 3, "--weights", folder / "other") == \
        f"troika: --weights {folder / 'other'} contradicts the run, which has {weights}; leave it out, or begin a new run with --out"
    run("train", "--resume", folder / "tuned", "--epochs", 3, "--weights", weights, "--progress", "off")  # as a launcher does
    assert "contradicts the run, which has \"\"; " in refuse("train", "--resume", folder / "same", "--strip-prefix", "a.", "--weights", weights)
    line = refuse("train", *MLP, "--lr", 0.1, "--freeze", "fc9*", "--out", folder / "none")
    assert "fc9*" in line, line
    assert refuse("train", *MLP, "--freeze", "fc1.*", "--train-only", "fc2.*", "--out", folder / "none") == \
        "troika: --train-only freezes all other parameters; leave out --freeze"


def weights_for_other_classes_fit_except_the_last_layer(folder):
    run("train", *MLP, "--lr", 0.1, "--epochs", 1, "--classes", 17, "--out", folder / "wide")
    weights = folder / "wide" / "weights.safetensors"
    text = with_slashes(run("train", *MLP[:-2], "--lr", 0, "--epochs", 1, "--weights", weights, "--out", folder / "run"))
    assert f"warning: '{weights}' has another number of classes: these begin anew: fc2.weight, fc2.bias\n" in text, text
    wide, own = parameters_of(weights), parameters_of(folder / "run" / "weights.safetensors")
    assert own["fc1.weight"] == wide["fc1.weight"] and len(own["fc2.bias"]) == 40 and len(wide["fc2.bias"]) == 68
    run("train", *MLP, "--lr", 0, "--epochs", 1, "--out", folder / "fresh")
    assert own["fc2.weight"] == parameters_of(folder / "fresh" / "weights.safetensors")["fc2.weight"]
    assert "does not fit model" in refuse("train", "--model", "d2l_lenet", "--synthetic", 100, "--weights", weights, "--out", folder / "none")


def parameters_have_rates_of_their_own(folder):
    for name, rates, moved in (("first", "fc1.*=0", ["fc2.bias", "fc2.weight"]),
                               ("biases", "fc1.weight=0,fc2.weight=0", ["fc1.bias", "fc2.bias"])):
        run("train", *MLP, "--lr", 0, "--epochs", 1, "--out", folder / f"{name}0")
        run("train", *MLP, "--lr", 0.1, "--lr-of", rates, "--epochs", 1, "--out", folder / name)
        before, after = (parameters_of(folder / run_of / "weights.safetensors") for run_of in (f"{name}0", name))
        assert [entry for entry in before if before[entry] != after[entry]] == moved, name
    for wrong in ("fc1.*", "fc1.*=", "=1", "fc1.*=fast", "fc1.*=-1"):
        assert refuse("train", *MLP, "--lr-of", wrong, "--out", folder / "none") == \
            f"troika: --lr-of is '{wrong}'; give PATTERN=RATE, such as 'fc.*=0.001'"


def tensors_of(file):
    """Returns the tensors of a safetensors file: numbers by name."""
    return {name: struct.unpack(f"<{len(data) // 4}f", data) for name, data in parameters_of(file).items()}


def weights_for_colours_fit_grey_images(folder):
    colours = write_cifar(folder / "cifar", [0, 3, 9] * 10, [0, 3, 9])
    grey = write_idx(folder / "grey", [0, 1, 2] * 10, [0, 1, 2])
    begin = ["--model", "resnet18", "--epochs", 1, "--batch", 30, "--lr", 0, "--progress", "off"]
    run("train", *begin, "--data", colours, "--limit-train", 6, "--classes", 12, "--out", folder / "colours")
    weights = folder / "colours" / "weights.safetensors"
    text = run("train", *begin[:-2], "--data", grey, "--resize", 32, "--weights", weights, "--out", folder / "run")
    assert "these begin anew: fc.weight, fc.bias" in text, text
    before, after = tensors_of(weights), tensors_of(folder / "run" / "weights.safetensors")
    assert len(after["conv1.weight"]) == 64 * 49
    for at in range(0, 64 * 49, 97):
        output, pixel = divmod(at, 49)
        assert abs(after["conv1.weight"][at] - sum(before["conv1.weight"][(3 * output + c) * 49 + pixel] for c in range(3))) < 1e-6
    assert after["layer4.1.conv2.weight"] == before["layer4.1.conv2.weight"]
    line = refuse("train", *begin, "--data", colours, "--weights", folder / "run" / "weights.safetensors", "--out", folder / "none")
    assert "conv1.weight: file F32 [64, 1, 7, 7], model F32 [64, 3, 7, 7]" in line, line


def a_model_in_a_file_is_trained_and_evaluated(folder):
    data = write_idx(folder / "data", [0, 1, 2] * 20, [0, 1, 2])
    run("train", "--model", "mlp", "--data", data, "--classes", 4, "--epochs", 2, "--lr", 0.1, "--out", folder / "first", "--progress", "off")
    model = folder / "own.safetensors"
    (folder / "first" / "weights.safetensors").rename(model)
    begin = ["train", "--batch", 20, "--lr", 0.1, "--progress", "off", "--model", model, "--data", data]
    run(*begin, "--epochs", 2, "--out", folder / "whole")
    run(*begin, "--epochs", 1, "--shares", "auto", "--out", folder / "run")
    other = folder / "other.safetensors"
    model.rename(other)  # the run has the layers itself
    run("train", "--resume", folder / "run", "--epochs", 2, "--progress", "off")
    same_files(folder / "run", folder / "whole", "weights.safetensors")
    assert ">own.safetensors on cpu:0<" in (folder / "run" / "accuracy.svg").read_text()
    row = rows_of(folder / "run")[-1]
    told = f"loss {float(row['test_loss']):.4f}  accuracy {float(row['test_accuracy']):.4f}  3 samples"
    weights = folder / "run" / "weights.safetensors"
    for given in ([folder / "run"], ["--weights", weights, "--data", data], ["--model", weights, "--data", data],
                  ["--model", other, "--weights", weights, "--data", data]):
        assert run("evaluate", *given).startswith(told), given
    assert run("predict", folder / "run") == run("predict", "--model", weights, "--data", data)
    run("train", "--resume", folder / "run", "--epochs", 3, "--shares", "auto", "--progress", "off")
    begin[-3] = other
    wide = write_idx(folder / "wide", [0, 1, 7] * 20, [0, 1, 7])
    assert refuse(*begin[:-1], wide, "--out", folder / "none") == \
        f"troika: '{other}' has 4 outputs, the labels need 8; give the data that it is for"
    assert refuse(*begin, "--resize", 9, "--out", folder / "none") == \
        f"troika: '{other}' reads samples of 1x4x4, the data have samples of 1x9x9; give others with --data, or --resize"
    assert refuse(*begin, "--classes", 4, "--out", folder / "none") == \
        f"troika: --classes is 4, '{other}' is a file with its own outputs; leave --classes out"
    assert "gone.safetensors" in refuse(*begin[:-3], folder / "gone.safetensors", "--data", data, "--out", folder / "none")


def a_model_file_may_have_a_relative_name_without_an_ending(folder):
    data = write_idx(folder / "data", [0, 1, 2] * 20, [0, 1, 2])
    run("train", "--model", "mlp", "--data", data, "--epochs", 1, "--out", folder / "first", "--progress", "off")
    (folder / "first" / "weights.safetensors").rename(folder / "own")
    (folder / "mlp").write_text("no model")  # a name of the zoo is none of a file
    def train(*arguments, **variables):
        subprocess.run([pathlib.Path(TOOL).resolve(), "train", *map(str, arguments), "--progress", "off"], check=True, cwd=folder,
                       env={**os.environ, **variables}, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S)
    train("--model", "first/../own", "--data", data, "--epochs", 1, "--out", "run")
    assert with_slashes(json.loads((folder / "run" / "run.json").read_text())["model"]) == str(folder / "own")
    train("--model", "own", "--data", data, "--epochs", 2, "--out", "run", TROIKA_RESTART="1")
    train("--resume", "run", "--model", "own", "--epochs", 3)
    (folder / "own").unlink()
    train("--resume", "run", "--epochs", 4)
    assert len(rows_of(folder / "run")) == 4
    assert run("evaluate", folder / "run").split("  ")[2] == "3 samples"
    train("--model", "mlp", "--data", data, "--epochs", 1, "--out", "other")


def weights_of_another_program_hint_at_its_name_map(folder):
    data = write_cifar(folder / "cifar", [0, 3, 9] * 2, [0, 3, 9])
    begin = ["--data", data, "--batch", 6, "--epochs", 1, "--lr", 0, "--progress", "off"]
    run("train", *begin, "--model", "d2l_resnet18", "--out", folder / "run")
    file = folder / "tutorial.safetensors"
    rules = ((r"^conv1\.", "0."), (r"^bn1\.", "1."), ("^layer", "resnet_block"), ("downsample", "conv3"), (r"^fc\.", "fc.1."))
    write_renamed(folder / "run" / "weights.safetensors", file, rules)
    line = refuse("train", *begin, "--model", "d2l_resnet18", "--weights", file, "--out", folder / "none")
    assert line.endswith("; its names fit with --name-map d2l"), line
    line = refuse("train", *begin, "--model", "d2l_resnet18", "--classes", 12, "--weights", file, "--out", folder / "none")
    assert line.endswith("; its names fit with --name-map d2l"), line
    run("train", *begin, "--model", "d2l_resnet18", "--weights", file, "--name-map", "d2l", "--out", folder / "same")
    wrapped = folder / "wrapped.safetensors"
    write_renamed(file, wrapped, ((r"^", "module."),))
    line = refuse("train", *begin, "--model", "d2l_resnet18", "--weights", wrapped, "--out", folder / "none")
    assert line.endswith("; its names fit with --strip-prefix module. --name-map d2l"), line


if __name__ == "__main__":
    run_tests(globals())
