#!/usr/bin/env python3
"""Compiles and runs every piece of code in README.md, docs/*.md and docs/tutorials/*.md: snippets_test.py [--copy-programs] [PAGE...]

PAGES has a check for each block of a page, in the order of the page. A block without a check fails.
With --copy-programs, docs/first-program.md gets the programs of the READMEs of bindings/ first.
Prints one line per page: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("bindings", "interface")]
# pylint: disable=wrong-import-position
from c_examples import CC, CONTEXT, STEP, STRICT, ZOO, run_fragment
from languages import BUILD, SOURCE_ROOT, linked, program_in
from scripts import Skipped, need, run

INCLUDE = SOURCE_ROOT / "include"
TUTORIALS = SOURCE_ROOT / "docs" / "tutorials"
# Languages of blocks that are code. Other blocks show output, files or drawings.
LANGUAGES = ("c", "cpp", "python", "sh", "cmake", "meson", "ini", "json", "rust", "go", "csharp")
HOST = "#include <troika/troika.h>\nint main(void) { return troika_version() < 10000; }\n"
SMALL = "--synthetic 128 --epochs 1 --batch 32 --model mlp --progress off"


# Models that have begun, for docs/layers.md.
BEGUN = CONTEXT + """
  troika_model model = NULL;
  troika_value x = 0;
  CALL(troika_model_create_empty(context, "net", &model, &error));
"""
SQUEEZED = BEGUN + """
  const int64_t image[] = {16, 8, 8};
  troika_conv2d_options pointwise = TROIKA_CONV2D_OPTIONS_INIT;
  pointwise.out_channels = 16;
  pointwise.kernel[0] = pointwise.kernel[1] = 1;
  CALL(troika_model_add_input(model, "x", image, 3, &x, &error));
"""
THREE_CLASSES = CONTEXT + """
  troika_model_options sizes = TROIKA_MODEL_OPTIONS_INIT;
  sizes.classes = 3;
  troika_model model = NULL;
  CALL(troika_model_create(context, "mlp", &sizes, &model, &error));
"""
SCORED = ZOO.replace("d2l_lenet", "mlp") + """
  const int64_t image[] = {1, 28, 28};
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  static int32_t labels[1000];
  for (int i = 0; i < 1000; ++i) labels[i] = i % 10;
  troika_dataset dataset = NULL;
  troika_loader loader = NULL;
  troika_trainer trainer = NULL;
  CALL(troika_dataset_create_synthetic(context, image, 3, 1000, 10, 1, &dataset, &error));
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 100;
  CALL(troika_loader_create(dataset, &batches, &loader, &error));
  CALL(troika_model_attach(model, &cpu, 1, NULL, &trainer, &error));
"""
TOKENS = BEGUN + """
  const int64_t steps[] = {12};
  CALL(troika_model_add_typed_input(model, "x", TROIKA_DTYPE_I32, steps, 1, &x, &error));
"""


def blocks_of(page):
    """The blocks of code of a page, as (language, text, line). A block in a list is indented."""
    found, language, lines, indent, first = [], None, [], 0, 0
    for number, line in enumerate((SOURCE_ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"( *)```(\w*)\s*$", line)
        if fence and language is None:
            language, lines, indent, first = fence[2], [], len(fence[1]), number
        elif fence:
            if language in LANGUAGES:
                found.append((language, "\n".join(lines) + "\n", first))
            language = None
        elif language is not None:
            lines.append(line[indent:] if not line[:indent].strip() else line)
    return found


# Checks: functions of a block's text and of an empty folder.

def fragment(setup, tail=""):
    """C that stands in a function, after `setup`."""
    def check(text, folder):
        (folder / "run").mkdir()
        text = re.sub(r"^#include.*$", "", text, flags=re.M)
        text = re.sub(r"[ \t]*/\*.*?\*/[ \t]*", "", text)
        run_fragment(text, setup, folder, BUILD / "libtroika.so", INCLUDE, tail)
    return check


def c_program(expect):
    """A whole program in C, which prints `expect`, as the page says."""
    def check(text, folder):
        (folder / "program.c").write_text(text, encoding="utf-8")
        run(*CC, *STRICT, f"-I{INCLUDE}", folder / "program.c", "-o", folder / "program", BUILD / "libtroika.so")
        output = run(folder / "program", env=linked())
        assert re.fullmatch(expect, output), f"prints {output}, wanted {expect}"
    return check


def squeezed(text):
    """Code without comments and space."""
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S))


def excerpt(*files, without=None):
    """An excerpt of the source, or of a test that compiles and runs it. `...` stands for lines that are left out, and
    `without` for what the example adds."""
    def check(text, _):
        text = re.sub(without, "", text) if without else text
        whole = [squeezed((SOURCE_ROOT / file).read_text(encoding="utf-8")) for file in files]
        for line in re.sub(r"//[^\n]*|/\*.*?\*/", "", text).splitlines():
            for piece in map(squeezed, line.split("...")):
                assert any(piece in source for source in whole), f"{' and '.join(files)} have no line {line.strip()}"
    return check


def lines_in(file):
    """Lines that a test has, which tries them out."""
    def check(text, _):
        whole = (SOURCE_ROOT / file).read_text(encoding="utf-8")
        for line in filter(None, text.splitlines()):
            assert line in whole, f"{file} has no {line}"
    return check


# By language: the README whose first block is the program that all languages have.
PROGRAMS = {"c": "bindings/README.md", "cpp": "bindings/cpp/README.md", "python": "bindings/python/README.md",
            "rust": "bindings/rust/README.md", "go": "bindings/go/README.md", "csharp": "bindings/csharp/README.md"}


def copy_programs():
    """Writes the programs of the READMEs into the page that shows them next to each other."""
    page = SOURCE_ROOT / "docs" / "first-program.md"
    text = page.read_text(encoding="utf-8")
    for language, readme in PROGRAMS.items():
        made = f"```{language}\n{program_in(SOURCE_ROOT / readme, language)}```\n"
        text = re.sub(rf"^```{language}\n.*?^```\n", lambda _, made=made: made, text, flags=re.S | re.M)
    page.write_text(text, encoding="utf-8")


def same_as(readme, language):
    """The program of a README, which the tests of the bindings run."""
    def check(text, _):
        assert text == program_in(SOURCE_ROOT / readme, language), f"differs from the program in {readme}: run --copy-programs"
    return check


def has(interpreter, *modules):
    command = [interpreter, "-c", f"import {', '.join(modules)}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@functools.cache
def python(*modules):
    """A Python with these modules."""
    for path in (os.environ.get("TROIKA_PYTHON"), BUILD / "python" / "bin" / "python", sys.executable, "/usr/bin/python3"):
        if path and shutil.which(path) and has(str(path), *modules):
            return str(path)
    raise Skipped(f"no Python has {', '.join(modules)}")


def environment(folder):
    """The environment of a user who has installed the library: troika, cc and python3 find it."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, program in (("troika", BUILD / "troika"), ("python3", python("numpy"))):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    return {**linked(), "PATH": f"{programs}:{os.environ['PATH']}", "TROIKA_LIBRARY": str(BUILD / "libtroika.so.1"),
            "PYTHONPATH": str(SOURCE_ROOT / "bindings" / "python"), "OMP_NUM_THREADS": "1"}


ARRAYS = """import numpy
draw = numpy.random.default_rng(0)
numpy.save("images.npy", draw.random((300, 1, 28, 28), dtype=numpy.float32))
numpy.save("labels.npy", draw.integers(0, 10, 300))
"""


def program(*modules, expect="", **variables):
    """A program in Python, run by an interpreter that has these modules. Its output matches `expect`."""
    def check(text, folder):
        interpreter = python("numpy", *modules)
        settings = {"cwd": folder, "env": {**environment(folder), **variables}}
        (folder / "program.py").write_text(text, encoding="utf-8")
        run(interpreter, "-c", ARRAYS, **settings)
        output = run(interpreter, "program.py", **settings)
        assert re.search(expect, output), f"prints {output}, wanted {expect}"
    return check


def write_images(folder):
    """A folder with the four files of MNIST's format, with 64 images each."""
    folder.mkdir()
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 64, 0, 0, 0, 28, 0, 0, 0, 28]) +
                                                           bytes(i * 37 % 251 for i in range(64 * 784)))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 64]) + bytes(i % 10 for i in range(64)))


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def shell(*changes, before="", after=""):
    """Commands, with other words for those that take long or that need what is not here. Each change must apply."""
    def check(text, folder):
        for old, new in changes:
            assert old in text, f"the block has no {old}"
            text = text.replace(old, new)
        text = text.replace("@port@", str(free_port()))
        write_images(folder / "images")
        (folder / "host.c").write_text(HOST, encoding="utf-8")
        run("sh", "-e", "-c", before + text + after, cwd=folder, env=environment(folder), timeout=120)
    return check


def commands_of(text):
    """The commands of a block, as lists of words. Pipes and lists are cut, comments and variables left out."""
    text = text.replace("\\\n", " ")
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        command = []
        for word in [*words, "&&"]:
            if word in ("&&", "|", ";", "--"):
                if command:
                    yield command
                command = []
            elif command or not re.match(r"[A-Z_]+=", word):
                command.append(word)


@functools.cache
def help_of(*command):
    return run(BUILD / "troika", *command, "--help", env=linked())


@functools.cache
def suites():
    """The names that ./tests/run takes."""
    file = BUILD / "meson-info" / "intro-tests.json"
    if not file.exists():
        raise Skipped(f"{file.name} is missing")
    tests = json.loads(file.read_text(encoding="utf-8"))
    return {test["name"] for test in tests} | {suite.rsplit(":", 1)[-1] for test in tests for suite in test["suite"]}


def known(*texts):
    """Commands that are not run: they install, build, or take long. The shell reads them; their programs and options exist.
    `texts` are files that name the other words of a command, such as packages."""
    def check(text, _):
        run("sh", "-n", "-c", text)
        sources = "\n".join((SOURCE_ROOT / file).read_text(encoding="utf-8") for file in texts)
        for command in commands_of(text):
            name, rest = command[0], command[1:]
            if name == "sudo":
                name, rest = rest[0], rest[1:]
            if name == "python3" and rest and rest[0].endswith(".py"):
                name, rest = rest[0], rest[1:]
            options = [word for word in rest if word.startswith("--")]
            if name in ("troika", "build/troika"):
                for option in options:
                    assert re.search(rf"(^|[\s,]){option}\b", help_of(rest[0])), f"troika {rest[0]} has no {option}"
            elif name == "./tests/run":
                unknown = [word for word in rest if word not in suites()]
                assert not unknown, f"there is no suite {unknown}"
            elif (TUTORIALS / f"{name.removeprefix('./')}.c").exists():
                pass  # tutorials_test.py compiles and runs it
            elif name.startswith(("./", "tests/", "bindings/")):
                script = (SOURCE_ROOT / name).read_text(encoding="utf-8")
                missing = [option for option in options if option not in script]
                assert not missing, f"{name} has no {missing}"
            elif name == "apt-get":
                missing = [word for word in rest[1:] if not word.startswith("./") and word not in sources]
                assert not missing, f"{texts} name no {missing}"
            elif name.startswith("build/tests/"):
                target = name.removeprefix("build/")
                assert target in (BUILD / "build.ninja").read_text(encoding="utf-8"), f"there is no target {target}"
            elif name == "ninja":
                assert rest[-1] in (BUILD / "build.ninja").read_text(encoding="utf-8"), f"there is no target {rest[-1]}"
    return check


# Blocks of single pages.

def together(count, check):
    """A check of `count` blocks, which only work together: it runs at the last of them."""
    texts = []

    def gather(text, folder):
        texts.append(text)
        if len(texts) == count:
            check(*texts, folder)
    return gather


def merge_relus(implementation, declaration, test, folder):
    """The pass of a page, its declaration and its test: compiled, linked with the library's objects, and run."""
    declaration = f"namespace troika {{\n{declaration}}}\n"
    (folder / "merge_relus.h").write_text(declaration, encoding="utf-8")
    (folder / "merge_relus.cpp").write_text(implementation, encoding="utf-8")
    (folder / "merge_relus_test.cpp").write_text(test, encoding="utf-8")
    flags = ["-std=c++20", "-O0", f"-I{SOURCE_ROOT / 'src'}", f"-I{INCLUDE}", f"-I{SOURCE_ROOT / 'tests'}", "-include",
             folder / "passes.h"]
    # Graph must be declared before the new pass is.
    (folder / "passes.h").write_text('#include "passes/passes.h"\n#include "merge_relus.h"\n', encoding="utf-8")
    if not (BUILD / "libtroika_core.a").exists():
        raise Skipped("libtroika_core.a is missing")
    run(*shlex.split(os.environ.get("CXX", "c++")), *flags, folder / "merge_relus.cpp", folder / "merge_relus_test.cpp",
        BUILD / "libtroika_core.a", "-ldnnl", "-lz", "-ldl", "-lpthread", "-lgtest", "-lgtest_main", "-o", folder / "test")
    assert "[  PASSED  ] 1 test." in run(folder / "test")


def sockets_transport(definition, declaration, folder):
    """The example of a transport: it compiles against the real classes."""
    (folder / "transport.cpp").write_text(
        '#include "comm/transport.h"\n#include "comm/communicator.h"\n#include "comm/messenger.h"\nnamespace troika {\n' +
        declaration.replace("public:", "public:\n  explicit SocketsTransport(const World&) {}", 1) +
        "bool connects(const World& world);\n" + definition + "}\n", encoding="utf-8")
    run(*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-fsyntax-only", f"-I{SOURCE_ROOT / 'src'}", f"-I{INCLUDE}",
        folder / "transport.cpp")


def number_of_files(text, _):
    """The count of files that a page names, without git."""
    named = int(re.search(r"# average_decay: (\d+)", text)[1])
    found = [path for part in ("include", "src") for path in (SOURCE_ROOT / part).rglob("*")
             if path.is_file() and b"average_decay" in path.read_bytes()]
    assert len(found) == named, f"{len(found)} files name average_decay, the page says {named}"
    known()(text.split("\n", 1)[1], _)


def description(text, folder):
    """The JSON of a model: what the library writes."""
    made = run(python("numpy"), "-c", """import troika
net = troika.Model.empty(troika.Context(), "net")
net.set_output(net.add_linear("fc", net.add_input("x", (784,)), 10))
net.initialize()
print(net.to_json())""", env=environment(folder))
    assert json.loads(made) == json.loads(text), f"the library writes {made}"


def cmake(text, folder):
    """CMake's lines in a project, with an installed tree that has the plug-in of Gloo."""
    need("cmake")
    meson = next((path for path in (BUILD / "tools/bin/meson", SOURCE_ROOT / "build/tools/bin/meson") if path.exists()), "meson")
    run(meson, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder / "tree")
    if not list((folder / "tree").rglob("libtroika_gloo.so")):
        raise Skipped("the plug-in of Gloo was not built")
    (folder / "host.c").write_text(HOST, encoding="utf-8")
    find, link = text.splitlines()
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.16)\nproject(host C)\n{find}\n"
                                           f"add_executable(host host.c)\n{link}\n", encoding="utf-8")
    prefix = next((folder / "tree").rglob("include")).parent
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    run(folder / "build" / "host")


def version_of_project(check):
    """The file names of packages have the version of the project."""
    def checked(text, folder):
        version = re.search(r"^  version: '([^']+)'", (SOURCE_ROOT / "meson.build").read_text(encoding="utf-8"), flags=re.M)[1]
        for found in re.findall(r"troika\w*-(\d+\.\d+\.\d+)-", text):
            assert found == version, f"names {found}, the version is {version}"
        check(text, folder)
    return checked


PASS, TRANSPORT = together(3, merge_relus), together(2, sockets_transport)
DEVICES = """
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}, {TROIKA_DEVICE_CPU, 2}, {TROIKA_DEVICE_CPU, 3}};
  const int32_t device_count = 2, count = 2; (void)device_count; (void)count; (void)devices;"""
TRAINER = "troika_trainer trainer = NULL; troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT; (void)options;"
OPT = "troika_trainer_options opt = TROIKA_TRAINER_OPTIONS_INIT; troika_trainer trainer = NULL;"
ATTACH_4 = "CALL(troika_model_attach(model, devices, 4, &opt, &trainer, &error));"
README_C = """
  troika_context context = NULL; troika_model model = NULL, trained = NULL;
  troika_trainer trainer = NULL; troika_batch batch = NULL;
  troika_step_result result = TROIKA_STEP_RESULT_INIT; troika_metrics metrics = TROIKA_METRICS_INIT;
  troika_loader_options order = TROIKA_LOADER_OPTIONS_INIT;
  troika_dataset data = NULL; troika_loader loader = NULL, test_loader = NULL;
  const int64_t image[] = {1, 28, 28}; troika_context own = NULL;
  CALL(troika_context_create(NULL, &own, &error));
  CALL(troika_dataset_create_synthetic(own, image, 3, 8, 10, 1, &data, &error));
  order.batch = 4;
  CALL(troika_loader_create(data, &order, &loader, &error));
  CALL(troika_loader_create(data, &order, &test_loader, &error));"""
SERVED = CONTEXT + """
  troika_model model = NULL; troika_value x = 0; const int64_t image[] = {3, 8, 8}, n = 2;
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0}; static float images[2 * 192], scores[2 * 10], features[2 * 3];
  const int64_t scores_bytes = sizeof scores, features_bytes = sizeof features;
  CALL(troika_model_create_empty(context, "net", &model, &error));
  CALL(troika_model_add_input(model, "x", image, 3, &x, &error));
  CALL(troika_model_add_adaptive_avg_pool2d(model, "avgpool", x, 1, 1, &x, &error));
  CALL(troika_model_add_flatten(model, "flatten", x, &x, &error));
  CALL(troika_model_add_linear(model, "fc", x, 10, 1, &x, &error));
  CALL(troika_model_set_output(model, x, &error)); CALL(troika_model_initialize_default(model, 1, &error));
  CALL(troika_model_save(model, "weights.safetensors", &error));"""
NEWER = ZOO + """troika_model clone = NULL; CALL(troika_model_initialize_default(model, 1, &error));
  CALL(troika_model_save(model, "newer.safetensors", &error));"""
RESNET = CONTEXT + """troika_model model = NULL; troika_model_options small = TROIKA_MODEL_OPTIONS_INIT; small.input_height = 32;
  troika_trainer trainer = NULL; CALL(troika_model_create(context, "resnet18", &small, &model, &error));"""
RECORD = CONTEXT + """const troika_device cpu = {TROIKA_DEVICE_CPU, 0}; const float numbers[] = {3, 4}; const int64_t n = 2;
  troika_gradients record = NULL; troika_tensor w = NULL, square = NULL, loss = NULL, gradient = NULL;
  CALL(troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, &n, 1, numbers, &w, &error));"""
RECORDED = """float found[2]; CALL(troika_tensor_to_host(gradient, found, sizeof found, &error));
  if (found[0] != 6 || found[1] != 8) return 1;"""
RUN_2 = f"troika train {SMALL} --out run"

# By page: a check for each block of code, in order.
PAGES = {
    "README.md": [
        known(),
        fragment(README_C),
        shell(("--model d2l_resnet18 --data DIR", "--model mlp --data images"), ("--epochs 10", "--epochs 1"),
              ("--model own.safetensors --data DIR", "--model run/weights.safetensors --data images --epochs 1"),
              ("--batch 256 --lr", "--batch 32 --lr"), ("FILE", "run/weights.safetensors"), ("--steps 20", "--steps 1 --windows 1"),
              ("run1 run2", "run run"),
              ("python3 train.py", "python3 -c 'import troika; troika.Context()'")),
    ],
    "docs/abi.md": [known()],
    "docs/adding-a-pass.md": [PASS, PASS, excerpt("src/plan/compile.cpp", without=r".*merge_relus.*"), PASS, known()],
    "docs/adding-a-transport.md": [
        TRANSPORT, TRANSPORT, excerpt("src/comm/transports.cpp", without=r", &sockets_transport|#include.*"), known(),
    ],
    "docs/adding-an-op.md": [
        excerpt("src/ops/gelu.cpp"), excerpt("src/backends/kernels.def"), excerpt("src/backends/cpu/elementwise.cpp"),
        excerpt("src/backends/cuda/elementwise.cu"), excerpt("tests/conformance/cases.cpp"), known(), known(),
    ],
    "docs/adding-an-optimizer.md": [excerpt("src/ops/adagrad.cpp"), excerpt("src/backends/cpu/adagrad.cpp"), known()],
    "docs/adding-an-option.md": [
        excerpt("include/troika/trainer_options.h"), excerpt("src/api/trainer_fields.cpp"), excerpt("src/plan/step_spec.h"),
        excerpt("src/plan/step_spec.cpp"), excerpt("src/plan/compile.cpp"), excerpt("src/passes/optimizer.cpp"), number_of_files,
    ],
    # The tests of these two pages have the examples word for word, and run them.
    "docs/data.md": [excerpt("tests/api/data_page_test.cpp")] * 9,
    "docs/pieces.md": [excerpt("tests/api/pieces_examples_test.cpp")] * 2,
    "docs/descriptions.md": [
        fragment(ZOO), description,
        fragment(STEP + DEVICES.replace("device_count = 2", "device_count = 1") + """
            troika_model other_model = NULL; troika_trainer other_trainer = NULL;
            CALL(troika_model_create(context, "mlp", NULL, &other_model, &error));"""),
    ],
    "docs/first-program.md": [same_as(readme, language) for language, readme in PROGRAMS.items()],
    "docs/gpu.md": [known(), known(), known(), known(), known(), known(), known(), known()],  # need a GPU
    "docs/install.md": [
        known(),
        known("docs/setup.sh", "tests/run"),
        known(),
        known(),
        shell(after="./host"),
        cmake,
        lines_in("tests/packages/subproject.py"),
        lines_in("tests/packages/subproject.py"),
        known("docs/setup.sh"),
        known(),
        known(),
        version_of_project(known("bindings/packages/bundle.py")),
        known("docs/decisions/windows.md"),
        version_of_project(known()),
        shell(("$PWD/bindings", f"{SOURCE_ROOT}/bindings"), ("$PWD/build", str(BUILD))),
        known("tests/arm64", "bindings/packages/arm64.ini"),
        shell(("--synthetic 640", "--synthetic 128 --progress off")),
    ],
    "docs/migration.md": [
        program("torch", expect="0 2", RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())),
        program(expect=r"0 2\.\d+\n1 2"),
        program("torch"),
    ],
    "docs/optimizers.md": [
        fragment(ZOO + DEVICES + TRAINER),
        shell(("--batch 8192 --epochs 20", "--batch 64 --data images --epochs 2"), ("--warmup 16", "--warmup 1 --progress off")),
    ],
    "docs/performance.md": [known()] * 8,  # measurements, which take minutes
    "docs/planning.md": [
        shell(), shell(),
        fragment(ZOO + DEVICES + TRAINER),
    ],
    "docs/serving.md": [fragment(SERVED), fragment(NEWER)],
    "docs/several-machines.md": [
        shell(("troika train", f"troika train {SMALL}")),
        shell(("troika train", f"troika train {SMALL}")),
        # Both machines are this one, which shares its name and its folders with itself.
        shell(("eth0", "lo"), ("10.0.0.1:29400", "127.0.0.1:@port@"), ("troika train --out run\ntroika", f"{RUN_2} &\ntroika"),
              ("troika train --out run", RUN_2), after="wait\n"),
        fragment(ZOO + DEVICES + TRAINER.split(" troika_trainer_options", maxsplit=1)[0]),
        shell(("troika train", f"troika train {SMALL}"), ("--model d2l_lenet", "--model mlp --steps 1 --windows 1")),
    ],
    "docs/splitting-by-channel.md": [fragment(ZOO + DEVICES + OPT, ATTACH_4)],
    "docs/splitting-by-data.md": [
        fragment(ZOO + DEVICES + OPT, ATTACH_4),
        shell(("troika train --devices cuda:0,cpu:0", f"troika train {SMALL} --devices cpu:0,cpu:1")),
        shell(("troika train --devices", f"troika train {SMALL} --devices"), ("--resume run/", "--resume run/ --epochs 2")),
    ],
    "docs/splitting-by-layer.md": [fragment(RESNET + DEVICES, ATTACH_4)],
    "docs/layers.md": [
        fragment(SQUEEZED, "CALL(troika_model_set_output(model, x, &error));"),
        fragment(CONTEXT + "troika_model model = NULL; CALL(troika_model_create_empty(context, \"two\", &model, &error));"),
        fragment(CONTEXT + "troika_model table = NULL; CALL(troika_model_create_empty(context, \"table\", &table, &error));"),
        fragment(TOKENS, "CALL(troika_model_set_output(model, x, &error));"),
        fragment(ZOO),
        fragment(THREE_CLASSES + DEVICES + TRAINER, ATTACH_4.replace("&opt", "&options")),
    ],
    "docs/scores.md": [
        fragment(SCORED),
        shell(before=f"troika train {SMALL} --out run\n", after="grep -q ^9, scores/scores.csv\ngrep -q '</svg>' scores/confusion.svg\n"),
    ],
    "docs/tensors.md": [
        fragment(CONTEXT, 'if (strcmp(text, "f32[2, 3] on cpu:0\\n[[1.5, 2.5, 3.5],\\n [1.5, 2.5, 3.5]]") != 0) return 1;'),
        fragment(RECORD, RECORDED),
        # Other CPUs round in another way.
        c_program(r"step 0: loss 0\.8\d+\n(step \d+: loss 0\.[01]\d+\n){3}step 1000: loss 0\.0[56]\d*\n"),
    ],
    "docs/tutorials/data-parallel.md": [
        shell(("--model d2l_resnet18", SMALL)),
        *[excerpt("docs/tutorials/data_parallel.c")] * 4,
        known(),
        known(),
    ],
    "docs/tutorials/devices-and-lenet.md": [
        excerpt("docs/tutorials/devices.c"),
        known(),
        *[excerpt("docs/tutorials/devices.c")] * 2,
        excerpt("docs/tutorials/lenet_from_scratch.c"),
        *[excerpt("docs/tutorials/devices.c")] * 2,
        *[excerpt("docs/tutorials/lenet_in_pieces.c")] * 2,
        known(),
        known(),
        excerpt("docs/tutorials/data_parallel.c"),
        known(),
    ],
    "docs/tutorials/from-scratch.md": [*[excerpt("docs/tutorials/lenet_from_scratch.c")] * 4, known(), known()],
    "docs/tutorials/gluon.md": [*[excerpt("docs/tutorials/gluon.c")] * 7, known()],
    "docs/tutorials/parallel-training.md": [
        known("docs/tutorials/dawnbench.json"),
        excerpt("docs/tutorials/parallel_training.c"),
        shell(),
        shell(),
        excerpt("docs/tutorials/parallel_training.c"),
        excerpt("docs/tutorials/fine_tune_resnet50.c"),
        known(),
        known(),
        known(),
        excerpt("docs/tutorials/parallel_training.c"),
        shell(),
    ],
    "docs/watching-a-run.md": [
        shell(("--data DIR", "--data images --model mlp --epochs 1 --batch 32 --progress off"),
              ("tensorboard --logdir board", "ls board/first/*")),
        shell(before=f"troika train {SMALL} --out run\n"),
    ],
}


def test_page(page):
    """Runs the checks of a page. Returns the reasons of skipped blocks."""
    blocks, checks, skipped = blocks_of(page), PAGES.get(page, []), []
    assert len(blocks) == len(checks), f"{len(blocks)} blocks of code, {len(checks)} checks in snippets_test.py"
    for number, ((language, text, line), check) in enumerate(zip(blocks, checks), 1):
        with tempfile.TemporaryDirectory(prefix="troika-docs-") as folder:
            try:
                check(text, pathlib.Path(folder))
            except Skipped as reason:
                skipped.append(f"block {number}: {reason}")
            except Exception as error:
                raise AssertionError(f"line {line}, block {number} ({language}): {error}") from error
    return skipped


@functools.cache
def words_of_tree():
    """Every name of the library, its tool, its tests and its packages."""
    words = set()
    for part in ("include", "src", "tests", "bindings", "meson.options"):
        root = SOURCE_ROOT / part
        for path in [root] if root.is_file() else root.rglob("*"):
            if path.suffix in (".h", ".hpp", ".cpp", ".c", ".py", ".map", ".in", ".options", "") and path.is_file():
                words |= set(re.findall(rb"\b(?:troika|TROIKA)_\w+", path.read_bytes()))
    return {word.decode() for word in words}


def test_names(page):
    """Names in code on a page exist: functions, constants, structs, variables of the environment."""
    text = (SOURCE_ROOT / page).read_text(encoding="utf-8")
    names = {name for code in re.findall(r"`[^`]+`", text) for name in re.findall(r"\b(?:troika|TROIKA)_\w+\b(?!\*)", code)}
    unknown = sorted(name for name in names if not name.endswith("_") and name not in words_of_tree())
    assert not unknown, f"unknown names: {', '.join(unknown)}"


def main():
    chosen = sys.argv[1:]
    if "--copy-programs" in chosen:
        chosen.remove("--copy-programs")
        copy_programs()
    failed = False
    pages = sorted(path.relative_to(SOURCE_ROOT).as_posix() for path in [*TUTORIALS.parent.glob("*.md"), *TUTORIALS.glob("*.md")])
    for page in ["README.md", *pages]:
        name = re.sub(r"\W", "_", page.removesuffix(".md"))
        if chosen and page not in chosen and name not in chosen:
            continue
        try:
            test_names(page)
            skipped = test_page(page)
            print("\n".join([f"ok {name}", *(f"skip {name} {reason}" for reason in skipped)]), flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed = True
            print(f"not ok {name} {' '.join(str(error).split())}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
