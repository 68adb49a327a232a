#!/usr/bin/env python3
"""Tests of the installed tree: pkg-config, CMake, meson's subproject, and a tree that was moved: install_test.py [NAME...]

Prints one line per test.
"""

import functools
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings"))
# pylint: disable=wrong-import-position
from languages import BUILD, SOURCE_ROOT
from scripts import main, need, run
from subproject import PROGRAM, write_host


def meson():
    local = BUILD / "tools" / "bin" / "meson"
    if not local.exists():
        local = SOURCE_ROOT / "build" / "tools" / "bin" / "meson"
    if not local.exists():
        need("meson")
    return local if local.exists() else "meson"


@functools.cache
def moved_tree():
    """An install whose folder was moved after `meson install`: its old place does not exist any more."""
    installed = pathlib.Path(tempfile.mkdtemp(prefix="troika-install-"))
    run(meson(), "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", installed / "first")
    library = next((installed / "first").rglob("libtroika.so"))
    prefix = next(parent for parent in library.parents if (parent / "include" / "troika").is_dir())
    moved = installed / "moved tree"
    shutil.move(prefix, moved)
    shutil.rmtree(installed / "first")
    return moved


def library_folder():
    return next(moved_tree().rglob("libtroika.so")).parent


def check(output):
    """The program's own output: the version, and the plug-ins of the moved tree."""
    assert re.match(r"1\d{4}\n", output), output
    assert "gloo 1." in output and str(SOURCE_ROOT) not in output, output


def test_pkg_config(folder):
    """C by pkg-config, from a tree that was moved, in a folder with a space."""
    need("pkg-config")
    (folder / "host.c").write_text(PROGRAM, encoding="utf-8")
    environment = {"PKG_CONFIG_PATH": str(next(moved_tree().rglob("troika.pc")).parent), "PKG_CONFIG_LIBDIR": "/nonexistent"}
    command = f'eval cc host.c -o host $(pkg-config --cflags --libs troika) "-Wl,-rpath,\'{library_folder()}\'"'
    run("sh", "-c", command, cwd=folder, env=environment)
    check(run(folder / "host"))
    assert run("pkg-config", "--modversion", "troika", env=environment).strip() == "1.1.0"


def cmake(folder, find, expect=0):
    (folder / "host.c").write_text(PROGRAM, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.16)\nproject(host C)\n{find}\n"
                                           "add_executable(host host.c)\ntarget_link_libraries(host PRIVATE troika::troika)\n",
                                           encoding="utf-8")
    return run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={moved_tree()}", expect=expect)


def test_cmake(folder):
    need("cmake")
    cmake(folder, "find_package(troika 1.0 REQUIRED COMPONENTS gloo)\nmessage(STATUS \"gloo: ${troika_gloo_FOUND}\")")
    run("cmake", "--build", folder / "build")
    check(run(folder / "build" / "host"))


def test_cmake_compares_versions(folder):
    need("cmake")
    accepted = ("", "1", "1.0", "1.1", "1.1.0 EXACT", "1.0...1.9", "1.0...1.1.0")
    refused = ("0.9", "1.1.1", "1.2", "2", "10", "1.0 EXACT", "1.0...<1.1.0", "1.0...1.0.9", "1.2...1.9")
    for number, version in enumerate((*accepted, *refused)):
        case = folder / str(number)
        case.mkdir()
        cmake(case, f"find_package(troika {version} REQUIRED)", expect=0 if version in accepted else 1)


def test_cmake_says_what_is_missing(folder):
    need("cmake")
    output = cmake(folder, "find_package(troika 1.0 REQUIRED COMPONENTS quantum)", expect=1)
    assert "the plug-in 'quantum' is not installed in" in " ".join(output.split()), output
    shutil.rmtree(folder / "build")
    output = cmake(folder, "find_package(troika 2.0 REQUIRED)", expect=1)
    assert "1.1.0" in output, output


def test_tool_of_a_moved_tree(folder):
    tool = moved_tree() / "bin" / "troika"
    run(tool, "train", "--model", "mlp", "--synthetic", "64", "--batch", "32", "--epochs", "1", "--out", folder / "run",
        "--progress", "off")
    assert (folder / "run" / "weights.safetensors").exists()


def test_meson_subproject(folder):
    """A project with Troika in subprojects/: configured, and the host's commands are checked. A release compiles it whole."""
    write_host(folder)
    (folder / "subprojects" / "troika").symlink_to(SOURCE_ROOT)
    run(meson(), "setup", folder / "build", folder, "-Dtroika:cuda=disabled", "-Dtroika:tool=false")
    run("ninja", "-C", folder / "build", "host.p/host.c.o")


def test_no_path_of_the_build_is_installed(_):
    for path in moved_tree().rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert str(SOURCE_ROOT).encode() not in path.read_bytes(), f"{path.relative_to(moved_tree())} names {SOURCE_ROOT}"


try:
    main(globals())
finally:
    if moved_tree.cache_info().currsize:
        shutil.rmtree(moved_tree().parent)
