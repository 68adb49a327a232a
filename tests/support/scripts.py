"""Shared by test scripts in Python: commands, missing programs, and one line per test.

A script is run by its path, so it first adds this folder to sys.path.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile


class Skipped(Exception):
    """A test that this machine cannot run."""


def run(*command, expect=0, timeout=600, **settings):
    """Runs a command and returns its output, errors included. Another exit status than `expect` fails the test.

    `env` has variables that are added to those of this script, or taken away if their value is None.
    """
    # GTEST_OUTPUT: the report of this script, not that of a program that it runs.
    environment = {**os.environ, "GTEST_OUTPUT": None, **settings.pop("env", {})}
    environment = {name: value for name, value in environment.items() if value is not None}
    finished = subprocess.run([str(part) for part in command], text=True, stdin=subprocess.DEVNULL, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False, env=environment,
                              **settings)
    assert finished.returncode == expect, \
        f"{shlex.join(map(str, command))}: exit status {finished.returncode}: {finished.stdout[-4000:]}"
    return finished.stdout


def need(program):
    """Skips the test if a program is missing. ./tests/run installs what the distribution has."""
    if not shutil.which(program):
        raise Skipped(f"there is no {program}")


def tests_of(module):
    """The functions test_* of a module's globals(), by name."""
    return {name.removeprefix("test_"): test for name, test in module.items() if name.startswith("test_")}


def run_tests(tests, chosen=()):
    """Runs tests, each with a new folder, and ends the script with status 1 if one fails.

    Prints `ok NAME`, `skip NAME reason` or `not ok NAME reason`. `chosen` has the names of some.
    """
    unknown = [name for name in chosen if name not in tests]
    if unknown:
        sys.exit(f"there is no test {', '.join(unknown)}; there are {', '.join(tests)}")
    failed = False
    for name, test in tests.items():
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="troika-test-") as folder:
            try:
                test(pathlib.Path(folder))
                print(f"ok {name}", flush=True)
            except Skipped as reason:
                print(f"skip {name} {reason}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed = True
                print(f"not ok {name} {' '.join(str(error).split())}", flush=True)
    sys.exit(1 if failed else 0)


def main(module):
    """Runs the tests of a module's globals(), or those that the command line names."""
    run_tests(tests_of(module), sys.argv[1:])
