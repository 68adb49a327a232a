#!/usr/bin/env python3
"""Tests of the binding for Python: python_test.py [NAME...]

TROIKA_PYTHON is a Python with NumPy. Prints one line per test.
"""

import os
import re
import shutil
import subprocess
import sys

from languages import BINDINGS, BUILD, FASHION_MNIST, compare_losses, lines_of, linked, program_in
from scripts import Skipped, main, run

FOLDER = BINDINGS / "python"
PYTHON = os.environ.get("TROIKA_PYTHON", sys.executable)
ENVIRONMENT = {"TROIKA_LIBRARY": str(BUILD / "libtroika.so.1"), "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
# The types of a stub that exist only for the checker.
CHECKER_ONLY = "troika.classifier.Tags@\\d+\ntroika.device.Device._DT\ntroika.torch\n"


def python(*arguments, interpreter=PYTHON, **settings):
    return run(interpreter, *arguments, env={**linked(), **ENVIRONMENT}, **settings)


def has(interpreter, *modules):
    """Skips the test if an interpreter lacks modules."""
    code = f"import {', '.join(modules)}"
    if subprocess.run([interpreter, "-c", code], capture_output=True, check=False).returncode:
        raise Skipped(f"{interpreter} lacks one of {', '.join(modules)}")


def unit_test(name):
    """The test of a file of unittest. Its skipped tests are those of packages that are not installed."""
    def test(_):
        output = python("-m", "unittest", "discover", "-s", "tests", "-p", f"test_{name}.py", cwd=FOLDER)
        found = re.search(r"Ran (\d+) tests?", output)
        assert found and int(found[1]) > 0, output
    return test


for unit in ("interface", "errors", "misuse", "conversions", "objects", "training", "operations", "callbacks",
             "lifetimes", "classifier"):
    globals()[f"test_{unit}"] = unit_test(unit)


def test_main_flow(folder):
    """The program of the README: two processes, the second one predicts."""
    if not FASHION_MNIST.exists():
        raise Skipped("Fashion-MNIST is not installed")
    program = program_in(FOLDER / "README.md", "python")
    assert len(lines_of(program)) <= 25, f"the program has {len(lines_of(program))} lines"
    (folder / "main.py").write_text(program, encoding="utf-8")
    compare_losses(python("main.py", cwd=folder))
    assert re.search(r"^class \d$", python("main.py", "predict", cwd=folder), flags=re.M)


def test_snippets_of_the_readme(folder):
    """The weights and the tensors, of which the second lacks a context."""
    (folder / "weights.py").write_text(program_in(FOLDER / "README.md", "python", 1), encoding="utf-8")
    assert re.search(r"^loss \d\.\d+ shares \[3\.0, 1\.0\]$", python("weights.py", cwd=folder), flags=re.M)
    tensors = "import troika\ncontext = troika.Context()\n" + program_in(FOLDER / "README.md", "python", 2)
    (folder / "tensors.py").write_text(tensors, encoding="utf-8")
    assert "f32[2, 1] on cpu:0" in python("tensors.py", cwd=folder)


def test_fine_tuning_notebook(folder):
    """The notebook, with the system's PyTorch and torchvision."""
    interpreter = "/usr/bin/python3"
    has(interpreter, "nbclient", "torch", "torchvision", "numpy", "ipykernel")
    shutil.copy(FOLDER / "examples" / "fine_tuning.ipynb", folder)
    code = ("import nbformat; from nbclient import NotebookClient; "
            "book = nbformat.read('fine_tuning.ipynb', 4); NotebookClient(book, timeout=300).execute(); "
            "print([output.get('text', '') for cell in book.cells for output in cell.get('outputs', [])])")
    assert "largest difference" in python("-c", code, interpreter=interpreter, cwd=folder)


def test_older_numpy(_):
    """The system's Python has an older NumPy, and PyTorch."""
    interpreter = "/usr/bin/python3"
    has(interpreter, "numpy")
    python("-m", "unittest", "discover", "-s", "tests", "-p", "test_objects.py", interpreter=interpreter, cwd=FOLDER)


def test_stubs_agree_with_the_package(folder):
    has(PYTHON, "mypy")
    (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\ndisable_error_code = import-untyped\n", encoding="utf-8")
    (folder / "allowed").write_text(CHECKER_ONLY, encoding="utf-8")
    python("-m", "mypy.stubtest", "troika", "--ignore-missing-stub", "--ignore-unused-allowlist", "--concise", "--allowlist",
           "allowed", "--mypy-config-file", "mypy.ini", cwd=folder)
    (folder / "host.py").write_text(
        "import troika\n"
        "trainer = troika.Model(troika.Context(), 'mlp').attach('cpu:0', learning_rate=0.1)\n"
        "trainer.atach()\n"
        "troika.Device('cpu', 1)\n"
        "trainer.model.attach('cpu:0', **trainer.options)\n"
        "trainer.load('state', any_order=True)\n"
        "trainer.model.attach('cpu:0', learningrate=0.1)\n", encoding="utf-8")
    found = python("-m", "mypy", "--strict", "host.py", expect=1, cwd=folder)
    assert '"Trainer" has no attribute "atach"' in found and 'did you mean "learning_rate"' in found, found


def test_bench(_):
    assert re.search(r"steps images/s \d+", python(FOLDER / "bench" / "overhead.py", "320"))


main(globals())
