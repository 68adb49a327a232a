#!/usr/bin/env python3
"""Tests of the binding for C#: csharp_test.py [NAME...]

Needs Mono with its compiler. The tests on .NET need the wheel dotnetcore2, which has the runtime.
Prints one line per test.
"""

import functools
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys

from languages import BINDINGS, BUILD, FASHION_MNIST, compare_losses, lines_of, linked, names_of_values, program_in
from scripts import Skipped, main, need, run

FOLDER = BINDINGS / "csharp"
BUILT = BUILD / "bindings" / "csharp"
ENVIRONMENT = {"TROIKA_LIBRARY": str(BUILD / "libtroika.so.1")}
# Mono then stops threads without signals.
COOPERATIVE = {"MONO_THREADS_SUSPEND": "coop"}
COLLECTING = {"MONO_GC_DEBUG": "collect-before-allocs"}
# The program around the piece of the README about weights.
WEIGHTS = """using System;
using System.Linq;
using Troika;

static class Weights
{
    static void Main()
    {
        var context = new Context();
        Dataset dataset = Dataset.CreateSynthetic(context, new long[] { 1, 28, 28 }, 64, 10);
        Model model = Model.Create(context, "d2l_lenet");
        PIECE
        Console.WriteLine("shares {0} weight {1}", string.Join(" ", trainer.Options.Shares), loader.First().GetWeights()[0]);
    }
}
"""
UNITS = ("Library", "Context", "Tensor", "Operation", "Gradient", "Dataset", "Model", "Trainer", "Group", "Callback",
         "Cancellation", "Lifetime", "Leak", "Thread")


def sources(folder):
    return sorted((FOLDER / folder).rglob("*.cs"))


def compile_cs(target, *arguments):
    need("mcs")
    BUILT.mkdir(parents=True, exist_ok=True)
    kind = "library" if target.endswith(".dll") else "exe"
    run("mcs", "-warnaserror", f"-target:{kind}", f"-out:{BUILT / target}", *arguments)


@functools.cache
def assembly():
    """Compiles the assembly. A public item without a comment is an error."""
    compile_cs("Troika.Net.dll", "-unsafe", "-define:SPAN", f"-doc:{BUILT / 'Troika.Net.xml'}", *sources("Troika"))
    shutil.copy(FOLDER / "Troika" / "Troika.Net.dll.config", BUILT)
    return BUILT / "Troika.Net.dll"


@functools.cache
def tests_program():
    compile_cs("Tests.exe", "-debug", "-define:SPAN", f"-r:{assembly()}", *sources("tests"))
    return BUILT / "Tests.exe"


def mono(*arguments, env=None, **settings):
    need("mono")
    return run("mono", "--debug", *arguments, env={**linked(), **ENVIRONMENT, **(env or {})}, **settings)


@functools.cache
def net():
    """Returns the folder of .NET's program, and that of its assemblies. TROIKA_NET may name the first."""
    program = os.environ.get("TROIKA_NET")
    if not program:
        wheel = importlib.util.find_spec("dotnetcore2")
        if not wheel:
            raise Skipped("there is no wheel dotnetcore2")
        program = pathlib.Path(wheel.submodule_search_locations[0]) / "bin"
    program = pathlib.Path(program)
    return program, next((program / "shared" / "Microsoft.NETCore.App").iterdir())


@functools.cache
def tests_on_net():
    """Compiles the assembly and the tests for .NET, against the assemblies of its runtime."""
    libraries = [path for path in net()[1].glob("*.dll") if path.name.startswith(("System.", "netstandard")) and "Native" not in path.name]
    # 1702: .NET's assemblies name older versions of each other.
    arguments = ["-nostdlib", "-noconfig", "-nowarn:1702", "-unsafe", "-define:SPAN", "-define:NET", *(f"-r:{path}" for path in libraries)]
    (BUILT / "net").mkdir(parents=True, exist_ok=True)
    compile_cs("net/Troika.Net.dll", *arguments, *sources("Troika"))
    compile_cs("net/Tests.exe", *arguments, f"-r:{BUILT / 'net' / 'Troika.Net.dll'}", *sources("tests"))
    framework = {"name": "Microsoft.NETCore.App", "version": net()[1].name}
    settings = {"runtimeOptions": {"framework": framework, "configProperties": {"System.Globalization.Invariant": True}}}
    (BUILT / "net" / "Tests.runtimeconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    return BUILT / "net" / "Tests.exe"


def on_net(name, **settings):
    tests = tests_on_net()
    program = net()[0] / "dotnet"
    program.chmod(0o755)
    return run(program, "exec", "--runtimeconfig", tests.with_suffix(".runtimeconfig.json"), tests, *name.split(), **settings)


def functions():
    return [function["name"] for function in json.loads((BINDINGS / "interface" / "interface.json").read_text())["functions"]]


def test_declarations_are_those_of_the_interface(_):
    run(sys.executable, BINDINGS / "generate.py", "--check", "csharp")


def test_comments_have_names_of_csharp(_):
    """Comments of public items that are generated have no value of an enum as C names it."""
    for path in [FOLDER / "Troika/Generated/Enums.cs", *sources("Troika/Generated/Options"), *sources("Troika/Generated/Infos")]:
        found = re.search(names_of_values(), path.read_text(encoding="utf-8"))
        assert not found, (path.name, found[0])


def test_compiles_without_spans(_):
    """As .NET Standard 2.0 does."""
    compile_cs("TroikaStandard.dll", "-unsafe", *sources("Troika"))


def test_all_units_on_net(folder):
    for unit in UNITS:
        output = on_net(f"{unit}Tests", cwd=folder, env=ENVIRONMENT, timeout=120)
        assert re.fullmatch(r"[1-9]\d* passed, 0 failed\n", output), (unit, output)


def test_finding_the_library_on_net(folder):
    """TROIKA_LIBRARY, then the assembly's folder, then the system's."""
    def version(**environment):
        return on_net("describe version", cwd=folder, env={"TROIKA_LIBRARY": None, "LD_LIBRARY_PATH": None, **environment})
    named = version(**ENVIRONMENT)
    assert re.match(r"1\.\d+\.\d+\n", named), named
    assert version(LD_LIBRARY_PATH=str(BUILD)) == named
    beside = tests_on_net().with_name("libtroika.so.1")
    beside.symlink_to(BUILD / "libtroika.so.1")
    try:
        assert version() == named
    finally:
        beside.unlink()


def test_layout(_):
    """Sizes of structs and offsets of fields are those that the C compiler found."""
    found = dict(line.rsplit(" ", 1) for line in mono(tests_program(), "describe", "layout").splitlines())
    structs = json.loads((BINDINGS / "interface" / "interface.json").read_text())["structs"]
    wanted = {struct["name"]: str(struct["size"]) for struct in structs}
    wanted |= {f"{struct['name']}.{field['name']}": str(field["offset"]) for struct in structs for field in struct["fields"]}
    assert found == wanted, sorted(found.items() ^ wanted.items())[:4]


def test_every_function_is_used(_):
    """By a file that is written by hand; `_init` and `_destroy` by generated structs and handles."""
    by_hand = "".join(path.read_text(encoding="utf-8") for path in sources("Troika") if "Generated" not in path.parts)
    generated = "".join(path.read_text(encoding="utf-8") for path in sources("Troika/Generated"))
    names = functions()
    assert len(names) > 150, names
    for name in names:
        text = generated if name.endswith(("_init", "_destroy")) else by_hand
        assert re.search(rf"NativeMethods\.{name}\b", text), f"nothing calls {name}"
        struct = name.removesuffix("_init")
        if name.endswith("_init"):
            assert f"{struct}.Default()" in by_hand + generated, f"nothing uses the defaults of {struct}"


def test_every_public_member_is_tested(_):
    """Each public method and property is named in a test, except properties of options and results."""
    tested = "".join(path.read_text(encoding="utf-8") for path in sources("tests"))
    members = [line.split() for line in mono(tests_program(), "describe", "members").splitlines()]
    assert len(members) > 300, len(members)
    generated = "".join(path.read_text(encoding="utf-8") for kind in ("Options", "Infos") for path in sources(f"Troika/Generated/{kind}"))
    data = set(re.findall(r"public sealed partial class (\w+)", generated))
    missing = [f"{kind}.{member}" for kind, member in members if kind not in data and not re.search(rf"\b{member}\b", tested)]
    # The interface IEnumerable calls this one.
    assert missing == ["Loader.GetEnumerator"], missing


def unit_test(name, *environments):
    """Runs the tests of a class, once in each environment."""
    def test(folder):
        for environment in environments or ({},):
            output = mono(tests_program(), name, cwd=folder, env=environment, timeout=120)
            assert re.fullmatch(r"[1-9]\d* passed, 0 failed\n", output), output
    return test


RUNS = {
    "Library": [COLLECTING], "Tensor": [{}, COLLECTING], "Operation": [{}, COLLECTING], "Gradient": [{}, COLLECTING],
    "Dataset": [{}, COLLECTING], "Group": [COLLECTING],
    "Callback": [{}, COLLECTING, COOPERATIVE], "Cancellation": [{}, COLLECTING], "Lifetime": [{}, COLLECTING, COOPERATIVE],
    "Thread": [{}, COLLECTING],
}
for unit in UNITS:
    globals()[f"test_{unit.lower()}"] = unit_test(f"{unit}Tests", *RUNS.get(unit, []))


def test_forgotten_objects(folder):
    """A program ends with 0 though it closed nothing and the library works for it."""
    output = mono(tests_program(), "forget", cwd=folder, timeout=60)
    assert output == "left\n", output


def test_finding_the_library(folder):
    """TROIKA_LIBRARY, then the assembly's folder, then the system's; an older library is refused."""
    def find(expect=0, **environment):
        return mono(folder / "Tests.exe", "describe", "version", expect=expect, env={"LD_LIBRARY_PATH": "", **environment}).splitlines()
    for path in (tests_program(), assembly(), FOLDER / "Troika" / "Troika.Net.dll.config"):
        shutil.copy(path, folder)
    failed = "\n".join(find(1, TROIKA_LIBRARY=""))
    for place in (f"{folder}/libtroika.so.1 (no such file)", "libtroika.so.1 (", "TROIKA_LIBRARY may name it"):
        assert place in failed, failed
    failed = "\n".join(find(1, TROIKA_LIBRARY="/nowhere/x.so"))
    assert "tried /nowhere/x.so (no such file);" in failed, failed
    version = find()
    assert re.fullmatch(r"1\.\d+\.\d+", version[0]), version
    assert find(TROIKA_LIBRARY="", LD_LIBRARY_PATH=str(BUILD)) == version
    (folder / "libtroika.so.1").symlink_to(BUILD / "libtroika.so.1")
    assert find(TROIKA_LIBRARY="") == version
    (folder / "old.c").write_text("int troika_version(void) { return 10002; }\n", encoding="utf-8")
    run("cc", "-shared", "-fPIC", "-Wl,-soname,libtroika.so.1", folder / "old.c", "-o", folder / "old.so")
    (folder / "libtroika.so.1").unlink()
    failed = "\n".join(find(1, TROIKA_LIBRARY=str(folder / "old.so")))
    assert "the library is troika 1.0.2, this assembly needs 1.1 or a later 1.x" in failed, failed


def test_main_flow(folder):
    """The program of the README, by its commands: two processes, the second one predicts."""
    if not FASHION_MNIST.exists():
        raise Skipped("Fashion-MNIST is not installed")
    need("mcs")
    program = program_in(FOLDER / "README.md", "csharp")
    assert len(lines_of(program)) <= 25, f"the program has {len(lines_of(program))} lines"
    (folder / "LeNet.cs").write_text(program, encoding="utf-8")
    (folder / "Troika").symlink_to(FOLDER / "Troika")
    for command in program_in(FOLDER / "README.md", "sh").splitlines():
        run("sh", "-c", command, cwd=folder)
    output = mono("LeNet.exe", cwd=folder)
    compare_losses(output)
    assert re.search(r"accuracy 0\.[4-9]\d*\n", output), output
    predicted = mono("LeNet.exe", "predict", cwd=folder)
    assert re.fullmatch(r"class \d\n", predicted) and predicted in output, (predicted, output)


def test_weights_of_the_readme(folder):
    """The piece of the README about weights, uneven parts and augmentation runs with the options that it sets."""
    piece = program_in(FOLDER / "README.md", "csharp", 1)
    (folder / "Weights.cs").write_text(WEIGHTS.replace("PIECE", piece), encoding="utf-8")
    compile_cs("Weights.exe", f"-r:{assembly()}", folder / "Weights.cs")
    output = mono(BUILT / "Weights.exe")
    assert re.fullmatch(r"Metrics \{ Loss = \d+\.\d+, Accuracy = .*, Status = Ok \}\nshares 3 1 weight 4\n", output), output


def test_step_of_the_readme(_):
    """The README's step of a regression is one of the tests, word for word."""
    step = program_in(FOLDER / "README.md", "csharp", 2).split()
    assert " ".join(step) in " ".join((FOLDER / "tests" / "GradientTests.cs").read_text(encoding="utf-8").split())


def test_progress_window(_):
    """The window shows the progress, answers while the trainer works, and cancels the training."""
    need("xvfb-run")
    compile_cs("ProgressWindow.exe", f"-r:{assembly()}", "-r:System.Windows.Forms", "-r:System.Drawing",
               *sources("examples/ProgressWindow"))
    output = run("xvfb-run", "-a", "mono", BUILT / "ProgressWindow.exe", "--cancel-at", "5", env={**linked(), **ENVIRONMENT},
                 timeout=120)
    output = output.replace("Could not set X locale modifiers\n", "")  # of Mono, without the system's locales
    found = re.fullmatch(r"before: Epoch 1 of 2: loss (\d\.\d{4})\ndone: (0\.\d\d)\nafter: Canceled after (\d+) steps\n"
                         r"longest gap: (\d+) ms\n", output)
    assert found, output
    # 2 epochs of 313 steps: 5 % are 32 steps.
    assert 0.05 <= float(found[2]) < 0.2 and 32 <= int(found[3]) < 200, output
    assert int(found[4]) < 2000, f"the window did not answer for {found[4]} ms"


def test_bench(_):
    compile_cs("Bench.exe", f"-r:{assembly()}", *sources("bench"))
    output = mono(BUILT / "Bench.exe", "320")
    found = re.fullmatch(r"call ns ([\d.]+)\nepoch images/s ([\d.]+)\nsteps images/s ([\d.]+)\n", output)
    assert found and all(float(value) > 0 for value in found.groups()), output


if __name__ == "__main__":
    main(globals())
