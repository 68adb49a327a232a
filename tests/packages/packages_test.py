#!/usr/bin/env python3
"""Tests of the packages on systems that have nothing else: packages_test.py [NAME...]

Makes the archive, the wheels and the Debian packages of the build folder TROIKA_BUILD, and uses them
in fresh systems that debootstrap sets up. That takes 20 minutes, so a normal run skips them:
TROIKA_PACKAGES=1 runs them, as root. Prints one line per test.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "packages"))
# pylint: disable=wrong-import-position
import bundle
from languages import BINDINGS, BUILD, SOURCE_ROOT
from scripts import Skipped, main, need, run
from subproject import write_host

PACKAGES = BINDINGS / "packages"
DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
SYSTEMS = {"bookworm": DEBIAN, "jammy": UBUNTU, "noble": UBUNTU}
TRAIN = ["train", "--model", "mlp", "--synthetic", "200", "--batch", "50", "--epochs", "1", "--devices", "cpu:0,cpu:1", "--progress",
         "plain"]


def require_time():
    if os.environ.get("TROIKA_PACKAGES") != "1":
        raise Skipped("takes 20 minutes; TROIKA_PACKAGES=1 runs it")


@functools.cache
def made():
    """The folder of the archive and the wheels, made once."""
    out = pathlib.Path(tempfile.mkdtemp(prefix="troika-packages-"))
    need("patchelf")
    run(sys.executable, PACKAGES / "archive.py", BUILD, out)
    environment = out / "tools"
    run(sys.executable, "-m", "venv", environment)
    run(environment / "bin" / "python", "-m", "pip", "install", "--quiet", "setuptools", "wheel")
    run(environment / "bin" / "python", PACKAGES / "wheel.py", BUILD, out)
    return out


@functools.cache
def base_system(name):
    """A system with nothing but its base, set up once per build folder."""
    if os.geteuid() != 0:
        raise Skipped("only root may set up a system")
    need("debootstrap")
    folder = BUILD / "systems" / name
    if not (folder / "etc" / "os-release").exists():
        shutil.rmtree(folder, ignore_errors=True)
        script = pathlib.Path("/usr/share/debootstrap/scripts") / name
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg" if SYSTEMS[name] == DEBIAN else None
        run("debootstrap", *([f"--keyring={keys}"] if keys else ["--no-check-gpg"]), "--variant=minbase", "--include=libstdc++6",
            name, folder, SYSTEMS[name], script if script.exists() else script.with_name("jammy"), timeout=900)
    return folder


@contextlib.contextmanager
def system(name, folder):
    """A copy of a base system with /proc. Yields its root, and a function that runs a command in it."""
    root = folder / name
    run("cp", "-a", base_system(name), root)
    run("mount", "--bind", "/proc", root / "proc")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    for file in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(file, root / "etc/apt/apt.conf.d")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root",
                   "OMP_WAIT_POLICY": "passive", "LD_LIBRARY_PATH": ""}
    try:
        yield root, lambda *command, **settings: run("chroot", root, *command, env=environment, **settings)
    finally:
        run("umount", root / "proc")


def archive_test(name):
    """The archive trains in a bare system, with one process and with two."""
    def test(folder):
        require_time()
        with system(name, folder) as (root, run_inside):
            archive = next(made().glob("*.tar.xz"))
            run("tar", "-C", root / "opt", "-xf", archive)
            tool = f"/opt/{archive.name.removesuffix('.tar.xz')}/bin/troika"
            assert "test accuracy" in run_inside(tool, *TRAIN, "--out", "/tmp/run")
            assert "test accuracy" in run_inside(tool, *TRAIN, "--out", "/tmp/two", "--processes", "2")
    return test


for system_name in SYSTEMS:
    globals()[f"test_archive_on_{system_name}"] = archive_test(system_name)


def test_archive_has_the_same_bytes_again(folder):
    require_time()
    run(sys.executable, PACKAGES / "archive.py", BUILD, folder)
    for archive in folder.glob("*.tar.xz"):
        first = hashlib.sha256((made() / archive.name).read_bytes()).hexdigest()
        assert hashlib.sha256(archive.read_bytes()).hexdigest() == first, archive.name


def test_archive_has_the_licences_of_its_parts(folder):
    require_time()
    run("tar", "-C", folder, "-xf", next(made().glob("*.tar.xz")))
    licences = {path.name for path in folder.glob("*/licences/*.txt")}
    assert {"libdnnl2.txt", "libgomp1.txt", "zlib1g.txt", "nlohmann-json3-dev.txt"} <= licences, licences
    assert all(path.stat().st_size > 500 for path in folder.glob("*/licences/*.txt"))
    has_cuda = any(folder.glob("*/lib*/**/libtroika_cuda.so"))
    assert has_cuda == ({"cudnn-frontend.txt", "cuda-runtime.txt"} <= licences), licences


def test_wheel_in_a_new_environment(folder):
    require_time()
    run(sys.executable, "-m", "venv", folder / "new")
    python = folder / "new" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *made().glob("troika-*.whl"), timeout=900)
    environment = {"TROIKA_LIBRARY": "", "PYTHONPATH": "", "LD_LIBRARY_PATH": ""}
    output = run(python, BINDINGS / "packages" / "debian" / "tests" / "python", env=environment, cwd=folder)
    assert "samples=256" in output, output
    code = ("import troika; troika.Context().describe_backends(); "
            "print({line.split()[-1] for line in open('/proc/self/maps') if 'dnnl' in line})")
    assert str(folder) in run(python, "-c", code, env=environment, cwd=folder)


def test_wheel_for_gpus(folder):
    """The plug-in of its own wheel is opened by the library of the other one."""
    require_time()
    wheels = sorted(made().glob("troika*.whl"))
    if not any(wheel.name.startswith("troika_cuda-") for wheel in wheels):
        raise Skipped("the plug-in for GPUs was not built")
    run(sys.executable, "-m", "venv", folder / "new")
    python = folder / "new" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "numpy", timeout=900)
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *wheels)
    environment = {"TROIKA_LIBRARY": "", "PYTHONPATH": ""}
    output = run(python, "-c", "import troika; print(troika.Context().describe_backends())", env=environment, cwd=folder)
    assert re.search(r"^cuda 1\.", output, flags=re.M), output


def test_wheel_needs_nothing_else(folder):
    """Each library that a file of the wheel needs is in the wheel, or in every system."""
    require_time()
    wheel = next(made().glob("troika-*.whl"))
    zipfile.ZipFile(wheel).extractall(folder)
    there = {path.name for path in folder.rglob("*.so*")}
    for path in folder.rglob("*.so*"):
        for name in bundle.needed(path):
            assert name in there or bundle.SYSTEM.fullmatch(name), f"{path.name} needs {name}"
    major, minor = bundle.glibc_of(folder)
    assert f"manylinux_{major}_{minor}_" in wheel.name, wheel.name


def test_meson_subproject_on_bookworm(folder):
    """A host with Troika in subprojects/ is compiled in a bare system that has only what a build of the library needs."""
    require_time()
    with system("bookworm", folder) as (root, run_inside):
        run_inside("apt-get", "update", "-qq")
        run_inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "gcc", "g++", "ninja-build", "pkg-config", "python3",
                   "libdnnl-dev", "zlib1g-dev", "nlohmann-json3-dev", "libsodium-dev", timeout=1800)
        # The distribution's meson is too old, and the system itself may reach no index of wheels.
        run(sys.executable, "-m", "venv", folder / "tools")
        run(folder / "tools" / "bin" / "python", "-m", "pip", "install", "--quiet", "--target", root / "opt" / "meson", "meson>=1.1,<2")
        host = root / "host"
        host.mkdir()
        write_host(host)
        troika = host / "subprojects" / "troika"
        troika.mkdir()
        for name in ("bindings", "docs", "include", "src", "tests"):
            shutil.copytree(SOURCE_ROOT / name, troika / name)
        for name in ("meson.build", "meson.options"):
            shutil.copy(SOURCE_ROOT / name, troika / name)
        meson = ("env", "PYTHONPATH=/opt/meson", "python3", "-m", "mesonbuild.mesonmain")
        run_inside(*meson, "setup", "/host/build", "/host", "-Dtroika:tool=false", "-Dunity=on", "-Dunity_size=8")
        run_inside(*meson, "compile", "-C", "/host/build", timeout=3600)
        assert re.match(r"1\d{4}\n(.*\n)*cpu 1\.", run_inside("/host/build/host")), run_inside("/host/build/host")


@functools.cache
def debian_packages():
    """The folder of the Debian packages, made once. Lintian's errors and warnings fail."""
    need("dpkg-buildpackage")
    need("lintian")
    out = pathlib.Path(tempfile.mkdtemp(prefix="troika-debs-"))
    run(sys.executable, PACKAGES / "deb.py", out, timeout=3600, env={"TROIKA_QUIET": "1"})
    return out


def files_by_package():
    """The file of each Debian package, by its name."""
    return {path.name.split("_")[0]: path for path in sorted(debian_packages().glob("*.deb"))}


@contextlib.contextmanager
def bookworm_with_packages(folder):
    """A bare system with the files of the packages in /debs. Yields as `system` does."""
    packages = debian_packages()
    with system("bookworm", folder) as (root, run_inside):
        shutil.copytree(packages, root / "debs")
        run_inside("apt-get", "update", "-qq")
        yield root, run_inside


def install(run_inside, *names, simulate=False):
    """Installs packages by name: those of /debs from their files, others from the distribution."""
    files = files_by_package()
    waiting, ours = [name for name in names if name in files], set()
    while waiting:  # what they depend on is in /debs, too
        name = waiting.pop()
        ours.add(name)
        depends = run("dpkg-deb", "-f", files[name], "Depends", "Pre-Depends")
        waiting += [other for other in re.findall(r"[a-z][-+.a-z0-9]+", depends) if other in files and other not in ours]
    return run_inside("apt-get", "install", "-y", "--no-install-recommends", *(["--simulate"] if simulate else ["-qq"]),
                      *(f"/debs/{files[name].name}" for name in sorted(ours)), *(name for name in names if name not in files),
                      timeout=1800)


def fields_of_tests():
    """(name, packages) of each test of the packages, as debian/tests/control has them."""
    text = (PACKAGES / "debian" / "tests" / "control").read_text(encoding="utf-8")
    found = re.findall(r"^Tests: (.*)\nDepends: (.*)$", text, flags=re.M)
    assert len(found) == text.count("Tests:"), text
    return [(name, depends.split(", ")) for name, depends in found]


def debian_test(name, depends):
    """A test of the packages passes in a bare system that has only the packages which it names."""
    def test(folder):
        require_time()
        with bookworm_with_packages(folder) as (root, run_inside):
            install(run_inside, *depends)
            shutil.copy(PACKAGES / "debian" / "tests" / name, root / "tmp")
            assert run_inside(f"/tmp/{name}").strip()
    return test


for package_test, packages_of_test in fields_of_tests():
    globals()[f"test_debian_{package_test.replace('-', '_')}"] = debian_test(package_test, packages_of_test)


def test_debian_symbols(_):
    """The package names each function of the interface, with the version that brought it."""
    require_time()
    listed = run("dpkg-deb", "-I", files_by_package()["libtroika1"], "symbols")
    wanted = (BINDINGS.parent / "src" / "api" / "troika.map").read_text(encoding="utf-8")
    functions = sorted(re.findall(r"\b(troika_\w+);", wanted))
    assert functions and functions == sorted(re.findall(r"^ (troika_\w+)@TROIKA_1\.\d 1\.\d$", listed, flags=re.M)), listed


def test_debian_packages_have_the_same_bytes_again(folder):
    require_time()
    first = {path.name: path.read_bytes() for path in debian_packages().glob("*.deb")}
    run(sys.executable, PACKAGES / "deb.py", folder, timeout=3600, env={"TROIKA_QUIET": "1"})
    second = {path.name: path.read_bytes() for path in folder.glob("*.deb")}
    assert first.keys() == second.keys(), first.keys() ^ second.keys()
    assert first == second, [name for name in first if first[name] != second[name]]


def paths_in(root):
    """All paths of a system, except those of apt and of logs."""
    passing = ("proc", "sys", "dev", "tmp", "debs", "var/cache/apt", "var/lib/apt", "var/log")
    found = set()
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = [name for name in folders if str(here / name) not in passing]
        found |= {str(here / name) for name in folders + files}
    return found


def test_debian_purge_leaves_nothing(folder):
    """All packages are installed, used and purged; the system has the same files as before."""
    require_time()
    with bookworm_with_packages(folder) as (root, run_inside):
        ours = sorted(files_by_package())
        planned = re.findall(r"^Inst (\S+)", install(run_inside, *ours, simulate=True), flags=re.M)
        assert set(ours) < set(planned), planned
        install(run_inside, *(name for name in planned if name not in ours))
        before = paths_in(root)
        install(run_inside, *ours)
        assert any("libtroika.so.1" in path for path in paths_in(root))
        for name in ("tool", "python"):
            shutil.copy(PACKAGES / "debian" / "tests" / name, root / "tmp")
            run_inside(f"/tmp/{name}")
        run_inside("apt-get", "purge", "-y", "-qq", *ours)
        after = paths_in(root)
        assert after == before, sorted(after ^ before)


try:
    main(globals())
finally:
    for cached in (made, debian_packages):
        if cached.cache_info().currsize:
            shutil.rmtree(cached())
