#!/usr/bin/env python3
"""Runs hosts in C and C++ on the library, also under valgrind: hosts_test.py LIBTROIKA SOURCE_ROOT SANITIZERS

With SANITIZERS other than `none`, the hosts are compiled with them, and valgrind is left out.
Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

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


class Skipped(Exception):
    """A test that this machine cannot run."""


def run(*command, **settings):
    """Runs a command and returns its output. Fails if the command fails."""
    finished = subprocess.run([str(part) for part in command], text=True, stdin=subprocess.DEVNULL, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False, **settings)
    assert finished.returncode == 0, f"{shlex.join(map(str, command))}: exit status {finished.returncode}: {finished.stdout}"
    return finished.stdout


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
        output = run(*prefix, program, part, cwd=folder, env={**os.environ, **environment})
        assert output == "ok\n", output


def run_cpp(folder, *prefix, **environment):
    output = run(*prefix, build("embedder.cpp", folder), cwd=folder, env={**os.environ, **environment})
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


def main():
    failed = False
    for name, test in [(name[5:], test) for name, test in globals().items() if name.startswith("test_")]:
        with tempfile.TemporaryDirectory(prefix="troika-hosts-") as folder:
            try:
                test(pathlib.Path(folder))
                print(f"ok {name}", flush=True)
            except Skipped as reason:
                print(f"skip {name} {reason}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed = True
                print(f"not ok {name} {' '.join(str(error).split())}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
