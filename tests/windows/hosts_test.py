#!/usr/bin/env python3
"""Checks the library for Windows, and hosts in C and C# under Wine: hosts_test.py BUILD [NAME...]

BUILD is a build folder for Windows that was compiled. Prints one line per test.
"""

import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "bindings")]
from languages import FASHION_MNIST, lines_of, program_in  # pylint: disable=wrong-import-position
from scripts import Skipped, need, run, run_tests, tests_of  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv[1]).resolve()
DLL = BUILD / "troika.dll"
ONEDNN = ROOT / "build" / "windows-root" / "bin" / "dnnl.dll"
WINE = ROOT / "tests" / "windows" / "wine"
NET = ROOT / "build" / "windows-net" / "dotnetcore2" / "bin"
INTERFACE = json.loads((ROOT / "bindings" / "interface" / "interface.json").read_text(encoding="utf-8"))
# Parts of Windows. The others are in Microsoft's package for Visual C++, which oneDNN needs.
SYSTEM = {"KERNEL32.dll", "ADVAPI32.dll", "msvcrt.dll", "SHELL32.dll"}
CC = ["x86_64-w64-mingw32-gcc-posix", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D__USE_MINGW_ANSI_STDIO=1",
      f"-I{ROOT / 'include'}"]


def dump(file):
    return run("x86_64-w64-mingw32-objdump", "-p", file)


def exports(file):
    table = dump(file).split("[Ordinal/Name Pointer] Table", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\s*\[ *\d+\] (\S+)$", table, flags=re.M)


def path_on_windows(path):
    return "Z:" + str(path).replace("/", "\\")


def test_exports_the_functions_of_the_interface_and_nothing_else(_):
    names = sorted(function["name"] for function in INTERFACE["functions"])
    assert len(names) > 150 and sorted(exports(DLL)) == names, sorted(set(exports(DLL)) ^ set(names))


def test_needs_windows_and_onednn(_):
    for file in (DLL, BUILD / "troika.exe"):
        needed = set(re.findall(r"DLL Name: (\S+)", dump(file)))
        assert needed - SYSTEM <= {"dnnl.dll", "troika.dll"}, needed
    assert "dnnl.dll" in re.findall(r"DLL Name: (\S+)", dump(DLL))


def test_layout(folder):
    """Sizes and offsets are those of Linux, so that one description serves both."""
    checks = ["#include <stddef.h>", "#include <troika/troika.h>"]
    for struct in INTERFACE["structs"]:
        conditions = [f"sizeof({struct['name']}) == {struct['size']}"]
        conditions += [f"offsetof({struct['name']}, {field['name']}) == {field['offset']}" for field in struct["fields"]]
        checks += [f"typedef char check_{len(checks)}_{i}[({condition}) ? 1 : -1];" for i, condition in enumerate(conditions)]
    assert len(checks) > 30, checks
    (folder / "layout.c").write_text("\n".join(checks) + "\n", encoding="utf-8")
    run(*CC, "-c", folder / "layout.c", "-o", folder / "layout.o")


def test_import_library_of_other_linkers(folder):
    """The .def file makes a .lib, with which a program links and runs."""
    run("x86_64-w64-mingw32-dlltool", "-d", BUILD / "troika.def", "-D", "troika.dll", "-l", folder / "troika.lib")
    (folder / "version.c").write_text('#include <stdio.h>\n#include <troika/troika.h>\n'
                                      'int main(void) { printf("%d\\n", troika_version()); return 0; }\n', encoding="utf-8")
    run(*CC, folder / "version.c", folder / "troika.lib", "-o", folder / "version.exe")
    assert re.fullmatch(r"1\d{4}\n", run(WINE, folder / "version.exe")), run(WINE, folder / "version.exe")


def test_program_of_the_readme(folder):
    """In a folder of its own with both libraries, whose name Windows' code pages do not have."""
    if not FASHION_MNIST.exists():
        raise Skipped("Fashion-MNIST is not installed")
    place = folder / "läuft 水"
    place.mkdir()
    program = program_in(ROOT / "bindings" / "README.md", "c")
    assert len(lines_of(program)) <= 30, program
    (folder / "main.c").write_text(program, encoding="utf-8")
    run(*CC, folder / "main.c", f"-L{BUILD}", "-ltroika", "-o", place / "main.exe")
    for library in (DLL, ONEDNN):
        shutil.copy(library, place)
    output = run(WINE, "./main.exe", path_on_windows(FASHION_MNIST), cwd=place, timeout=900)
    tool = run(WINE, BUILD / "troika.exe", "train", "--model", "d2l_lenet", "--data", FASHION_MNIST, "--devices", "cpu:0,cpu:1",
               "--batch", "256", "--lr", "0.05", "--momentum", "0.9", "--epochs", "1", "--out", folder / "run", "--progress", "json",
               timeout=900)
    epoch = next(json.loads(line) for line in tool.splitlines() if '"event":"epoch"' in line)
    losses = [float(re.search(rf"{part} loss ([-+.eE\d]+)", output)[1]) for part in ("train", "test")]
    assert losses == [epoch["loss"], epoch["test_loss"]] and losses[0] < 2.25 and losses[1] < 1.5, (losses, epoch)
    predicted = run(WINE, "./main.exe", path_on_windows(FASHION_MNIST), "predict", cwd=place)
    assert re.search(r"^class \d$", predicted, flags=re.M), predicted


LATE = """
#include <stdio.h>
#include <troika/troika.h>
#include <windows.h>

/* Opens the library by its path, and saves a model in a file of a name in UTF-8. */
int main(void) {
  HMODULE library = LoadLibraryExW(L"\\u6c34\\\\troika.dll", NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (!library) return printf("error %lu\\n", GetLastError()), 1;
#define FIND(name) \\
  __typeof__(name) *find_##name = (__typeof__(name) *)(void *)GetProcAddress(library, #name)
  FIND(troika_context_create);
  FIND(troika_model_create);
  FIND(troika_model_initialize_default);
  FIND(troika_model_save);
  FIND(troika_model_load);
  FIND(troika_file_inspect);
  troika_error error = {0};
  troika_context context;
  troika_model model;
  int64_t size;
  if (find_troika_context_create(NULL, &context, &error) || find_troika_model_create(context, "d2l_lenet", NULL, &model, &error) ||
      find_troika_model_initialize_default(model, 7, &error) || find_troika_model_save(model, "\\xc3\\xa4\\xe6\\xb0\\xb4.safetensors", &error) ||
      find_troika_file_inspect("\\xc3\\xa4\\xe6\\xb0\\xb4.safetensors", NULL, 0, &size, &error))
    return printf("%s\\n", error.message), 1;
  printf("saved\\n");
  find_troika_model_load(model, "\\xff.safetensors", NULL, NULL, &error);
  printf("%s\\n", error.message);
  return 0;
}
"""


def test_opens_the_library_late_and_files_by_utf8(folder):
    (folder / "水").mkdir()
    for library in (DLL, ONEDNN):
        shutil.copy(library, folder / "水")
    (folder / "late.c").write_text(LATE, encoding="utf-8")
    run(*CC[:1], "-std=gnu99", "-Wall", CC[-1], folder / "late.c", "-o", folder / "late.exe")
    lines = run(WINE, folder / "late.exe", cwd=folder).splitlines()
    assert lines[0] == "saved" and (folder / "ä水.safetensors").stat().st_size > 100_000, lines
    assert r"\xff.safetensors" in lines[1] and len(lines) == 2, lines


def test_tool_refuses_jobs_of_several_processes(_):
    """The tests of troika run are left out, because this is all that it does on Windows."""
    for words in (["train", "--processes", "2"], ["bench", "--model", "mlp", "--processes", "2"], ["run", "--", "cmd"]):
        output = run(WINE, BUILD / "troika.exe", *words, expect=1)
        assert re.fullmatch(r"troika: .*on Windows a job has one process.*\n", output), output


def test_archive(folder):
    """Two archives have the same bytes, and what they have runs by itself."""
    for name in ("a", "b"):
        run(sys.executable, ROOT / "bindings" / "packages" / "windows_archive.py", BUILD, folder / name)
    first, second = (next((folder / name).glob("*.zip")) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    shutil.unpack_archive(first, folder)
    place = folder / first.stem
    assert len(list((place / "licences").iterdir())) == 6, list((place / "licences").iterdir())
    assert exports(place / "bin" / "troika.dll") == exports(DLL)
    output = run(WINE, place / "bin" / "troika.exe", "train", "--model", "mlp", "--synthetic", "100", "--epochs", "1", "--out", "run",
                 cwd=folder, env={"TROIKA_WINE_PATH": ""})
    assert "trained to epoch 1" in output and (folder / "run" / "weights.safetensors").exists(), output


def test_csharp_on_net(folder):
    """The assembly and its tests, as compiled for Linux."""
    need("mcs")
    if not NET.exists():
        raise Skipped("there is no .NET for Windows")
    os.environ["TROIKA_NET"] = str(NET)
    from csharp_test import UNITS, tests_on_net  # pylint: disable=import-outside-toplevel
    for file in tests_on_net().parent.glob("*"):
        shutil.copy(file, folder)
    for library in (DLL, ONEDNN):
        shutil.copy(library, folder)
    for unit in UNITS:
        output = run(WINE, NET / "dotnet.exe", "exec", "--runtimeconfig", "Tests.runtimeconfig.json", "Tests.exe", f"{unit}Tests",
                     cwd=folder, env={"TROIKA_LIBRARY": None}, timeout=300)
        assert re.search(r"^[1-9]\d* passed, 0 failed$", output, flags=re.M), (unit, output)


if __name__ == "__main__":
    run_tests(tests_of(globals()), sys.argv[2:])
