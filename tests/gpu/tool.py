"""The troika program that the scripts in this folder run, and the works that they name."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_tool(script):
    """Returns the program that TROIKA names, or that of build-gpu or build."""
    if named := os.environ.get("TROIKA"):
        return named
    # tests/gpu/run writes troika.sh, which finds the libraries of such a machine.
    for tool in (ROOT / "build-gpu/troika.sh", ROOT / "build-gpu/troika", ROOT / "build/troika"):
        if tool.exists():
            return str(tool)
    sys.exit(f"{script}: there is no troika program in build-gpu or build; run tests/gpu/run, or set TROIKA")


def parse_work(script, text):
    """Returns model, batch and precision."""
    parts = text.split(":")
    if len(parts) != 3 or not parts[1].isdigit():
        sys.exit(f"{script}: --work is '{text}'; need MODEL:BATCH:PRECISION, such as d2l_resnet18:256:bf16")
    return parts
