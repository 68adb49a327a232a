#!/usr/bin/env python3
"""Puts the bindings into the trees of their Debian packages: debian_files.py DEBIAN

Called by debian/rules, from the root of the source. DEBIAN is the folder debian/.
"""

import json
import pathlib
import re
import shutil
import sys

BINDINGS = pathlib.Path("bindings")
SOURCES = shutil.ignore_patterns("__pycache__", "tests", "bench", "target", "Cargo.lock")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=SOURCES, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def copy_crate(name, registry):
    """A crate as cargo finds it in a folder of crates: its dependencies are there, too."""
    text = (BINDINGS / "rust" / name / "Cargo.toml").read_text(encoding="utf-8")
    folder = registry / f"{name}-{re.search(r'^version = .(.*).$', text, flags=re.M)[1]}"
    copy(BINDINGS / "rust" / name, folder)
    text = re.sub(r'path = "[^"]*", |^readme = .*\n', "", text, flags=re.M)
    (folder / "Cargo.toml").write_text(text, encoding="utf-8")
    (folder / ".cargo-checksum.json").write_text(json.dumps({"files": {}, "package": None}) + "\n", encoding="utf-8")


def main():
    debian = pathlib.Path(sys.argv[1])
    copy(BINDINGS / "python" / "troika", debian / "python3-troika" / "usr/lib/python3/dist-packages/troika")
    copy(BINDINGS / "go", debian / "golang-troika-dev" / "usr/share/gocode/src/troika")
    for crate in ("troika", "troika-sys"):
        copy_crate(crate, debian / "librust-troika-dev" / "usr/share/cargo/registry")
    assembly = debian / "libtroika-cil" / "usr/lib/cli/troika-1"
    copy(debian / "Troika.Net.dll", assembly / "Troika.Net.dll")
    (assembly / "Troika.Net.dll").chmod(0o644)  # no system starts it
    copy(BINDINGS / "csharp" / "Troika" / "Troika.Net.dll.config", assembly / "Troika.Net.dll.config")


if __name__ == "__main__":
    main()
