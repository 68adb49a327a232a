#!/usr/bin/env python3
"""Makes troika-VERSION-linux-x86_64.tar.xz, which runs in any folder: archive.py BUILD OUT

BUILD is a build folder that was compiled. The archive has the tool, the library, the plug-ins, the
headers, all libraries that they need except the C library's, and the licences of all parts.
"""

import lzma
import platform
import tarfile

import bundle


def fill(build, folder):
    """Fills the folder that is packed."""
    bundle.install(build, folder)
    library = next(folder.rglob("libtroika.so")).parent
    sources = bundle.add_libraries(library)
    bundle.look_in_own_folder(library)
    path = library.relative_to(folder)
    bundle.run("patchelf", "--set-rpath", f"$ORIGIN/../{path}", folder / "bin" / "troika")
    travelling = bundle.parts(sources)
    if (library / "troika-1" / "libtroika_cuda.so").exists():
        travelling += bundle.parts_of_cuda()
    bundle.write_licences(folder / "licences", travelling)
    major, minor = bundle.glibc_of(folder)
    (folder / "README").write_text(
        f"Troika {bundle.project('version')}, licence {bundle.project('license')}\n\n"
        f"Needs glibc {major}.{minor} or later, and libstdc++ of gcc 12 or later. Runs in the folder in which it is unpacked:\n\n"
        "    bin/troika devices\n"
        f"    cc host.c $(PKG_CONFIG_PATH={path}/pkgconfig pkg-config --cflags --libs troika) -Wl,-rpath,$PWD/{path}\n\n"
        "Parts, whose licences are in licences/:\n\n" +
        "".join(f"    {name} {version}\n" for name, version, _ in travelling), encoding="utf-8")


def pack(folder, file):
    """Packs a folder: the same bytes for the same contents."""
    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = bundle.source_time()
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    with lzma.open(file, "wb", preset=6) as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted([folder, *folder.rglob("*")]):
            archive.add(path, path.relative_to(folder.parent), recursive=False, filter=plain)


def main():
    bundle.make_archive(f"linux-{platform.machine()}", "tar.xz", fill, pack)


if __name__ == "__main__":
    main()
