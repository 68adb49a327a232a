#!/usr/bin/env python3
"""Writes the declarations of every binding from the interface's description: generate.py [--check] [LANGUAGE...]

Reads bindings/interface/interface.json, which bindings/interface/describe.py writes from the C
headers. With --check it writes nothing, and fails if a file differs.
"""

import argparse
import importlib
import sys

from generator.interface import BINDINGS, Interface

LANGUAGES = ("cpp", "csharp", "go", "python", "rust")
ENDINGS = (".cs", ".go", ".hpp", ".py", ".rs")
MARK = "by bindings/generate.py from the C headers"  # in the first lines of each generated file


def generated_files(language):
    """The files of a language that say that they are generated, by their paths under bindings/."""
    found = set()
    for path in (BINDINGS / language).rglob("*"):
        if path.is_file() and path.suffix in ENDINGS and MARK in path.read_text(encoding="utf-8")[:400]:
            found.add(path.relative_to(BINDINGS).as_posix())
    return found


def main():
    parser = argparse.ArgumentParser(description="Writes the declarations of the bindings.")
    parser.add_argument("--check", action="store_true", help="compare with the files, and write nothing")
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)} (all)")
    arguments = parser.parse_args()
    unknown = [language for language in arguments.languages if language not in LANGUAGES]
    if unknown:
        parser.error(f"there is no binding for '{unknown[0]}'; there are {', '.join(LANGUAGES)}")
    interface = Interface()
    differing = []
    for language in arguments.languages or LANGUAGES:
        # A module has `files(interface)`: the text of each file by its path under bindings/.
        texts = importlib.import_module(f"generator.{language}").files(interface)
        for name, text in texts.items():
            path = BINDINGS / name
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            if arguments.check:
                differing.append(name)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote bindings/{name}")
        for name in generated_files(language) - set(texts):  # of an earlier generator
            if arguments.check:
                differing.append(name)
                continue
            (BINDINGS / name).unlink()
            print(f"removed bindings/{name}")
    if differing:
        sys.exit(f"bindings/{differing[0]} is not what the interface says; run bindings/generate.py")


if __name__ == "__main__":
    main()
