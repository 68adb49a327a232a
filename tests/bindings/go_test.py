#!/usr/bin/env python3
"""Tests the Go binding: go_test.py [NAME...]

Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import json
import os
import re
import textwrap

from languages import BINDINGS, BUILD, FASHION_MNIST, compare_losses, lines_of, linked, names_of_values, program_in
from scripts import Skipped, main, need, run

GO = BINDINGS / "go"
ENVIRONMENT = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOCACHE": str(BUILD / "bindings" / "go-cache"),
               "CGO_ENABLED": "1"}
# The program around the piece of the README about weights.
WEIGHTS = """package main

import (
	"context"
	"fmt"
	"troika"
)

func main() {
	c := troika.Must(troika.NewContext(nil))
	dataset := troika.Must(troika.NewSyntheticDataset(c, 64, 10, 1, 1, 28, 28))
	model := troika.Must(troika.NewModel(c, "d2l_lenet", nil))
PIECE
	weights = troika.Must(troika.Must(loader.Next()).Weights())
	fmt.Println("shares", troika.Must(trainer.GetOptions()).Shares, "weight", weights[0])
}
"""


def go(*arguments, folder=GO, **environment):
    need("go")
    return run("go", *arguments, cwd=folder, env={**linked(), **ENVIRONMENT, **environment})


def go_test(*arguments, **environment):
    """Runs tests of Go, and fails with their own messages."""
    need("go")
    command = ["go", "test", "-count=1", "-timeout=300s", "-json", *arguments]
    settings = {"cwd": GO, "env": {**linked(), **ENVIRONMENT, **environment}}
    try:
        output = run(*command, **settings)
    except AssertionError as error:
        raise AssertionError(summary_of(str(error))) from None
    passed = {(event["Package"], event["Test"]) for event in events_in(output) if event["Action"] == "pass" and "Test" in event}
    assert passed, f"no test has run: {output[-500:]}"


def events_in(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"')]


def summary_of(output):
    """The messages of failed tests: lines of a test file, panics and data races."""
    text = "".join(event.get("Output", "") for event in events_in(output)) or output
    lines = [line.strip() for line in text.splitlines()
             if re.search(r"_test\.go:\d+:|^panic: |^--- FAIL|^fatal error|WARNING: DATA RACE|^\S+\.go:\d+:\d+: ", line.strip())]
    return "; ".join(lines)[:3000] or output[-1500:]


def test_declarations(_):
    run("python3", BINDINGS / "generate.py", "--check", "go")


def test_format_and_vet(_):
    need("gofmt")
    unformatted = run("gofmt", "-l", ".", cwd=GO)
    assert not unformatted, f"gofmt changes {unformatted}"
    go("vet", "./...")


def test_comments_have_names_of_go(_):
    """Comments that are generated have no value of an enum as C names it."""
    for path in GO.glob("interface_*.go"):
        comments = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("//"))
        assert not re.search(names_of_values(), comments), (path.name, re.search(names_of_values(), comments)[0])


def test_layout(_):
    go_test("./internal/layout")


def test_package(folder):
    """All tests of the package. Every function of files that are written by hand is called by one of them."""
    profile = folder / "coverage"
    go_test(f"-coverprofile={profile}", ".", GODEBUG="cgocheck=2")
    functions = re.findall(r"^troika/(\w+\.go):\d+:\s+(\w+)\s+([\d.]+)%$", go("tool", "cover", f"-func={profile}"), flags=re.M)
    assert len(functions) > 250, f"coverage names {len(functions)} functions"
    never = [f"{file} {function}" for file, function, percent in functions if float(percent) == 0]
    assert not never, f"no test calls {', '.join(never)}"


def test_races(_):
    if os.uname().machine not in ("x86_64", "aarch64", "ppc64le"):
        raise Skipped("Go has no race detector here")
    go_test("-race", ".", GORACE="halt_on_error=1")


def test_service(_):
    go_test("./examples/service")


def build_program(folder, program):
    """Compiles a program in a module of its own, to `program`."""
    (folder / "main.go").write_text(program, encoding="utf-8")
    unformatted = run("gofmt", "-l", folder)
    assert not unformatted, "gofmt changes the program"
    go("mod", "init", "example", folder=folder)
    go("mod", "edit", "-require=troika@v1.1.0", f"-replace=troika={GO}", folder=folder)
    go("build", "-o", "program", ".", folder=folder)


def test_readme(folder):
    if not FASHION_MNIST.is_dir():
        raise Skipped(f"there is no {FASHION_MNIST}")
    program = program_in(GO / "README.md", "go")
    lines = len(lines_of(program))
    assert lines <= 25, f"the program has {lines} lines"
    build_program(folder, program)
    output = run("./program", cwd=folder, env=linked())
    compare_losses(output)
    assert re.search(r"^test loss \S+ accuracy 0\.[4-9]", output, flags=re.M), output
    assert (folder / "state.safetensors").stat().st_size > (folder / "weights.safetensors").stat().st_size
    predicted = run("./program", "predict", cwd=folder, env=linked())
    assert re.fullmatch(r"class \d\n", predicted), predicted


def test_weights_of_readme(folder):
    """The piece of the README about weights, uneven parts and augmentation runs with the options that it sets."""
    piece = textwrap.indent(program_in(GO / "README.md", "go", 1), "\t")
    build_program(folder, WEIGHTS.replace("PIECE\n", piece))
    output = run("./program", cwd=folder, env=linked())
    assert re.fullmatch(r"loss \d+\.\d+\nshares \[3 1\] weight 4\n", output), output


def test_benchmark(_):
    output = go("run", "./bench", "64")
    names = re.findall(r"^(\D+) \d+$", output, flags=re.M)
    assert names == ["call ns", "describe ns", "epoch images/s", "steps images/s"], output


if __name__ == "__main__":
    main(globals())
