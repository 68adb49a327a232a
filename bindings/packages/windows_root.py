#!/usr/bin/env python3
"""Collects the libraries that a compiler for Windows needs: windows_root.py FOLDER

oneDNN comes from the wheels that its developers publish for Windows. Headers that are the same on
all systems come from this one: nlohmann-json3-dev, libcli11-dev, libsodium-dev. zlib comes with
the package libz-mingw-w64-dev, in the folders of the compiler.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

ONEDNN = "2023.2.0"  # oneDNN 3.2, with Microsoft's runtime of OpenMP
WHEELS = [f"onednn-cpu-vcomp=={ONEDNN}", f"onednn-devel-cpu-vcomp=={ONEDNN}"]
HEADERS = ["nlohmann", "CLI", "sodium", "sodium.h"]


def unpack_wheels(folder, root):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--only-binary=:all:", "--platform", "win_amd64", "--dest", folder, *WHEELS], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "unpacked")
    for library in folder.glob("unpacked/*.data/data/Library"):
        shutil.copytree(library, root, dirs_exist_ok=True)


def copy_headers(root):
    for name in HEADERS:
        # Debian and Ubuntu have libsodium's headers in the folder of all compilers, too.
        source = pathlib.Path("/usr/include") / name
        if source.is_dir():
            shutil.copytree(source, root / "include" / name, dirs_exist_ok=True)
        else:
            shutil.copy(source, root / "include" / name)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: windows_root.py FOLDER")
    root = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="troika-windows-") as folder:
        made = pathlib.Path(folder) / "root"
        unpack_wheels(pathlib.Path(folder), made)
        copy_headers(made)
        # The import library of the wheel is for another linker.
        definition = made / "lib" / "dnnl.def"
        definition.write_bytes(subprocess.run(["gendef", "-", made / "bin" / "dnnl.dll"], check=True, stdout=subprocess.PIPE,
                                              stderr=subprocess.DEVNULL).stdout)
        subprocess.run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", made / "lib" / "libdnnl.dll.a", "-D", "dnnl.dll"],
                       check=True)
        (made / "lib" / "dnnl.lib").unlink()
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, root)


if __name__ == "__main__":
    main()
