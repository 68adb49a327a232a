#!/usr/bin/env python3
"""Makes troika-VERSION-windows-x86_64.zip, which runs in any folder: windows_archive.py BUILD OUT

BUILD is a build folder for Windows that was compiled (tests/windows/run makes build-windows). The
archive has the tool, the library with oneDNN, what linkers need, the headers, and the licences of
all parts. It needs Microsoft's redistributable package of Visual C++ 2015 or later, as oneDNN does.
"""

import os
import pathlib
import shutil
import time
import zipfile

import bundle

ONEDNN = bundle.ROOT / "build" / "windows-root"
# Compiled into the library and the tool.
COMPILED_IN = ("g++-mingw-w64-x86-64-posix", "mingw-w64-x86-64-dev", "libz-mingw-w64-dev", "nlohmann-json3-dev", "libcli11-dev")


def licences():
    """All parts that travel along: (name, version, text of the licence)."""
    parts = []
    for name in COMPILED_IN:
        version = bundle.run("dpkg-query", "-W", "-f=${Version}", name)
        text = pathlib.Path("/usr/share/doc") / name / "copyright"
        parts.append((name, version, text.read_text(encoding="utf-8", errors="replace")))
    documents = ONEDNN / "share" / "doc" / "onednn"
    text = "\n\n".join((documents / name).read_text(encoding="utf-8", errors="replace") for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"))
    return [*parts, ("onednn", "2023.2.0", text)]


def fill(build, folder):
    """Fills the folder that is packed."""
    places = {"bin": ["troika.dll", "troika.exe"], "lib": ["troika.def"]}
    for place, names in places.items():
        (folder / place).mkdir(parents=True)
        for name in names:
            shutil.copy(build / name, folder / place)
    shutil.copy(ONEDNN / "bin" / "dnnl.dll", folder / "bin")
    # Names in an import library come from its path; strip writes the time.
    for library in ("libtroika.dll.a", "troika.lib"):
        bundle.run("x86_64-w64-mingw32-dlltool", "--deterministic-libraries", "--temp-prefix", "troika", "-d", "troika.def",
                   "-D", "troika.dll", "-l", library, cwd=folder / "lib")
    for name in ("troika.dll", "troika.exe"):
        bundle.run("x86_64-w64-mingw32-strip", folder / "bin" / name,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(bundle.source_time())})
    for headers in (bundle.ROOT / "include", bundle.ROOT / "bindings" / "cpp" / "include"):
        shutil.copytree(headers, folder / "include", dirs_exist_ok=True)
    (folder / "licences").mkdir()
    parts = licences()
    for name, version, text in parts:
        (folder / "licences" / f"{name}.txt").write_text(f"{name} {version}\n\n{text}", encoding="utf-8")
    (folder / "README.txt").write_text(
        f"Troika {bundle.project('version')}, licence {bundle.project('license')}\n\n"
        "Needs Windows 10 or later, and Microsoft's redistributable package of Visual C++. Runs in any folder:\n\n"
        "    bin\\troika.exe devices\n"
        "    cl host.c /I include lib\\troika.lib\n"
        "    gcc host.c -I include -L lib -ltroika\n\n"
        "A program finds troika.dll and dnnl.dll in its own folder, or on the PATH.\n\n"
        "Parts, whose licences are in licences:\n\n" + "".join(f"    {name} {version}\n" for name, version, _ in parts),
        encoding="utf-8", newline="\r\n")


def pack(folder, file):
    """Packs a folder: the same bytes for the same contents."""
    moment = time.gmtime(max(bundle.source_time(), 315532800))[:6]  # the format begins in 1980
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(path.relative_to(folder.parent)), moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


def main():
    bundle.make_archive("windows-x86_64", "zip", fill, pack)


if __name__ == "__main__":
    main()
