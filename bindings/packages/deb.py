#!/usr/bin/env python3
"""Builds the Debian packages from the commit that is checked out: deb.py OUT

Needs lintian and what control names in Build-Depends; meson may be the project's own. Files that the
commit does not have are left out. The script fails if lintian reports an error or a warning.
TROIKA_MESON_OPTIONS adds options of meson.
"""

import email.utils
import os
import pathlib
import re
import shutil
import subprocess
import sys

import bundle

HERE = pathlib.Path(__file__).resolve().parent
MAINTAINER = "Troika developers <troika@example.org>"  # the project has no address yet


def symbols():
    """The file of symbols: each function, with the first version that has it."""
    text = (bundle.ROOT / "src" / "api" / "troika.map").read_text(encoding="utf-8")
    lines = ["libtroika.so.1 libtroika1 #MINVER#", "* Build-Depends-Package: libtroika-dev"]
    for node, body in re.findall(r"^(TROIKA_[\d.]+) \{(.*?)^\}", text, flags=re.S | re.M):
        version = node.removeprefix("TROIKA_")
        lines.append(f" {node}@{node} {version}")
        lines += [f" {name}@{node} {version}" for name in sorted(re.findall(r"\b(troika_\w+);", body))]
    return "\n".join(lines) + "\n"


def write_debian(folder):
    """Completes debian/ with what the project says elsewhere: version, licence, symbols, time."""
    shutil.copytree(HERE / "debian", folder)
    version, time = bundle.project("version"), email.utils.formatdate(bundle.source_time())
    (folder / "changelog").write_text(f"troika ({version}) unstable; urgency=medium\n\n  * Version {version}.\n\n"
                                      f" -- {MAINTAINER}  {time}\n", encoding="utf-8")
    values = {"@LICENSE@": bundle.project("license"), "@MAINTAINER@": MAINTAINER, "@YEAR@": time.split()[3]}
    for name in ("control", "copyright"):
        text = (folder / name).read_text(encoding="utf-8")
        for mark, value in values.items():
            text = text.replace(mark, value)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "libtroika1.symbols").write_text(symbols(), encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: deb.py OUT")
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    # The same folder each time: ccache takes the folder for a part of the command.
    folder = bundle.ROOT / "build" / "deb"
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "troika"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", bundle.ROOT, "archive", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    write_debian(source / "debian")
    # Programs that dh starts have another home folder, so ccache's folder is named.
    environment = {"CCACHE_DIR": str(pathlib.Path.home() / ".cache" / "ccache"), **os.environ,
                   "SOURCE_DATE_EPOCH": str(bundle.source_time()),
                   "PATH": f"{bundle.ROOT / 'build' / 'tools' / 'bin'}:{os.environ['PATH']}"}
    # -d: the project's own meson is no package.
    subprocess.run(["dpkg-buildpackage", "-b", "-d", "-uc", "-us"], cwd=source, check=True, env=environment,
                   stdout=subprocess.DEVNULL if "TROIKA_QUIET" in os.environ else None)
    made = sorted(folder.glob("*.deb"))
    for package in made:
        shutil.copy(package, out)
    changes = next(folder.glob("*.changes"))
    subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root", str(changes)], check=True)
    shutil.rmtree(folder)
    print("\n".join(str(out / package.name) for package in made))


if __name__ == "__main__":
    main()
