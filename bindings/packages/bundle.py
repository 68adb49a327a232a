"""Collects an installed tree with every library that it needs, and the licences of all of them.

The tree runs on any system with the C library and libstdc++ of the system that it was built on, or
later ones, and wherever it is put: libraries look for each other in their own folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Every system has these: the C library, and those that belong to its compiler.
SYSTEM = re.compile(r"(ld-linux[-\w]*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so\.\d+")
# GPUs' libraries come from NVIDIA, and MPI must be that of the cluster.
FOREIGN = re.compile(r"lib(cuda|cudart|cudnn\w*|cublas\w*|nccl|nvrtc|mpi|open-\w+)\.so\.\d+")
# Opened by name when a group of processes is created.
OPENED = ("libsodium.so.23",)


def run(*command, **settings):
    """Runs a command and returns its output."""
    return subprocess.run([str(part) for part in command], check=True, text=True, stdout=subprocess.PIPE, **settings).stdout


def meson():
    """The project's meson, else the system's."""
    local = ROOT / "build" / "tools" / "bin" / "meson"
    return local if local.exists() else "meson"


def install(build, prefix):
    """Installs a build folder as `prefix`, which has bin, include and lib."""
    with tempfile.TemporaryDirectory(prefix="troika-bundle-") as folder:
        run(meson(), "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
        library = next(pathlib.Path(folder).rglob("libtroika.so"))
        installed = next(parent for parent in library.parents if (parent / "include" / "troika").is_dir())
        shutil.copytree(installed, prefix, symlinks=True)


def needed(file):
    """The names of the libraries that a file needs."""
    return re.findall(r"NEEDED +(\S+)", run("objdump", "-p", file))


def path_of(name):
    """The file of a library of the system."""
    for line in run("ldconfig", "-p").splitlines():
        if line.strip().startswith(name + " "):
            return pathlib.Path(line.split("=> ")[1]).resolve()
    raise SystemExit(f"bundle: the library {name} is not installed")


def add_libraries(folder):
    """Copies what the libraries in `folder` and its plug-ins need, and returns the origin of each copy."""
    sources = {}
    waiting = [file for file in folder.rglob("*.so*") if file.is_file() and not file.is_symlink()]
    names = list(OPENED)
    while waiting or names:
        if waiting:
            names += needed(waiting.pop())
            continue
        name = names.pop()
        if SYSTEM.fullmatch(name) or FOREIGN.match(name) or (folder / name).exists():
            continue
        sources[name] = path_of(name)
        shutil.copy(sources[name], folder / name)
        waiting.append(folder / name)
    return sources


def look_in_own_folder(folder):
    """Sets the path by which each library finds the others. Plug-ins are one folder below."""
    for file in folder.rglob("*.so*"):
        if file.is_file() and not file.is_symlink():
            path = "$ORIGIN" if file.parent == folder else "$ORIGIN/.."
            # The wheels of NVIDIA, when Python has them: next to the package.
            if "cuda" in file.name:
                wheels = "$ORIGIN/../../../nvidia"
                path += "".join(f":{wheels}/{part}/lib" for part in ("cu13", "cudnn", "nccl"))
            os.chmod(file, 0o755)
            run("patchelf", "--set-rpath", path, file)


def package_of(file):
    """Name and version of the Debian package of a file."""
    for path in (str(file), "/usr" + str(file), re.sub(r"^/usr", "", str(file))):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False).stdout
        if found:
            name = found.split(":")[0]
            return name, run("dpkg-query", "-W", "-f=${Version}", name)
    raise SystemExit(f"bundle: no package has {file}")


def parts(sources):
    """All parts that travel along: (name, version, text of the licence). Headers are compiled in."""
    headers = ["nlohmann-json3-dev", "libcli11-dev", "libstb-dev"]
    found = sorted({package_of(path) for path in sources.values()} |
                   {(name, run("dpkg-query", "-W", "-f=${Version}", name)) for name in headers})
    result = []
    for name, version in found:
        text = pathlib.Path("/usr/share/doc") / name / "copyright"
        result.append((name, version, text.read_text(encoding="utf-8", errors="replace")))
    return result


def parts_of_cuda():
    """The parts that are compiled into the plug-in for GPUs: the headers of cudnn-frontend, and the CUDA runtime."""
    result = []
    for frontend in (ROOT / "build" / "tools" / "cudnn_frontend").glob("*.dist-info"):
        text = next(path for path in sorted(frontend.rglob("LICENSE*")) if path.is_file())
        version = frontend.name.removesuffix(".dist-info").rsplit("-", 1)[1]
        result.append(("cudnn-frontend", version, text.read_text(encoding="utf-8")))
    toolkit = pathlib.Path(shutil.which("nvcc")).resolve().parents[1]
    header = (toolkit / "include" / "cuda_runtime_api.h").read_text(encoding="utf-8")
    version = int(re.search(r"define CUDART_VERSION +(\d+)", header)[1])
    notice = re.match(r"\s*/\*(.*?)\*/", header, flags=re.S)[1]
    result.append(("cuda-runtime", f"{version // 1000}.{version % 1000 // 10}", re.sub(r"^ \* ?", "", notice, flags=re.M).strip() + "\n"))
    return result


def write_licences(folder, travelling):
    """Writes the text of the licence of each part into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, version, text in travelling:
        (folder / f"{name}.txt").write_text(f"{name} {version}\n\n{text}", encoding="utf-8")


# The first C library whose systems have this version of libstdc++ (PEP 600's policies).
LIBSTDCXX = {28: (2, 28), 29: (2, 34), 30: (2, 35), 32: (2, 39)}


def glibc_of(folder):
    """The version of the C library of the oldest systems that the files run on."""
    versions = {(2, 17)}
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF":
            symbols = run("objdump", "-T", file)
            versions |= {(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
            for patch in map(int, re.findall(r"GLIBCXX_3\.4\.(\d+)", symbols)):
                versions.add(next((glibc for newest, glibc in sorted(LIBSTDCXX.items()) if patch <= newest), (2, 39)))
    return max(versions)


def project(field):
    """The version or the licence of the project, from meson.build."""
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    return re.search(rf"^  {field}: '([^']+)'", text, flags=re.M)[1]


def source_time():
    """The time that all files in packages have: that of the commit, so that two builds are the same."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def make_archive(system, suffix, fill, pack):
    """The main function of a script with the arguments BUILD OUT: makes OUT/troika-VERSION-SYSTEM.SUFFIX, and prints its path.

    fill(build, folder) fills the folder of the archive, and pack(folder, file) packs it.
    """
    if len(sys.argv) != 3:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name} BUILD OUT")
    build, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    name = f"troika-{project('version')}-{system}"
    with tempfile.TemporaryDirectory(prefix="troika-archive-") as parent:
        fill(build, pathlib.Path(parent) / name)
        pack(pathlib.Path(parent) / name, out / f"{name}.{suffix}")
    print(out / f"{name}.{suffix}")
