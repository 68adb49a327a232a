#!/usr/bin/env python3
"""Tests of what all bindings share: c_test.py [NAME...]

The program of bindings/README.md in C, and the declarations. Prints one line per test.
"""

import re
import shlex
import sys

from languages import BINDINGS, FASHION_MNIST, compare_losses, lines_of, linked, program_in
from scripts import Skipped, main, run


def test_main_flow(folder):
    if not FASHION_MNIST.exists():
        raise Skipped("Fashion-MNIST is not installed")
    program = program_in(BINDINGS / "README.md", "c")
    assert len(lines_of(program)) <= 30, f"the program has {len(lines_of(program))} lines"
    (folder / "main.c").write_text(program, encoding="utf-8")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "troika", env=linked()))
    run("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main", *flags, cwd=folder)
    compare_losses(run("./main", FASHION_MNIST, cwd=folder, env=linked()))
    assert re.search(r"^class \d$", run("./main", FASHION_MNIST, "predict", cwd=folder, env=linked()), flags=re.M)


def test_declarations_are_those_of_the_interface(_):
    run(sys.executable, BINDINGS / "generate.py", "--check")


main(globals())
