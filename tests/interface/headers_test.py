#!/usr/bin/env python3
"""Checks the shipped interface: headers_test.py LIBTROIKA SOURCE_ROOT

Checks each header by itself, the symbols, the needed libraries and the option structs. Builds a C
program outside the source tree against the install, and runs the main flow.

Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""

import os
import pathlib
import re
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import run, run_tests, tests_of  # pylint: disable=wrong-import-position

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
SOURCE_ROOT = pathlib.Path(sys.argv[2]).resolve()
BUILD = LIBRARY.parent
INCLUDE = SOURCE_ROOT / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "troika").glob("*.h"))
HERE = pathlib.Path(__file__).resolve().parent
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
ALLOWED_LIBRARIES = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux\S*|libdnnl|libz)\.so\.\d+")


def declarations():
    """Returns the text of all headers without comments."""
    text = "\n".join((INCLUDE / "troika" / name).read_text(encoding="utf-8") for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def declared_functions():
    return set(re.findall(r"\bTROIKA_API\([^)]*\)\s*(troika_\w+)\s*\(", declarations()))


def compile_and_run(folder, name, text):
    """Builds a C99 program against the tree's headers and library. Returns the program's output."""
    source = folder / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    run(*CC, "-std=c99", *STRICT, f"-I{INCLUDE}", source, "-o", folder / name, LIBRARY, f"-Wl,-rpath,{BUILD}")
    return run(folder / name, cwd=folder)


def test_header_compiles_alone(name, folder):
    source = folder / "alone"
    source.write_text(f"#include <troika/{name}>\n#include <troika/{name}>\ntypedef int not_empty;\n", encoding="utf-8")
    for compiler, language, standard in ((CC, "c", "c99"), (CC, "c", "c11"), (CXX, "c++", "c++20")):
        run(*compiler, f"-std={standard}", *STRICT, f"-I{INCLUDE}", "-fsyntax-only", "-x", language, source)


def test_every_declared_function_is_defined_and_nothing_else(_):
    lines = [line.split() for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()]
    exported = {parts[-1].split("@")[0] for parts in lines if parts[-2] != "A"}  # A: the version's own name
    declared = declared_functions()
    assert len(declared) > 60, f"only {len(declared)} functions found in the headers"
    assert not declared - exported, f"declared, not exported: {sorted(declared - exported)}"
    assert not exported - declared, f"exported, not declared: {sorted(exported - declared)}"


def test_symbols_carry_the_version(_):
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()]
    unversioned = [name for name in names if name.startswith("troika_") and not re.search(r"@@TROIKA_1\.[01]$", name)]
    assert not unversioned, unversioned


def test_needs_only_known_libraries(_):
    dynamic = run("readelf", "-d", LIBRARY)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    unknown = [name for name in needed if not ALLOWED_LIBRARIES.fullmatch(name)]
    assert needed and not unknown, f"needs {unknown}"
    assert re.findall(r"\(SONAME\).*\[(.+)\]", dynamic) == ["libtroika.so.1"], dynamic


def test_init_macros_equal_init_functions(folder):
    functions = {name for name in declared_functions() if name.endswith("_init")}
    macros = set(re.findall(r"#define (TROIKA_\w+_INIT)\b", declarations()))
    missing = {name for name in functions if name.upper() not in macros}
    assert functions and not missing, f"no macro for {missing}"
    checks = "".join(f"""
  {{
    static const {name[:-5]} by_macro = {name.upper()};
    {name[:-5]} by_function;
    memset(&by_function, 0, sizeof by_function);
    {name}(&by_function, sizeof by_function);
    {name}(NULL, 64);
    {name}(&by_function, 3); /* too short for a size: ignored */
    if (memcmp(&by_macro, &by_function, sizeof by_macro) != 0) puts("{name}");
    if (by_macro.struct_size != sizeof by_macro) puts("{name}: struct_size");
  }}""" for name in sorted(functions))
    text = f"#include <stdio.h>\n#include <string.h>\n#include <troika/troika.h>\nint main(void) {{{checks}\n  return 0;\n}}\n"
    different = compile_and_run(folder, "init", text)
    assert not different, f"differ: {different.split()}"


def test_option_structs_of_other_versions(folder):
    compile_and_run(folder, "option_structs", (HERE / "option_structs.c").read_text(encoding="utf-8"))


def test_contexts_map_no_vendors_library(folder):
    """A context alone, and CPU devices, load no plug-in."""
    libraries = compile_and_run(folder, "maps", """#include <stdio.h>
#include <string.h>
#include <troika/troika.h>
int main(void) {
  troika_context context = NULL;
  troika_device_info info = TROIKA_DEVICE_INFO_INIT;
  troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  char line[4096];
  FILE *maps;
  if (troika_context_create(NULL, &context, NULL) != TROIKA_OK) return 1;
  if (troika_device_describe(context, cpu, &info, NULL) != TROIKA_OK) return 2;
  maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "cuda") || strstr(line, "cudnn") || strstr(line, "cublas") || strstr(line, "nccl")) puts(line);
  return maps ? 0 : 3;
}
""")
    assert not libraries, libraries


def build_lost_process(folder):
    program = folder / "lost_process"
    run(*CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", HERE / "lost_process.cpp", "-o", program, LIBRARY,
        f"-Wl,-rpath,{BUILD}")
    return program


def test_objects_outlive_their_process(folder):
    """A global object destroys a trainer during exit. A forked child uses and destroys its parent's objects, and makes new ones."""
    program = build_lost_process(folder)
    for way in ("exit", "fork", "serve"):
        assert run(program, way, cwd=folder) == "", way


def test_process_exits_while_threads_compute(folder):
    """It ends as usual, at any moment, and the state that is being written is there."""
    program = build_lost_process(folder)
    state = folder / "background.safetensors"
    for moment in range(40):
        state.unlink(missing_ok=True)
        assert run(program, "busy", str(moment), cwd=folder) == "", moment
        assert state.exists(), moment


def test_program_outside_the_tree_builds_against_the_install(folder):
    """Installs into a folder, and builds and runs the main flow only with pkg-config and cc."""
    ninja = (BUILD / "build.ninja").read_text(encoding="utf-8")
    meson = shlex.split(re.search(r"command = (.+?) --internal regenerate", ninja)[1])  # the meson of this build
    installed = folder / "installed"
    run(*meson, "install", "-C", BUILD, "--no-rebuild", "--destdir", installed)
    description = next(installed.rglob("troika.pc"))
    environment = {"PKG_CONFIG_LIBDIR": str(description.parent), "PKG_CONFIG_SYSROOT_DIR": str(installed)}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "troika", env=environment))
    assert not any(str(SOURCE_ROOT) in flag or str(BUILD) in flag for flag in flags if str(installed) not in flag), flags
    assert run("pkg-config", "--modversion", "troika", env=environment).strip() == "1.1.0"

    outside = folder / "outside"
    outside.mkdir()
    (outside / "main_flow.c").write_text((HERE / "main_flow.c").read_text(encoding="utf-8"), encoding="utf-8")
    # The loader finds the libraries that libtroika needs. The program's build does not find them.
    run(*CC, "-std=c99", *STRICT, "main_flow.c", "-o", "main_flow", *flags, "-Wl,--allow-shlib-undefined", cwd=outside)
    output = run("./main_flow", cwd=outside,
                 env={"LD_LIBRARY_PATH": str(next(installed.rglob("libtroika.so")).parent)})
    lines = output.splitlines()
    assert len(lines) == 3 and all(re.fullmatch(r"epoch \d: loss \d\.\d{3}, accuracy \d\.\d{3}", line) for line in lines), output
    assert float(lines[-1].split()[-1]) > 0.9, f"the network has not learned: {output}"
    for name in ("checkpoint.safetensors", "weights.safetensors"):
        assert (outside / name).stat().st_size > 100_000, name


def test_readme_shows_what_there_is(_):
    """README.md's program uses only names that are in the headers, and it links."""
    readme = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
    program = re.search(r"```c\n(.*?)```", readme, flags=re.DOTALL)[1]
    names = set(re.findall(r"\btroika_\w+|\bTROIKA_\w+", program))
    unknown = {name for name in names if not re.search(rf"\b{name}\b", declarations())}
    assert names and not unknown, f"not in the headers: {sorted(unknown)}"
    assert "tests/interface/main_flow.c" in readme, "README.md does not link the whole program"


def main():
    tests = tests_of(globals())
    alone = tests.pop("header_compiles_alone")
    run_tests({f"{name}_compiles_alone": lambda folder, name=name: alone(name, folder) for name in HEADERS} | tests)


if __name__ == "__main__":
    main()
