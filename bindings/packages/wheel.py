#!/usr/bin/env python3
"""Makes the wheels of the binding for Python, with the library inside: wheel.py BUILD OUT

BUILD is a build folder that was compiled. The wheel `troika` has the library, its plug-in for several
processes, and the libraries that they need. The wheel `troika_cuda` has the plug-in for GPUs, and
depends on NVIDIA's wheels: `pip install troika[cuda]`. It is made if the plug-in was built.

Needs setuptools and wheel in the environment of this Python.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import bundle

CUDA_PROJECT = """[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "troika-cuda"
version = "{version}"
description = "The plug-in of troika for NVIDIA GPUs"
license = {{text = "{license}"}}
requires-python = ">=3.9"
dependencies = ["troika=={version}", "nvidia-cudnn-cu13>=9", "nvidia-cublas>=13", "nvidia-nccl-cu13>=2.28"]

[tool.setuptools]
license-files = ["licences/*"]
packages = ["troika.lib"]
package-dir = {{"troika.lib" = "lib"}}

[tool.setuptools.package-data]
"troika.lib" = ["troika-1/*.so"]
"""


def add_to_project(file):
    """Names the licence and the extra of GPUs in a copy of pyproject.toml."""
    text = file.read_text(encoding="utf-8")
    text = text.replace('requires-python', f'license = {{text = "{bundle.project("license")}"}}\nrequires-python', 1)
    text = text.replace('progress = ["tqdm"]', f'progress = ["tqdm"]\ncuda = ["troika-cuda=={bundle.project("version")}"]', 1)
    text = text.replace('"lib/*"]', '"lib/*", "lib/troika-1/*", "licences/*"]', 1)
    file.write_text(text, encoding="utf-8")


def build_wheel(project, tag, out):
    """Builds the wheel of a folder, and says in its name which systems it fits."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(bundle.source_time())}
    with tempfile.TemporaryDirectory(prefix="troika-wheel-") as folder:
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--no-build-isolation", "--wheel-dir", folder, str(project)], check=True, env=environment)
        pure = next(pathlib.Path(folder).glob("*.whl"))
        subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(pure)], check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        made = next(pathlib.Path(folder).glob("*.whl"))
        shutil.copy(made, out / made.name)
        return out / made.name


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py BUILD OUT")
    build, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="troika-wheel-") as folder:
        folder = pathlib.Path(folder)
        bundle.install(build, folder / "installed")
        installed = next((folder / "installed").rglob("libtroika.so")).parent

        project = folder / "troika"
        shutil.copytree(bundle.ROOT / "bindings" / "python", project, ignore=shutil.ignore_patterns("__pycache__", "tests", "examples", "bench"))
        add_to_project(project / "pyproject.toml")
        library = project / "troika" / "lib"
        (library / "troika-1").mkdir(parents=True)
        shutil.copy(installed / "libtroika.so.1", library)
        if (installed / "troika-1" / "libtroika_gloo.so").exists():
            shutil.copy(installed / "troika-1" / "libtroika_gloo.so", library / "troika-1")
        sources = bundle.add_libraries(library)
        bundle.look_in_own_folder(library)
        bundle.write_licences(project / "troika" / "licences", bundle.parts(sources))
        major, minor = bundle.glibc_of(library)
        tag = f"manylinux_{major}_{minor}_{platform.machine()}"
        print(build_wheel(project, tag, out))

        plugin = installed / "troika-1" / "libtroika_cuda.so"
        if plugin.exists():
            cuda = folder / "cuda"
            (cuda / "lib" / "troika-1").mkdir(parents=True)
            shutil.copy(plugin, cuda / "lib" / "troika-1")
            bundle.look_in_own_folder(cuda / "lib")
            bundle.write_licences(cuda / "licences", bundle.parts({}) + bundle.parts_of_cuda())
            (cuda / "pyproject.toml").write_text(CUDA_PROJECT.format(version=bundle.project("version"),
                                                                     license=bundle.project("license")), encoding="utf-8")
            print(build_wheel(cuda, tag, out))


if __name__ == "__main__":
    main()
