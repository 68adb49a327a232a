#!/usr/bin/env python3
"""Unpacks libraries of another architecture for a cross compiler: sysroot.py ARCHITECTURE FOLDER PACKAGE...

Asks the system's package sources, with a state of its own: the system itself stays as it is.
"""

import pathlib
import subprocess
import sys


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: sysroot.py ARCHITECTURE FOLDER PACKAGE...")
    architecture, folder, packages = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    state = folder.with_name(folder.name + "-apt")
    for part in ("state/lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    (state / "state" / "status").touch()
    apt = ["apt-get", "-qq", "-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}",
           "-o", f"Dir::State={state / 'state'}", "-o", f"Dir::State::status={state / 'state' / 'status'}",
           "-o", f"Dir::Cache={state / 'cache'}", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true"]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "install", "-y", "--download-only", "--no-install-recommends", *packages], check=True,
                   stdout=subprocess.DEVNULL)
    # Where /lib is a part of /usr, as on Debian since version 12.
    (folder / "usr" / "lib").mkdir(parents=True, exist_ok=True)
    if not (folder / "lib").exists():
        (folder / "lib").symlink_to("usr/lib")
    for package in sorted((state / "cache" / "archives").glob("*.deb")):
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], check=True, stdout=subprocess.PIPE).stdout
        # tar keeps the link /lib; dpkg-deb -x would replace it.
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(folder)], input=files, check=True)


if __name__ == "__main__":
    main()
