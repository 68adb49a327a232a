#!/usr/bin/env python3
"""Trains under limits of address space: memory_limit_test.py PROGRAM

Under every limit the program ends by itself, because each call returns OK or OUT_OF_MEMORY. Without
the limit, its objects then do what they could not do. Limits below the least are too small for the
program's own libraries.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

LIMITS_MIB = range(80, 720, 4)
OUT_OF_MEMORY = "-2"


def main():
    program = sys.argv[1]
    statuses = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for limit in LIMITS_MIB:
            weights = pathlib.Path(folder) / "weights.safetensors"
            ended = subprocess.run([program, str(limit), str(weights)], capture_output=True, text=True, timeout=60)
            status = ended.stdout.split(" ")[0]
            if ended.returncode != 0 or status not in ("0", OUT_OF_MEMORY) or "again" in ended.stdout:
                sys.exit(f"{limit} MiB: exit status {ended.returncode}, printed {ended.stdout!r} {ended.stderr!r}")
            statuses[status] += 1
    if len(statuses) < 2:
        sys.exit(f"the limits are all too small, or all large enough: {dict(statuses)}")
    print(f"{sum(statuses.values())} limits: {statuses['0']} large enough, {statuses[OUT_OF_MEMORY]} out of memory")


main()
