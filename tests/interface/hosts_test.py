#!/usr/bin/env python3
"""Runs hosts in C and C++ on the library, also under valgrind: hosts_test.py LIBTROIKA SOURCE_ROOT SANITIZERS

With SANITIZERS other than `none`, the hosts are compiled with them, and valgrind is left out.
Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import os
import pathlib
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import Skipped, run, run_tests, tests_of  # pylint: disable=wrong-import-position

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
SOURCE_ROOT = pathlib.Path(sys.argv[2]).resolve()
SANITIZERS = sys.argv[3]
HOSTS = pathlib.Path(__file__).resolve().parent / "hosts"
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
# Valgrind cannot follow the code that oneDNN writes for newer processors.
VALGRIND_ENVIRONMENT = {"DNNL_MAX_CPU_ISA": "SSE41", "OMP_NUM_THREADS": "1"}
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect"]


def build(name, folder):
    """Compiles a host and returns its path."""
    compiler, standard = (CC, "c99") if name.endswith(".c") else (CXX, "c++20")
    program = folder / name.replace(".", "_")
    flags = [] if SANITIZERS == "none" else [f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=undefined"]
    run(*compiler, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g1", *flags,
        f"-I{SOURCE_ROOT / 'include'}", HOSTS / name, "-o", program, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
    return program


def run_c(folder, *prefix, **environment):
    """Trains in one process. Another process loads the weights and must predict the same bits."""
    program = build("embedder.c", folder)
    for part in ("train", "predict"):
        output = run(*prefix, program, part, cwd=folder, env=environment)
        assert output == "ok\n", output


def run_cpp(folder, *prefix, **environment):
    output = run(*prefix, build("embedder.cpp", folder), cwd=folder, env=environment)
    assert output == "ok\n", output


def test_c_host(folder):
    run_c(folder)


def test_cpp_host(folder):
    run_cpp(folder)


def require_valgrind():
    if SANITIZERS != "none":
        raise Skipped("sanitizers and valgrind exclude each other")
    if not shutil.which("valgrind"):
        raise Skipped("there is no valgrind")


def test_c_host_under_valgrind(folder):
    require_valgrind()
    run_c(folder, *VALGRIND, **VALGRIND_ENVIRONMENT)


def test_cpp_host_under_valgrind(folder):
    require_valgrind()
    run_cpp(folder, *VALGRIND, **VALGRIND_ENVIRONMENT)


if __name__ == "__main__":
    run_tests(tests_of(globals()))
