"""Tests of the tool's commands, options and messages.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import json
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import zipfile

from tool import (Skip, SMALL, TIME_LIMIT_S, TOOL, refuse, rows_of, run, run_tests)


def python_with(*modules):
    """Returns a Python that has these modules, or skips the test. One may have them all by the packages of another."""
    pythons = [python for python in (os.environ.get("TROIKA_PYTHON"), sys.executable, "/usr/bin/python3") if python]
    folders = [subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True, capture_output=True,
                              check=False).stdout.strip() for python in pythons]
    for python in pythons:
        for more in ("", *folders):
            environment = {**os.environ, "PYTHONPATH": more}
            if subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, env=environment, check=False).returncode == 0:
                return python, environment
    raise Skip(f"no Python has {' and '.join(modules)}")


def help_names_every_command(folder):
    text = run("--help")
    for command in ("devices", "train", "evaluate", "predict", "compare", "model", "inspect", "bench", "plan", "run", "status"):
        assert command in text, command
        assert "--help" in run(command, "--help")


def help_lists_every_model(folder):
    names = refuse("train", "--model", "none", "--synthetic", 10, "--out", folder / "run").split("it has ")[1].split(", ")
    assert "resnet34" in names and "resnet50" in names, names
    for command in ("train", "evaluate", "predict", "model", "bench", "plan"):
        text = " ".join(run(command, "--help").split())
        assert f"{', '.join(names[:-1])} or {names[-1]}" in text, text


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
    assert refuse("train", "--synthetic", 100, "--out", folder / "run", "--fast") == \
        "troika: train has no option '--fast'; see 'troika train --help'"


def an_option_that_is_given_twice_is_refused(folder):
    assert refuse("bench", "--model", "mlp", "--batch", 8, "--steps", 1, "--batch", 16) == \
        "troika: --batch is given 2 times; give it once; see 'troika bench --help'"
    assert refuse("evaluate", "--device", "cpu:0", "--devices", "cpu:1").startswith("troika: --device is given 2 times; give it once; ")


def a_mistyped_word_is_guessed(folder):
    for words, typed, meant in ((["train", "--epoch", 3], "--epoch", "--epochs"),
                                (["train", "--batchsize=3"], "--batchsize", "--batch"),
                                (["train", "--limit-trian", 3], "--limit-trian", "--limit-train"),
                                (["bench", "--modle", "mlp"], "--modle", "--model"),
                                (["plan", "--model", "mlp", "--recompute-segment", 2], "--recompute-segment", "--recompute-segments")):
        assert refuse(*words) == f"troika: {words[0]} has no option '{typed}'; did you mean '{meant}'; see 'troika {words[0]} --help'"
    assert refuse("trian") == "troika: there is no command 'trian'; did you mean 'train'; see 'troika --help'"
    assert refuse("plan", "--model", "mlp", "mlp") == "troika: plan takes no argument 'mlp'; see 'troika plan --help'"
    for typed, meant in (("ResNet50", "resnet50"), ("lenet", "d2l_lenet"), ("resnet-18", "resnet18"), ("resnet", "resnet9")):
        for command in (["train", "--out", folder / "run", "--synthetic", 10], ["bench"], ["plan"]):
            line = refuse(*command, "--model", typed)
            assert line.startswith(f"troika: --model is '{typed}'; did you mean '{meant}'; there are d2l_lenet, "), line
    assert refuse("model", "lenet").startswith("troika: the model is 'lenet'; did you mean 'd2l_lenet'; there are d2l_lenet, ")
    assert not (folder / "run").exists()


def help_is_a_command_and_v_an_option(folder):
    assert run("help") == run("--help")
    assert run("help", "train") == run("train", "--help")
    assert run("-v") == run("--version")


def errors_of_the_library_name_options_of_the_tool(folder):
    base = ["bench", "--model", "d2l_lenet", "--batch", 8]
    assert refuse(*base, "--layer-chunks", 2) == "troika: --layer-chunks is 2; give 1, or --layer-schedule interleaved"
    assert refuse(*base, "--layer-cuts", "fc1") == \
        "troika: --layer-cuts is 'fc1', --mesh is not given; give a --mesh that splits by layer, such as 1x2x1"
    for options in (["--logical-shards", 3], ["--logical-shards", 2, "--micro-batches", 2], ["--recompute-layers", "conv9"]):
        line = refuse(*base, *options)
        assert re.search(r"--[a-z]+-[a-z]+", line) and not re.search(r"[a-z]_[a-z]+ is|options\.|TROIKA_|troika_", line), line


def sizes_have_units(folder):
    base = ["bench", "--model", "d2l_resnet18", "--batch", 4, "--steps", 1, "--windows", 1]
    assert "--activation-budget is 1000; allow more" in refuse(*base, "--activation-budget", "1kB")
    run(*base, "--activation-budget", "20MB")
    for command, option in ((base, "--activation-budget"), (["plan", "--model", "mlp"], "--memory"),
                            (["train", "--model", "mlp", "--out", folder / "run"], "--bucket-bytes")):
        assert refuse(*command, option, "3XB") == f"troika: {option} is '3XB'; give bytes, such as 80GB, 80GiB or 512MB"


def batches_that_batch_norm_cannot_normalise_are_refused_at_the_start(folder):
    base = ["train", "--model", "d2l_resnet18_stem7", "--synthetic", 257, "--progress", "off", "--threads", 1, "--epochs", 1]
    for options, rest in ((["--batch", 64], "; give --drop-last, or --batch 65"),
                          (["--batch", 32, "--devices", "cpu:0,cpu:1", "--limit-train", 130], "; give --drop-last, or --batch 33"),
                          (["--batch", 4, "--devices", "cpu:0,cpu:1,cpu:2", "--limit-train", 12], "; give at least 6")):
        line = refuse(*base, *options, "--out", folder / "run")
        assert "batch_norm2d 'layer4.0.bn1'" in line and line.endswith(rest), line
    assert not (folder / "run").exists()
    short = [*base, "--limit-train", 17, "--limit-test", 4, "--batch", 8]
    run(*short, "--drop-last", "--out", folder / "dropped")
    assert rows_of(folder / "dropped")[0]["step"] == "2"
    run(*short[:-1], 5, "--out", folder / "near")  # batches of 5, 5, 5 and 2
    assert rows_of(folder / "near")[0]["step"] == "4"
    run("train", "--resume", folder / "dropped", "--epochs", 2, "--progress", "off")
    assert rows_of(folder / "dropped")[1]["step"] == "4"
    line = refuse("train", "--model", "mlp", "--synthetic", 100, "--batch", 101, "--drop-last", "--out", folder / "none")
    assert line == "troika: --drop-last leaves no step: there are 100 training samples, --batch is 101; give less", line


def options_that_do_less_than_they_say_are_reported(folder):
    text = run("train", "--model", "mlp", "--synthetic", 100, "--epochs", 1, "--warmup", 1000, "--lr", 0.1, "--limit-train", 1000,
               "--limit-test", 500, "--out", folder / "run")
    assert "; 1 step of 100 an epoch\n" in text, text
    assert [line for line in text.splitlines() if line.startswith("warning: ")] == [
        "warning: --batch is 256, there are 100 training samples: each step has all of them",
        "warning: --warmup is 1000 steps, the run has 1: the rate does not reach --lr 0.1",
        "warning: --limit-train is 1000, there are 100 samples",
        "warning: --limit-test is 500, there are 20 samples"], text
    assert "warning" not in run("train", *SMALL, "--epochs", 1, "--out", folder / "small")


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
            (train, "--schedule", "foo", "is 'foo'; give constant, step, cosine, multi-step, exponential, polynomial, one-cycle or plateau"),
            (train, "--lr", "abc", "is 'abc'; give a number"),
            (train, "--lr", "-1", "is -1; give a number of at least 0"),
            (train, "--lr", "nan", "is 'nan'; give a number"),
            (train, "--optimizer", "magic", "is 'magic'; give sgd, adam, adamw, rmsprop, lars, lamb or adagrad"),
            (train, "--milestones", "3,x", "is '3,x'; give epochs in order, separated by commas"),
            (train, "--milestones", "3,1", "is '3,1'; give epochs in order, separated by commas"),
            (train, "--average-decay", "1", "is 1; give at least 0 and below 1"),
            (train, "--momentum", "1.5", "is 1.5; give at least 0 and below 1"),
            (train, "--label-smoothing", "1", "is 1; give at least 0 and below 1"),
            (train, "--batch", "0", "is 0; give at least 1"),
            (train, "--batch", "many", "is 'many'; give a whole number of at most 2147483647"),
            (train, "--batch", "2147483648", "is '2147483648'; give a whole number of at most 2147483647"),
            (train, "--seed", "-1", "is '-1'; give a whole number from 0 to 18446744073709551615"),
            (train, "--lr", "inf", "is inf; give a number below 1e+30"),
            (train, "--weight-decay", "inf", "is inf; give a number below 1e+30"),
            (train, "--max-gradient-norm", "-1", "is -1; give a number of at least 0"),
            (train, "--schedule-period", "inf", "is inf; give a number below 1e+09"),
            (bench, "--epochs", "-1", "is -1; give at least 0"),
            (train, "--threads", "100000", "is 100000; give 1 to 4096, or 0 for every core"),
            (train, "--std", "0", "is 0; give a finite number above 0"),
            (train, "--mean", "nan", "is nan; give a finite number"),
            (train, "--resize", "100000", "is 100000; give at most 65535"),
            (train, "--devices", "", "is ''; give devices, such as cpu:0,cpu:1, or all"),
            (train, "--eval-devices", "", "is ''; give devices, such as cpu:0,cpu:1, or all"),
            (train, "--classes", "9", "is 9; give at least 10, as many as the labels need"),
            (train, "--save-every", "-1", "is -1; give at least 1, or 0 for epoch ends only"),
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
            (train, "--recompute-segments", "-1", "is -1; give at least 0"),
            (bench, "--activation-budget", "-1", "is -1; give at least 0"),
            (bench, "--mesh", "2x2", "is '2x2'; give data x layer x channel, such as 2x2x1, or auto"),
            (bench, "--mesh", "0x1x1", "is '0x1x1'; give data x layer x channel, such as 2x2x1, or auto"),
            (bench, "--layer-schedule", "2f2b", "is '2f2b'; give gpipe, 1f1b or interleaved"),
            (bench, "--layer-chunks", "0", "is 0; give at least 1"),
            (bench, "--micro-batches", "0", "is 0; give at least 1"),
            (bench, "--logical-shards", "-1", "is -1; give a power of 2, or 0 for none"),
            (bench, "--precision", "f8", "is 'f8'; give f32, tf32, bf16 or f16")):
        assert refuse(*command, option, value) == f"troika: {option} {rest}"
    assert refuse(*train, "--optimizer", "adam", "--momentum", "0.9") == "troika: --optimizer adam has no --momentum"
    assert refuse(*train, "--optimizer", "sgd", "--beta1", "0.9") == "troika: --optimizer sgd has no --beta1"
    assert refuse(*train, "--schedule", "multi-step") == \
        "troika: --schedule multi-step needs --milestones EPOCHS, such as 30,60,80"
    assert refuse(*train, "--nesterov") == "troika: --nesterov needs --momentum above 0"
    for option, value in (("--recompute-segments", 2), ("--recompute-layers", "fc1")):
        assert refuse(*bench, "--activation-budget", 1000000, option, value) == \
            "troika: --activation-budget chooses by itself; leave out --recompute-segments and --recompute-layers"
    assert not (folder / "run").exists()


def inspect_shows_weights_and_checkpoint(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    text = run("inspect", out / "weights.safetensors")
    assert re.search(r"^\S+\.weight F32 \[\d+, \d+\]$", text, re.MULTILINE), text
    assert text.endswith("\nmodel: mlp, 5 layers, [1x28x28] to [10], 406,784 operations per sample\n"
                         "total: 4 tensors, 203,530 parameters, 814,120 bytes\n"), text
    assert "troika.model" not in text, text
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


def evaluate_takes_a_run_as_it_is(folder):
    out = folder / "run"
    run("train", "--model", "mlp", "--synthetic", 200, "--resize", 20, "--mean", 0.3, "--std", 0.5, "--limit-test", 30, "--lr", 0.1,
        "--batch", 16, "--epochs", 2, "--average-decay", 0.5, "--out", out, "--progress", "off")
    row = rows_of(out)[-1]
    expected = f"loss {float(row['test_loss']):.4f}  accuracy {float(row['test_accuracy']):.4f}  30 samples"
    assert run("evaluate", out).startswith(expected)
    assert run("evaluate", "--weights", out).startswith(expected)
    assert not run("evaluate", out, "--weights", out / "weights.safetensors").startswith(expected), "the averages differ"
    assert "  20 samples" in run("evaluate", out, "--limit-test", 20)
    for command in ("evaluate", "predict"):  # also in the run's own folder
        finished = subprocess.run([pathlib.Path(TOOL).resolve(), command, "--weights", "average.safetensors", "--model", "mlp",
                                   "--synthetic", "200", "--resize", "20"], text=True, capture_output=True, timeout=TIME_LIMIT_S,
                                  check=True, cwd=out)
        assert finished.stderr == f"troika: note: the run of these weights has --mean 0.3 --std 0.5; " \
            f"take the run as it is with: troika {command} .\n", finished.stderr
    assert refuse("evaluate") == \
        "troika: no weights; give the folder of a run, or --weights FILE, with --model NAME if the file has no layers"
    assert refuse("evaluate", "--weights", "w.safetensors") == "troika: model file 'w.safetensors': cannot open: No such file or directory (2)"
    assert "is not a run folder: it has no run.json; begin one with: troika train --out RUN" in refuse("evaluate", folder)
    (out / "average.safetensors").unlink()
    assert "has no average.safetensors yet" in refuse("evaluate", out)


def weights_with_a_prefix_are_stripped(folder):
    out, file = folder / "run", folder / "wrapped.safetensors"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    data = (out / "weights.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = {f"module.{name}": value for name, value in json.loads(data[8:8 + size]).items() if name != "__metadata__"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
    base = ["evaluate", "--weights", file, "--model", "mlp", "--synthetic", 500]
    assert "every name in it begins with 'module.', which --strip-prefix can remove" in refuse(*base)
    assert run(*base, "--strip-prefix", "module.").split("  ")[:3] == run("evaluate", out).split("  ")[:3]


def files_of_torch_save_are_refused_with_the_way_to_convert_them(folder):
    with zipfile.ZipFile(folder / "zip.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"x")
    (folder / "old.pth").write_bytes(pickle.dumps({"fc.weight": [1, 2]}, protocol=2))
    for name in ("zip.pt", "old.pth"):
        file = folder / name
        for command in (["inspect", file], ["evaluate", "--weights", file, "--model", "mlp", "--synthetic", 100]):
            assert refuse(*command) == f"troika: '{file}' is a file of torch.save, need .safetensors; convert it with " \
                "docs/tools/pt-to-safetensors, which is installed in share/troika"


def the_script_converts_files_of_torch_save(folder):
    python, environment = python_with("torch", "safetensors.torch")  # safetensors reads the weights here; the script needs torch alone
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    script = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tools" / "pt-to-safetensors"
    write = f"import torch, safetensors.torch as s; d = s.load_file({str(out / 'weights.safetensors')!r}); " \
            f"torch.save(d, {str(folder / 'a.pt')!r}); torch.save({{'epoch': 3, 'state_dict': d}}, {str(folder / 'b.pt')!r})"
    subprocess.run([python, "-c", write], timeout=TIME_LIMIT_S, env=environment, capture_output=True, check=True)
    for name in ("a", "b"):
        subprocess.run([python, script, folder / f"{name}.pt"], timeout=TIME_LIMIT_S, env=environment, capture_output=True, check=True)
        told = run("evaluate", "--weights", folder / f"{name}.safetensors", "--model", "mlp", "--synthetic", 500)
        assert told.split("  ")[:3] == run("evaluate", out).split("  ")[:3], told


def files_of_measured_engines_are_merged(folder):
    script = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tools" / "merge-engines"
    for name, machine, engines in (("a", "H100", {"x": "1", "y": "2"}), ("b", "H100", {"y": "3", "z": "4"}), ("c", "H200", {"x": "5"})):
        (folder / f"{name}.json").write_text(json.dumps({"machine": machine, "engines": engines}))
    merge = [sys.executable, script, folder / "out.json", folder / "a.json", folder / "b.json"]
    subprocess.run(merge, timeout=TIME_LIMIT_S, capture_output=True, check=True)
    assert json.loads((folder / "out.json").read_text()) == {"machine": "H100", "engines": {"x": "1", "y": "2", "z": "4"}}
    refused = subprocess.run([*merge, folder / "c.json"], timeout=TIME_LIMIT_S, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "is of H200, the files before it of H100; need one machine" in refused.stderr, refused


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
                        r"arena \d+\.\d MiB, memory \d+\.\d MiB, ready in \d+\.\d\d s\n", text), text


def bench_measures_real_epochs(folder):
    lines = run("bench", "--model", "mlp", "--batch", 512, "--devices", "cpu:0", "--steps", 4, "--windows", 1,
                "--epochs", 2).splitlines()
    assert len(lines) == 2, lines
    assert re.fullmatch(r"epochs of 60000 images: \d+ img/s \(\d+-\d+\), [-+]\d+\.\d % time an image against bare steps",
                        lines[1]), lines[1]
    assert "nowhere" in refuse("bench", "--model", "mlp", "--steps", 1, "--epochs", 1, "--data", folder / "nowhere")
    assert "--epochs" in refuse("bench", "--model", "mlp", "--steps", 1, "--data", folder)
    assert "1 channel" in refuse("bench", "--model", "resnet50", "--batch", 1, "--steps", 1, "--epochs", 1)


def bench_computes_activations_again(folder):
    base = ["bench", "--model", "d2l_resnet18", "--batch", 4, "--steps", 1, "--windows", 1]

    # Counts launches of forward layers. The arena would not do: it also depends on this CPU's
    # scratch.
    def launches(*options):
        text = run(*base, "--profile", *options)
        ops = re.findall(r"replica 0  (\S+) ", text)
        return ops.count("conv2d"), ops.count("batch_norm2d")

    convolutions, norms = launches()
    again = launches("--recompute-segments", 3)
    assert again[0] > convolutions and again[1] > norms, again
    assert launches("--recompute-layers", "*.bn1") == (convolutions, norms + 8)
    assert launches("--activation-budget", 10 << 20) > (convolutions, norms)
    assert "--activation-budget is 1000; allow more" in refuse(*base, "--activation-budget", 1000)
    assert "--recompute-layers 'conv9': no layer of model 'd2l_resnet18'" in refuse(*base, "--recompute-layers", "conv9")


def bench_takes_the_mesh_that_is_planned(folder):
    base = ["bench", "--steps", 1, "--windows", 1, "--threads", 2, "--devices", "cpu:0,cpu:1", "--mesh", "auto"]
    for options, mesh in ((["--model", "mlp", "--batch", 4], "1x1x2"),  # has more gradients than activations
                          (["--model", "d2l_lenet", "--batch", 64], "2x1x1"),
                          (["--model", "mlp", "--batch", 4, "--precision", "bf16"], "1x1x2"),
                          (["--model", "mlp", "--batch", 4, "--logical-shards", 2], "2x1x1")):  # only splits by data allow shards
        text = run(*base, *options)
        assert f" cpu:0,cpu:1 as {mesh}: " in text, text
    assert "works on no mesh of 2 devices; mesh 2x1x1: --logical-shards is 3, need a power of 2" in \
        refuse(*base, "--model", "mlp", "--logical-shards", 3)
    assert refuse(*base, "--model", "mlp", "--layer-cuts", "fc2") == \
        "troika: --mesh auto cuts between layers by itself; leave out --layer-cuts"


def bench_profiles_each_launch(folder):
    text = run("bench", "--model", "mlp", "--batch", 8, "--devices", "cpu:0,cpu:0", "--steps", 2, "--windows", 1, "--profile")
    for replica in "01":
        assert re.search(rf"^replica {replica}: percent of the sum; of the \d+ GB/s of large additions; of the \d+ GFLOPS of large products$", text, re.M), text
    launch = r"^ +([\d.]+) ms +([\d.]+) % .*  replica {}  (\w+ .*)$"
    for replica in "01":
        own = re.findall(launch.format(replica), text, re.M)
        assert sum("linear" in name for _, _, name in own) >= 4 and any("wait for all_reduce" in name for _, _, name in own), own
        assert all("cpu:" in name for _, _, name in own if name.startswith("linear")), own
        linear = [line for line in text.splitlines() if f"replica {replica}  linear fc" in line]
        assert linear and all(re.search(r"\d+ GB/s +\d+ %.*\d+ GFLOPS +\d+ %", line) for line in linear), linear
        total = re.search(rf"^ +([\d.]+) ms  replica {replica}  sum; a step without a trace takes [\d.]+ ms, [+-][\d.]+$", text, re.M)
        assert total and abs(float(total[1]) - sum(float(ms) for ms, _, _ in own)) < 0.001 * (len(own) + 1), own
        assert float(re.search(rf"^replica {replica}: .* of the (\d+) GB/s", text, re.M)[1]) > 0, text
        by_kind = text.split(f"replica {replica} by kind:\n")[1].split("  replica ")[0]
        assert re.search(r"  linear, 2$", by_kind, re.M), by_kind


# A machine as slow as a laptop, so that the figures do not depend on the tool's defaults.
PLAN = ["plan", "--model", "d2l_lenet", "--batch", 64, "--micro-batches", 4, "--momentum", 0.9, "--tflops", 0.1,
        "--memory-bandwidth", 20, "--link", 10, "--latency", 5]
PLAN_TABLE = """\
d2l_lenet, batch 64 in f32, 4 devices of 2.00 MB; bytes of the device that needs most in all
mesh        parameters   gradients   optimizer activations       total        sent      bubble        time
4x1x1           516 kB      516 kB      516 kB     2.14 MB     3.69 MB      774 kB       0.0 %     2.58 ms  does not fit
2x2x1           516 kB      516 kB      516 kB     2.04 MB     3.59 MB      884 kB      46.2 %     3.91 ms  does not fit
2x1x2           259 kB      259 kB      259 kB     1.30 MB     2.08 MB      810 kB       0.0 %     2.96 ms  does not fit
1x4x1            896 B       896 B       896 B     4.04 MB     4.05 MB      942 kB      70.3 %     6.61 ms  does not fit
1x2x2           258 kB      258 kB      258 kB     1.28 MB     2.05 MB     1.54 MB      46.6 %     5.01 ms  does not fit
1x1x4           134 kB      134 kB      134 kB     1.21 MB     1.61 MB     1.66 MB       0.0 %     3.16 ms  <- fastest that fits
"""


def plan_prints_a_row_for_each_mesh(folder):
    text = run(*PLAN, "--devices", 4, "--memory", "2MB")
    assert text == PLAN_TABLE, text
    marked = [line for line in run(*PLAN, "--devices", 4).splitlines() if line.endswith("<- fastest that fits")]
    assert len(marked) == 1 and marked[0].startswith("4x1x1 "), marked


def plan_for_thousands_of_devices_splits_by_data(folder):
    """As people did: 2,048 GPUs, 40 images each. A ring of 2,048 devices would take 4,094 latencies for each bucket."""
    lines = run("plan", "--model", "d2l_lenet", "--devices", 2048, "--batch", 81920, "--precision", "bf16").splitlines()
    (fastest,) = [line for line in lines if line.endswith("<- fastest that fits")]
    assert fastest.startswith("2048x1x1 "), fastest


def plan_knows_the_memory_of_cpus(folder):
    """Within 1.3 of the arena that a trainer takes: scratch of kernels is more than the activations of few samples."""
    for model, batch, devices in (("d2l_resnet18", 32, 4), ("d2l_resnet18", 16, 1), ("d2l_lenet", 256, 2), ("mlp", 64, 1)):
        listed = ",".join(f"cpu:{i}" for i in range(devices))
        told = run("bench", "--model", model, "--batch", batch, "--devices", listed, "--steps", 1, "--windows", 1)
        arena = float(re.search(r"arena ([\d.]+) MiB", told)[1]) * 2 ** 20
        text = run("plan", "--cpu", "--model", model, "--batch", batch, "--devices", devices)
        line = next(line for line in text.splitlines() if line.startswith(f"{devices}x1x1 "))
        number, unit = re.findall(r"([\d.]+) ([kMG]?B)\b", line)[3]
        planned = float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
        assert 1 / 1.3 < planned / arena < 1.3 or abs(planned - arena) < 2 ** 19, (model, batch, devices, planned, arena)
    assert refuse("plan", "--cpu", "--model", "mlp", "--nodes", 2) == \
        "troika: --cpu plans for this machine, whose devices share its cores; leave out --nodes"


def plan_says_why_a_mesh_cannot_work(folder):
    lines = run("plan", "--model", "mlp", "--devices", 11).splitlines()
    assert "1x11x1      model 'mlp' has 4 layers, cannot be cut into 11 stages" in lines, lines


# Returns the row of the split by data: bytes of parameters, gradients, optimizer, activations,
# total, sent.
def planned_bytes(*arguments):
    line = next(line for line in run(*arguments).splitlines() if line.startswith("2x1x1 "))
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    return [float(number) * scale[unit] for number, unit in re.findall(r"([\d.]+) ([kMG]?B)\b", line)]


def plan_counts_the_optimizer_and_what_it_trains(folder):
    base = ["plan", "--model", "resnet50", "--devices", 2, "--batch", 64]
    plain = planned_bytes(*base)
    assert plain[2] == 0 and plain[1] > 0.99 * plain[0], plain
    adam = planned_bytes(*base, "--optimizer", "adam")
    assert adam[:2] == plain[:2] and abs(adam[2] / plain[1] - 2) < 0.02, (plain, adam)
    average = planned_bytes(*base, "--optimizer", "adam", "--average-decay", 0.99)
    assert abs(average[2] / plain[1] - 3) < 0.02, (plain, average)
    last = planned_bytes(*base, "--optimizer", "adam", "--train-only", "fc.*")
    assert last[0] == plain[0] and last[1] < 0.1 * plain[1] and last[3] < 0.25 * plain[3], (plain, last)


def plan_counts_recompute_shards_and_compression(folder):
    base = ["plan", "--model", "d2l_resnet18", "--devices", 2, "--batch", 64, "--momentum", 0.9]

    def cells(*options):
        return planned_bytes(*base, *options)

    whole = cells()
    assert cells("--recompute-segments", 3)[3] < 0.9 * whole[3]
    assert cells("--recompute-layers", "*.bn1")[3] < whole[3]
    assert cells("--activation-budget", 90000000)[3] <= 90e6 < whole[3]
    assert abs(cells("--compress-gradients", "bf16")[5] / whole[5] - 0.5) < 0.01
    sharded = cells("--shard-optimizer")
    assert sharded[:2] == whole[:2] and 0.5 <= sharded[2] / whole[2] < 0.55, (whole, sharded)
    assert 1.5 <= sharded[5] / whole[5] < 1.55, (whole, sharded)
    lines = run(*base, "--activation-budget", 90000000).splitlines()
    assert any(line.startswith("1x2x1       model 'd2l_resnet18': activations of a batch of 64 need at least") for line in lines), lines
    assert "works on no mesh of 2 devices; mesh 2x1x1: " in subprocess.run(
        [TOOL, *map(str, base), "--activation-budget", "1000"], text=True, capture_output=True, timeout=TIME_LIMIT_S,
        check=False).stderr


def plan_fails_where_no_mesh_fits(folder):
    finished = subprocess.run([TOOL, *map(str, PLAN), "--devices", "2", "--memory", "1kB"], text=True, capture_output=True,
                              timeout=TIME_LIMIT_S, check=False)
    assert finished.returncode == 1 and finished.stdout.count("does not fit") == 3, finished
    assert re.fullmatch(r"troika: plan: model 'd2l_lenet' fits no mesh of 2 devices with 1000 bytes each; "
                        r"mesh 1x1x2 needs least, \d+ bytes\n", finished.stderr), finished.stderr


def plan_refuses_values_by_their_option(folder):
    for option, value, rest in (("--devices", 0, "is 0; give 1 to 4096"),
                                ("--memory", "10XB", "is '10XB'; give bytes, such as 80GB, 80GiB or 512MB"),
                                ("--batch", 0, "is 0; give at least 1"),
                                ("--momentum", 1, "is 1; give at least 0 and below 1"),
                                ("--precision", "f8", "is 'f8'; give f32, tf32, bf16 or f16"),
                                ("--layer-schedule", "zigzag", "is 'zigzag'; give gpipe, 1f1b or interleaved"),
                                ("--layer-chunks", 2, "is 2; give 1, or --layer-schedule interleaved"),
                                ("--link", 0, "is '0'; give a rate of at least 0.001 GB/s, such as 450, 450GB/s or 100Gbit/s"),
                                ("--recompute-segments", -1, "is -1; give at least 0"),
                                ("--tflops", "nan", "is nan; give a number of at least 0")):
        assert refuse("plan", "--model", "mlp", option, value) == f"troika: {option} {rest}"


def a_full_output_is_an_error(folder):
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        finished = subprocess.run([TOOL, "devices"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=TIME_LIMIT_S, check=False)
    assert finished.returncode == 1 and finished.stderr.startswith("troika: "), finished


if __name__ == "__main__":
    run_tests(globals())
