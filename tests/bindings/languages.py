"""Shared by the tests of all bindings: the library for a linker, programs of READMEs, and the tool's losses."""

import functools
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import run  # pylint: disable=wrong-import-position

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[2]
BINDINGS = SOURCE_ROOT / "bindings"
BUILD = pathlib.Path(os.environ.get("TROIKA_BUILD", SOURCE_ROOT / "build")).resolve()
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def write_whole(path, text):
    """Writes a file at once: another test may read it at this moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


@functools.cache
def linked():
    """The environment in which pkg-config finds the library of the build, and programs load it."""
    folder = BUILD / "bindings" / "pkgconfig"
    version = (BINDINGS / "interface" / "interface.json").read_text(encoding="utf-8").split('"version": "')[1].split('"')[0]
    text = (f"Name: troika\nDescription: the library of a build folder\nVersion: {version}\n"
            f"Libs: -L{BUILD} -ltroika\nCflags: -I{SOURCE_ROOT / 'include'}\n")
    write_whole(folder / "troika.pc", text)
    return {"PKG_CONFIG_PATH": str(folder), "LD_LIBRARY_PATH": str(BUILD), "OMP_WAIT_POLICY": "passive"}


def program_in(readme, language, which=0):
    """Returns the program in a README: block number `which` of a language."""
    blocks = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", readme.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert len(blocks) > which, f"{readme} has {len(blocks)} blocks of {language}, wanted number {which}"
    return blocks[which]


def names_of_values():
    """A pattern of the names of statuses and schedules as comments of C have them: without a prefix."""
    described = json.loads((BINDINGS / "interface" / "interface.json").read_text(encoding="utf-8"))
    names = [value["name"] for enum in described["enums"] for value in enum["values"]]
    words = [re.sub(r"^TROIKA_(ERROR|SCHEDULE)?_?", "", name) for name in names
             if name.startswith(("TROIKA_ERROR_", "TROIKA_SCHEDULE_")) or name in ("TROIKA_STEP_SKIPPED", "TROIKA_STOPPED")]
    return rf"\b(?:{'|'.join(words)})\b"


def lines_of(program):
    """The lines of a program that hold code: neither empty nor only a comment."""
    return [line for line in program.splitlines() if line.strip() and not re.match(r"\s*(//|#(?!\[|include|!)|/\*)", line)]


@functools.cache
def losses_of_tool():
    """Trains as the programs of the READMEs do, by the tool, once for all languages. Returns the losses."""
    tool, library = BUILD / "troika", BUILD / "libtroika.so.1"
    kept = BUILD / "bindings" / f"losses-{tool.stat().st_mtime_ns}-{library.stat().st_mtime_ns}.json"
    if kept.exists():
        return tuple(json.loads(kept.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory(prefix="troika-bindings-") as folder:
        lines = run(tool, "train", "--model", "d2l_lenet", "--data", FASHION_MNIST, "--devices", "cpu:0,cpu:1", "--batch", "256",
                    "--lr", "0.05", "--momentum", "0.9", "--epochs", "1", "--out", f"{folder}/run", "--progress", "json", env=linked())
    epoch = next(json.loads(line) for line in lines.splitlines() if '"event":"epoch"' in line)
    losses = epoch["loss"], epoch["test_loss"]
    write_whole(kept, json.dumps(losses))
    return losses


def compare_losses(output):
    """A program prints "train loss X" and "test loss Y", in digits that keep every bit. The tool has the same bits."""
    found = tuple(float(re.search(rf"{part} loss ([-+.eE\d]+)", output)[1]) for part in ("train", "test"))
    assert found == losses_of_tool(), f"losses {found}, the tool has {losses_of_tool()}; output: {output}"
