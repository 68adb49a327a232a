#!/usr/bin/env python3
"""Tests the C++ binding: compiles its tests, its README's program and its examples, and runs them.

CXX names the compiler. Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

from languages import BINDINGS, FASHION_MNIST, SOURCE_ROOT, compare_losses, lines_of, linked, program_in
from scripts import Skipped, main, need, run

BINDING = BINDINGS / "cpp"
HEADERS = BINDING / "include" / "troika"
GENERATED = ("enums.hpp", "interface.hpp")
INTERFACE = json.loads((BINDINGS / "interface" / "interface.json").read_text(encoding="utf-8"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
INCLUDES = [f"-I{SOURCE_ROOT / 'include'}", f"-I{BINDING / 'include'}"]
# Valgrind cannot follow the code that oneDNN writes for newer processors.
VALGRIND_ENVIRONMENT = {"DNNL_MAX_CPU_ISA": "SSE41", "OMP_NUM_THREADS": "1"}
# The program around the piece of the README about weights.
WEIGHTS = """#include <troika/troika.hpp>

#include <cstdio>

int main() {
  const troika::Context context;
  const auto dataset = troika::Dataset::create_synthetic(context, {1, 28, 28}, 64, 10);
  troika::Model model(context, "d2l_lenet");
  PIECE
  const std::vector<double> shares = trainer.get_options().shares;
  const auto batch = loader.next();
  std::printf("shares %g %g weight %g\\n", shares[0], shares[1], static_cast<double>(batch->describe().weights[0]));
}
"""


def text_of(*paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def in_parallel(commands):
    """Runs compilers, as many at a time as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda command: run(*command), commands))


def link(program, *objects, libraries=()):
    flags = shlex.split(run("pkg-config", "--libs", "troika", env=linked()))
    run(*CXX, *objects, *libraries, "-o", program, *flags, "-pthread")
    return program


def build(source, program, *flags):
    """Compiles a program as a host does, with the flags that pkg-config prints."""
    run(*CXX, "-std=c++20", *WARNINGS, *flags, *INCLUDES, "-c", source, "-o", f"{program}.o")
    return link(program, f"{program}.o")


@functools.cache
def unit_tests():
    """Compiles the tests, once for all that run them."""
    if not pathlib.Path("/usr/include/gtest/gtest.h").exists():
        raise Skipped("there is no GoogleTest")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troika-cpp-"))
    try:
        compile_ = [*CXX, "-std=c++20", *WARNINGS, *INCLUDES, f"-I{BINDING / 'tests'}"]
        run(*compile_, "-w", "-x", "c++-header", BINDING / "tests" / "tests.h", "-o", folder / "tests.h.gch")
        sources = sorted((BINDING / "tests").glob("*_test.cpp"))
        in_parallel([*compile_, "-include", folder / "tests.h", "-c", source, "-o", folder / f"{source.stem}.o"]
                    for source in sources)
        program = link(BUILT / "unit_tests", *(folder / f"{source.stem}.o" for source in sources),
                       libraries=("-lgtest_main", "-lgtest"))
    finally:
        shutil.rmtree(folder)
    return program


def test_generated_files(_):
    run(sys.executable, BINDINGS / "generate.py", "--check", "cpp")


def test_layout(folder):
    """The compiler's sizes and offsets of all structs are those of the interface."""
    lines = ["#include <troika/interface.hpp>"]
    for struct in INTERFACE["structs"]:
        lines.append(f"static_assert(sizeof({struct['name']}) == {struct['size']});")
        lines += [f"static_assert(offsetof({struct['name']}, {field['name']}) == {field['offset']});" for field in struct["fields"]]
    assert len(lines) > 300, f"only {len(lines)} lines"
    (folder / "layout.cpp").write_text("\n".join(lines), encoding="utf-8")
    run(*CXX, "-std=c++17", "-fsyntax-only", *INCLUDES, folder / "layout.cpp")


def test_every_function_is_used(_):
    by_hand = text_of(*(path for path in HEADERS.glob("*.hpp") if path.name not in GENERATED))
    generated = text_of(*(HEADERS / "interface").glob("*.hpp"))
    missing = [name for name in (function["name"] for function in INTERFACE["functions"])
               if not re.search(rf"\b{name}\b", generated if name.endswith("_init") else by_hand)]
    assert len(INTERFACE["functions"]) > 150 and not missing, f"not used: {', '.join(missing)}"


def test_every_method_is_called(_):
    """Each name of a public function of the headers is called in a test or an example."""
    headers = [path for path in HEADERS.glob("*.hpp") if path.name not in (*GENERATED, "convert.hpp", "object.hpp")]
    public = re.sub(r"\n private:.*?\n};|\nnamespace detail {.*?\n}  // namespace detail", "", text_of(*headers), flags=re.S)
    declared = re.findall(r"^(?:  )?(?=[\w\[])(?!return|friend|using|explicit operator)[\w:<>*&\[\], ]*?[ *&](\w+)\(", public, flags=re.M)
    names = set(declared) - set(re.findall(r"(?:class|struct) (\w+)", public))
    calls = text_of(*(BINDING / "tests").glob("*.*"), *(BINDING / "examples").glob("*"), BINDING / "README.md")
    missing = sorted(name for name in names if not re.search(rf"\b{name}(?:<[\w:]+>)?\(", calls))
    assert len(names) > 120 and not missing, f"{len(names)} functions; not called: {', '.join(missing)}"


def test_all_compilers_and_standards(folder):
    compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
    if not compilers:
        raise Skipped("there is neither g++ nor clang++")
    source = BINDING / "tests" / "standards.cpp"
    in_parallel([name, f"-std=c++{standard}", *WARNINGS, "-Wsign-conversion", "-fno-rtti", "-DTROIKA_WARN_EXPERIMENTAL",
                 "-fsyntax-only", *INCLUDES, source] for name in compilers for standard in ("17", "20", "2b"))
    program = build(source, folder / "standards", "-std=c++17", "-fno-rtti")
    output = run(program, env=linked())
    assert output == "loss 27 weight 1 2\nf32[2] on cpu:0\n[1., 0.]\n", output


def test_units(_):
    output = run(unit_tests(), "--gtest_brief=1", env=linked())
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", output)[1]) > 80, output


def test_units_under_valgrind(_):
    need("valgrind")
    run("valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect",
                "--errors-for-leak-kinds=definite,indirect", unit_tests(), "--gtest_filter=Objects.*:Data.*:*Throw*:Context.*:Operations.ReadAxes:Derivatives.R*",
                env={**linked(), **VALGRIND_ENVIRONMENT})


def test_older_library_is_refused(folder):
    output = run(build(BINDING / "tests" / "older_library.cpp", folder / "older"), env=linked())
    assert output == ("TROIKA_ERROR_UNSUPPORTED: libtroika: its version is 1.0, need 1.1 or a later version of the same "
                      "major number\n"), output


def test_program_of_readme(folder):
    if not FASHION_MNIST.exists():
        raise Skipped(f"there is no {FASHION_MNIST}")
    program = program_in(BINDING / "README.md", "cpp")
    assert len(lines_of(program)) <= 25, f"{len(lines_of(program))} lines of code"
    (folder / "program.cpp").write_text(program, encoding="utf-8")
    built = build(folder / "program.cpp", folder / "program")
    compare_losses(run(built, cwd=folder, env=linked()))
    output = run(built, "predict", cwd=folder, env=linked())
    assert re.fullmatch(r"class \d\n", output), output


def test_weights_of_readme(folder):
    """The piece of the README about weights, uneven parts and augmentation runs with the options that it sets."""
    (folder / "weights.cpp").write_text(WEIGHTS.replace("PIECE", program_in(BINDING / "README.md", "cpp", 1)), encoding="utf-8")
    output = run(build(folder / "weights.cpp", folder / "weights"), env=linked())
    assert re.fullmatch(r"loss \d+\.\d+\nshares 3 1 weight 4\n", output), output


def test_example_of_two_trainers(folder):
    program = build(BINDING / "examples" / "two_trainers.cpp", folder / "two_trainers")
    output = run(program, "40", env=linked())
    losses = [float(loss) for loss in re.findall(r"^steps 40 loss (\S+)$", output, flags=re.M)]
    # Both learn the same; a loss of chance is log(10).
    assert len(losses) == 2 and losses[0] == losses[1] < 2.35, output
    assert float(re.search(r"longest time between timer events (\S+) ms", output)[1]) < 1000, output


def test_bench(folder):
    program = build(BINDING / "bench" / "bench.cpp", folder / "bench")
    output = run(program, "64", env=linked())
    assert re.fullmatch(r"call ns \d+\.\d\nepoch images/s \d+\nsteps images/s \d+\n", output), output


with tempfile.TemporaryDirectory(prefix="troika-cpp-") as built_folder:
    BUILT = pathlib.Path(built_folder)
    main(globals())
