#!/usr/bin/env python3
"""Runs hosts of one version on libraries of another: versions_test.py LIBTROIKA SOURCE_ROOT

- A host of version 1.0 (troika-1.0.h) on this library.
- A host of version 1.0 on a library whose structs have all grown by 16 bytes.
- A host of those grown headers on this library.

The hosts and the functions of the C interface run under the address sanitizer.

Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import run, run_tests, tests_of  # pylint: disable=wrong-import-position

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
BUILD = LIBRARY.parent
HERE = ROOT / "tests" / "interface"
GROWTH = 16
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
SANITIZE = ["-fsanitize=address", "-g1"]
UNSUPPORTED = -4


def sized_structs():
    """Returns the structs with a struct_size, and their sizes in version 1.0."""
    interface = json.loads((ROOT / "bindings" / "interface" / "interface.json").read_text(encoding="utf-8"))
    return {struct["name"]: struct["size"] for struct in interface["structs"] if struct["default"]}


def grow_headers(folder):
    """Writes headers whose structs have 16 bytes more, and the sizes that they had before."""
    shutil.copytree(ROOT / "include" / "troika", folder / "troika")
    structs = sized_structs()
    for path in (folder / "troika").glob("*.h"):
        text = path.read_text(encoding="utf-8")
        for name in structs:
            text = re.sub(rf"^\}} {name};", f"  int64_t grown[{GROWTH // 8}];\n}} {name};", text, flags=re.M)
            text = re.sub(rf"(#define {name.upper()}_INIT\b(?:[^\n]*\\\n)*[^\n]*?)(\s*\\?\s*)\}}[ ]*$", r"\1, {0, 0}\2}",
                          text, flags=re.M)
        path.write_text(text, encoding="utf-8")
    (folder / "api").mkdir()
    sizes = "".join(f"TROIKA_EARLIER_SIZE({name}, {size})\n" for name, size in structs.items())
    known = (ROOT / "src" / "api" / "earlier_sizes.def").read_text(encoding="utf-8")
    (folder / "api" / "earlier_sizes.def").write_text(known + sizes, encoding="utf-8")


def build_grown_library(folder):
    """Compiles the functions of the interface against the grown headers, and links them with this build's objects."""
    grow_headers(folder)
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    objects = []

    def compile_one(entry):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        arguments = shlex.split(entry["command"])
        arguments = arguments[1:] if "ccache" in arguments[0] else arguments
        kept, skip = [], False
        for position, argument in enumerate(arguments):
            if skip or argument in ("-c", "-MD") or argument == entry["file"]:
                skip = False
            elif argument in ("-o", "-MF", "-MQ", "-include"):
                skip = True
            elif not (argument.startswith("-O") or argument == "-Winvalid-pch"):
                kept.append(argument)
            if position == 0:
                kept.append(f"-I{folder}")  # before the folders of the build
        target = folder / (source.stem + ".o")
        run(*kept, "-O0", *SANITIZE, "-c", source, "-o", target, cwd=entry["directory"])
        return target

    entries = [entry for entry in commands if "libtroika_core" in entry["command"] and
               pathlib.Path(entry["directory"], entry["file"]).resolve().parent == ROOT / "src" / "api"]
    assert len(entries) > 10, f"{len(entries)} files in src/api"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, entries))
    library = folder / "libtroika.so.1"
    needed = run("readelf", "-d", LIBRARY)
    libraries = [f"-l:{name}" for name in re.findall(r"\(NEEDED\).*\[(libdnnl\S+|libz\S+)\]", needed)]
    run(*CXX, *SANITIZE, "-shared", "-o", library, *objects, BUILD / "libtroika_core.a", *libraries, "-ldl", "-pthread",
        "-Wl,-soname,libtroika.so.1")
    return library


def build_host(folder, header, includes, library):
    program = folder / "host"
    run(*CC, "-std=c99", "-Wall", "-Werror", "-Wno-cast-function-type", *SANITIZE, f'-DTROIKA_HEADER="{header}"',
        *[f"-I{path}" for path in includes], HERE / "host.c", "-o", program, library, f"-Wl,-rpath,{library.parent}")
    return program


def run_host(program, *arguments):
    """Runs a host and returns its structs as {name: (size in the host, bytes filled)}."""
    # LD_LIBRARY_PATH would hide the library that the host was linked with.
    environment = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "OMP_WAIT_POLICY": "passive", "LD_LIBRARY_PATH": None,
                   "LSAN_OPTIONS": f"suppressions={program.parent / 'leaks'}"}
    (program.parent / "leaks").write_text("leak:libgomp\nleak:libdnnl\n", encoding="utf-8")
    output = run(program, *arguments, cwd=program.parent, env=environment)
    lines = [line.split() for line in output.splitlines() if line.startswith("troika_")]
    assert len(lines) == 11, output
    return {name: (int(size), int(filled)) for name, size, filled in lines}


def test_a_host_of_1_0_runs_on_this_library(folder):
    structs = sized_structs()
    found = run_host(build_host(folder, "troika-1.0.h", [HERE], LIBRARY))
    assert all(filled == size <= structs[name] for name, (size, filled) in found.items()), found


def test_a_host_of_1_0_runs_on_a_library_whose_structs_have_grown(folder):
    library = build_grown_library(folder)
    found = run_host(build_host(folder, "troika-1.0.h", [HERE], library))
    assert all(filled == size for size, filled in found.values()), found
    # The grown library is not the same library: its own headers fill 16 bytes more.
    (folder / "new").mkdir()
    grown = run_host(build_host(folder / "new", "troika/troika.h", [folder], library))
    structs = sized_structs()
    assert all(filled == size == structs[name] + GROWTH for name, (size, filled) in grown.items()), grown


def test_a_new_host_runs_on_this_library(folder):
    grow_headers(folder)
    structs = sized_structs()
    found = run_host(build_host(folder, "troika/troika.h", [folder], LIBRARY), UNSUPPORTED)
    assert all(size == structs[name] + GROWTH and filled == structs[name] for name, (size, filled) in found.items()), found


if __name__ == "__main__":
    run_tests(tests_of(globals()))
