#!/usr/bin/env python3
"""Checks what may never change: abi_test.py LIBTROIKA SOURCE_ROOT

Compares the headers with their description (bindings/interface/interface.json) and with the layout
on two processors. Compares the library with the list of symbols by version, and all types with the
baseline of version 1.0 (tests/interface/baseline.abi).

`abi_test.py --baseline SOURCE_ROOT` writes the baseline anew, and the headers of version 1.0 without
comments (tests/interface/troika-1.0.h). Never do that after 1.0 is released.

Prints one line per test: `ok NAME`, `not ok NAME reason` or `skip NAME reason`.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import Skipped, run, run_tests, tests_of  # pylint: disable=wrong-import-position

IS_BASELINE = sys.argv[1] == "--baseline"
LIBRARY = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
INCLUDE = ROOT / "include"
DESCRIBE = ROOT / "bindings" / "interface" / "describe.py"
INTERFACE = json.loads((ROOT / "bindings" / "interface" / "interface.json").read_text(encoding="utf-8"))
BASELINE = ROOT / "tests" / "interface" / "baseline.abi"
GROWN = ROOT / "tests" / "interface" / "grown.abignore"
HEADERS_1_0 = ROOT / "tests" / "interface" / "troika-1.0.h"
MAP = ROOT / "src" / "api" / "troika.map"
# tests/arm64 names a cross compiler, and what runs its programs: all sizes are those of x86-64.
CC = shlex.split(os.environ.get("CC", "cc"))
EMULATOR = os.environ.get("TROIKA_EMULATOR", "")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]


def test_description_is_that_of_the_headers(_):
    run(sys.executable, DESCRIBE, "--check", "--cc", shlex.join(CC), "--emulator", EMULATOR)


def layout_checks():
    """Returns C declarations that compile only if every size, offset and value is as described."""
    checks = ["#include <stddef.h>", "#include <troika/troika.h>"]

    def check(condition):
        checks.append(f"typedef char check_{len(checks)}[({condition}) ? 1 : -1];")

    for value in [value for enum in INTERFACE["enums"] for value in enum["values"]] + INTERFACE["constants"]:
        check(f"{value['name']} == {value['value']}" if value["value"] > -2**31 else f"{value['name']} == -2147483647 - 1")
    for struct in INTERFACE["structs"]:
        check(f"sizeof({struct['name']}) == {struct['size']}")
        for field in struct["fields"]:
            check(f"offsetof({struct['name']}, {field['name']}) == {field['offset']}")
            check(f"sizeof((({struct['name']} *)0)->{field['name']}) == {field['size']}")
    return "\n".join(checks) + "\n"


def check_layout(folder, compiler):
    source = folder / "layout.c"
    source.write_text(layout_checks(), encoding="utf-8")
    run(*compiler, *STRICT, "-ffreestanding", "-fsyntax-only", source)


def test_layout_on_this_processor(folder):
    assert len(layout_checks().splitlines()) > 500
    check_layout(folder, CC)


def test_layout_on_arm64(folder):
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if not compiler:
        raise Skipped("there is no aarch64-linux-gnu-gcc")
    check_layout(folder, [compiler])


def test_structs_have_no_gaps(_):
    """Padding would be bytes whose value nobody sets, in a struct whose tail must be 0."""
    for struct in INTERFACE["structs"]:
        end = 0
        for field in struct["fields"]:
            assert field["offset"] == end, f"{struct['name']}: {end - field['offset']} bytes before {field['name']}"
            end += field["size"]
        assert end == struct["size"], f"{struct['name']}: {struct['size'] - end} bytes at the end"


def test_structs_begin_with_their_size_or_never_grow(_):
    closed = {struct["name"] for struct in INTERFACE["structs"] if struct["fields"][0]["name"] != "struct_size"}
    assert closed == {"troika_device", "troika_error", "troika_mesh"}, closed
    without_default = {struct["name"] for struct in INTERFACE["structs"] if not struct["default"]} - closed
    assert without_default == {"troika_progress", "troika_read_request"}, without_default


def test_a_name_has_one_type(_):
    """An integer field or argument of some name has the same width in the whole interface."""
    types = {}
    for owner in INTERFACE["structs"] + INTERFACE["functions"] + INTERFACE["callbacks"]:
        for part in owner.get("fields", []) + owner.get("parameters", []):
            kind = part["type"].removeprefix("const ").rstrip(" *")
            if kind in ("int32_t", "int64_t", "uint32_t", "uint64_t"):
                types.setdefault(part["name"].removeprefix("out_"), set()).add(kind)
    several = {name: sorted(kinds) for name, kinds in types.items() if len(kinds) > 1}
    assert several.pop("labels") == ["int32_t", "int64_t"]  # the labels of an array, or their number
    assert len(types) > 100 and not several, several


def declared_functions():
    return {function["name"] for function in INTERFACE["functions"]}


def versions_in_map():
    """Returns the functions of each version in the linker's map."""
    text = MAP.read_text(encoding="utf-8")
    return {version: set(re.findall(r"\b(troika_\w+);", body)) for version, body in
            re.findall(r"^(TROIKA_[\d.]+) \{(.*?)^\}", text, flags=re.S | re.M)}


def test_symbols_are_listed_by_version(_):
    listed = versions_in_map()
    functions = [name for names in listed.values() for name in names]
    assert sorted(functions) == sorted(declared_functions()), set(functions) ^ declared_functions()
    exported = dict(line.split()[-1].split("@@") for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()
                    if "@@" in line)
    wanted = {name: version for version, names in listed.items() for name in names}
    exported = {name: version for name, version in exported.items() if name.startswith("troika_")}
    assert exported == wanted, set(exported.items()) ^ set(wanted.items())


def write_stub(folder):
    """Builds a library with the declarations of the headers and empty functions, for libabigail."""
    parts = ["#include <troika/troika.h>"]
    for function in INTERFACE["functions"]:
        arguments = ", ".join(f"{part['type']} {part['name']}" for part in function["parameters"]) or "void"
        unused = " ".join(f"(void){part['name']};" for part in function["parameters"])
        parts.append(f"{function['returns']} {function['name']}({arguments}) {{ {unused} "
                     f"{'' if function['returns'] == 'void' else 'return 0; '}}}")
    # The types of callbacks and of structs that no function names.
    parts += [f"extern {thing['name']} *use_of_{thing['name']}; {thing['name']} *use_of_{thing['name']};"
              for thing in INTERFACE["callbacks"] + INTERFACE["structs"]]
    source, library = folder / "stub.c", folder / "libtroika.so"
    source.write_text("\n".join(parts) + "\n", encoding="utf-8")
    run(*CC, "-std=c99", "-w", "-g", "-fPIC", "-shared", f"-I{INCLUDE}", source, "-o", library, cwd=folder)
    return library


def write_baseline(library, output):
    run("abidw", "--headers-dir", INCLUDE / "troika", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
        "--out-file", output, library)
    output.write_text(re.sub(r"path='[^']*/stub\.c'", "path='stub.c'", output.read_text(encoding="utf-8")), encoding="utf-8")


def headers_without_comments():
    """Returns all headers as one, in the order of their includes."""
    texts, seen = [], set()

    def add(name):
        if name in seen:
            return
        seen.add(name)
        text = (INCLUDE / "troika" / name).read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for other in re.findall(r"#include <troika/(.+)>", text):
            add(other)
        text = re.sub(r"#include <troika/.*>\n|^#ifndef TROIKA_\w+_H\n#define TROIKA_\w+_H\n", "", text.lstrip(), flags=re.M)
        text = re.sub(r"\n#endif\s*$", "\n", text)
        texts.append(re.sub(r"\s*\n(\s*\n)*", "\n", text).strip())

    add("troika.h")
    return "\n".join(text for text in texts if text) + "\n"


def write_headers(output):
    output.write_text("/* The declarations of version 1.0, without comments: hosts that are built with this file are hosts\n"
                      " * of 1.0 for ever. abi_test.py --baseline writes the file. */\n"
                      "#ifndef TROIKA_TROIKA_H\n#define TROIKA_TROIKA_H\n" + headers_without_comments() + "#endif\n",
                      encoding="utf-8")


def test_nothing_of_the_baseline_has_changed(folder):
    if not shutil.which("abidiff"):
        raise Skipped("there is no abidiff")
    run("abidiff", "--no-architecture", "--no-added-syms", "--suppressions", GROWN, BASELINE, write_stub(folder))


def test_a_change_of_the_baseline_is_found(folder):
    """A library whose function has lost an argument differs from the baseline."""
    if not shutil.which("abidiff"):
        raise Skipped("there is no abidiff")
    write_stub(folder)
    source = folder / "stub.c"
    text = source.read_text(encoding="utf-8")
    header = (INCLUDE / "troika" / "status.h").read_text(encoding="utf-8")
    (folder / "troika").mkdir()
    for path in (INCLUDE / "troika").glob("*.h"):
        shutil.copy(path, folder / "troika")
    (folder / "troika" / "status.h").write_text(header.replace("int32_t status; /**<", "int64_t status; /**<"), encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    run(*CC, "-std=c99", "-w", "-g", "-fPIC", "-shared", f"-I{folder}", source, "-o", folder / "libtroika.so", cwd=folder)
    finished = subprocess.run(["abidiff", "--no-architecture", BASELINE, folder / "libtroika.so"], capture_output=True, text=True, check=False)
    assert finished.returncode != 0 and "troika_error" in finished.stdout, finished.stdout



def main():
    if IS_BASELINE:
        with tempfile.TemporaryDirectory(prefix="troika-abi-") as folder:
            write_baseline(write_stub(pathlib.Path(folder)), BASELINE)
            write_headers(HEADERS_1_0)
        return
    run_tests(tests_of(globals()))


if __name__ == "__main__":
    main()
