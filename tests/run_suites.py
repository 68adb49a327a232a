"""Runs meson's test programs in sequence, and prints the sum of their tests as the last line.

GoogleTest programs report through GTEST_OUTPUT. Every other program prints one line per test:
`ok NAME`, `not ok NAME` or `skip NAME reason`. A program that does neither counts as one test, by
its exit status (77: skipped), unless it is a GoogleTest program that is known to report.
"""

import concurrent.futures
import contextlib
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time

# A suite that hangs must not block the whole run. Sanitizers make programs ten times slower.
TIME_LIMIT_S = {"none": 1200, "address,undefined": 2400, "thread": 2400}

# The suites that run under the sanitizers. The other suites check files, headers and installs, or
# train for minutes.
SANITIZED = ("unit", "conformance", "equivalence", "interface_hosts")

# The filter for the thread sanitizer. It excludes finite differences, whose kernels have their own
# tests.
THREAD_FILTER = "-Cases/Gradients.*"

# Runs programs that are compiled for another processor, as in
# TROIKA_EMULATOR='qemu-aarch64-static -L build/arm64-root'.
EMULATOR = shlex.split(os.environ.get("TROIKA_EMULATOR", ""))

# The number of concurrent processes of a GoogleTest program under a sanitizer or an emulator, each
# with its share of the tests. Most tests use only one core.
SANITIZED_SHARDS = 2
SHARDED = ("unit", "conformance", "equivalence")

# TROIKA_TEST_PART=2/4 runs the second quarter of these suites under a sanitizer or an emulator.
# They are the longest, and the normal run has all of their tests. The suite `training` heeds it in
# any run.
PARTED = ("conformance", "equivalence", *(["unit"] if EMULATOR else []))

# A normal run with TROIKA_TEST_PART=1/2 has every other suite of these groups: a language of the
# bindings, or a test of the docs, takes a minute, and those of several processes or of GPUs in
# software take two.
PARTED_GROUPS = ("bindings", "docs", "emulated", "processes")

# Threads of OpenMP sleep while they wait. On a loaded machine a thread that spins takes the core of
# the thread that it waits for: the conformance suite took 356 s there, and takes 31 s now.
WAITING = {"OMP_WAIT_POLICY": "passive"}
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:suppressions="
                    + os.path.join(os.path.dirname(os.path.abspath(__file__)), "thread_sanitizer.txt"),
}

def is_slow(sanitize):
    """Whether programs run some ten times slower than they are."""
    return sanitize != "none" or bool(EMULATOR)


def command_prefix(sanitize, command, folder):
    """The emulator of programs in the build folder. For ThreadSanitizer, fixed addresses: newer kernels move too much."""
    if EMULATOR and os.path.abspath(command[0]).startswith(os.path.abspath(folder) + os.sep):
        return EMULATOR
    prefix = ["setarch", platform.machine(), "-R"]
    if sanitize == "thread":
        try:
            if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
                return prefix
        except OSError:
            pass
    return []


class Counts:
    """The numbers of passed and of skipped tests, and the names of failed tests."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def counts_of_googletest(report_path):
    """Returns the counts in a GoogleTest JSON report; None if the program wrote no report."""
    try:
        with open(report_path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError):
        return None
    counts = Counts()
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            name = f"{suite['name']}.{test['name']}"
            if test.get("failures"):
                counts.failed.append(name)
            elif test.get("result") == "SKIPPED":
                counts.skipped += 1
            elif test.get("status") == "RUN":
                counts.passed += 1
    return counts


def counts_of_lines(output):
    """Returns the counts of `ok`, `not ok` and `skip` lines; None if there are no such lines."""
    counts, seen = Counts(), False
    for line in output.splitlines():
        match = re.match(r"(ok|not ok|skip) (.+)", line)
        if not match:
            continue
        seen = True
        if match[1] == "ok":
            counts.passed += 1
        elif match[1] == "skip":
            counts.skipped += 1
        else:
            counts.failed.append(match[2])
    return counts if seen else None


def run_program(command, limit_s, log_path, **settings):
    """Runs a program in its own process group, which is killed at the end. Returns status and output.

    The output goes to the file at once, so that the file remains if the run is stopped from outside."""
    # A process group, because a new session would survive if this session is stopped.
    group = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
    with open(log_path, "w+", encoding="utf-8", errors="replace") as log:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                              **group, **settings) as process:
            try:
                status = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                status = f"no end after {limit_s} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        log.seek(0)
        return status, log.read()


def shown(output, most=80):
    """Returns the first and the last lines. The first failure says most: on a GPU, later tests may all fail."""
    lines = [line for line in output.splitlines() if not line.startswith("[       OK")]
    if len(lines) > most:  # the line of a test's beginning matters only if it is the last line
        last = lines[-1:]
        lines = [line for line in lines[:-1] if not line.startswith("[ RUN")] + last
    return lines if len(lines) <= most else [*lines[:most // 2], f"... {len(lines) - most} lines", *lines[-most // 2:]]


def run_share(test, folder, sanitize, share, shares):
    """Runs a program's share of its tests, 0 <= share < shares. Returns counts and output."""
    report_path = os.path.join(os.path.abspath(folder), f"report-{test['name'].replace('/', '-')}-{share}.json")
    if os.path.exists(report_path):
        os.remove(report_path)
    environment = {**WAITING, **os.environ, **SANITIZER_OPTIONS, "GTEST_BRIEF": "1", **dict(test.get("env") or {}),
                   "GTEST_OUTPUT": f"json:{report_path}", "GTEST_COLOR": "no"}
    if test["cmd"][0].endswith(".exe"):  # its paths have other roots
        environment["GTEST_OUTPUT"] = f"json:{os.path.basename(report_path)}"
    if shares > 1:
        environment |= {"GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(share)}
    if sanitize == "thread":
        environment.setdefault("GTEST_FILTER", THREAD_FILTER)
    if environment.get("TROIKA_PYTHON") and os.path.basename(test["cmd"][0]).startswith("python"):
        test["cmd"][0] = environment["TROIKA_PYTHON"]  # this Python has numpy and safetensors
    try:
        status, output = run_program(command_prefix(sanitize, test["cmd"], folder) + test["cmd"],
                                     test.get("time_limit_s", TIME_LIMIT_S[sanitize]),
                                     report_path.replace("report-", "log-").replace(".json", ".txt"), env=environment,
                                     cwd=test.get("workdir") or folder)  # as meson does
    except OSError as error:
        status, output = str(error), ""

    counts = counts_of_googletest(report_path) or counts_of_lines(output)
    if counts is None:
        counts = Counts()
        if test["name"] in SHARDED:  # under Wine a crash may end with the exit status 0
            counts.failed.append(f"{test['name']}: exit status {status}, and no report")
        elif status == 0:
            counts.passed = 1
        elif status == 77:
            counts.skipped = 1
            status = 0
    if status != 0 and not counts.failed:  # a crash, a leak or a race, which no test reports itself
        counts.failed.append(f"{test['name']}: exit status {status}")
    return counts, output


def given_part():
    """Returns the part that TROIKA_TEST_PART names, from 1 on, and the number of parts."""
    given = os.environ.get("TROIKA_TEST_PART", "")
    if not given:
        return 1, 1
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", given)
    if not match or int(match[1]) > int(match[2]):
        sys.exit(f"run: TROIKA_TEST_PART is '{given}', need PART/PARTS such as 2/4")
    return int(match[1]), int(match[2])


def part_of(test, sanitize):
    """Returns the part of a suite's tests to run, from 1 on, and the number of parts."""
    return given_part() if is_slow(sanitize) and test["name"] in PARTED else (1, 1)


def without_other_parts(tests):
    """Leaves out the suites of PARTED_GROUPS that belong to another part."""
    part, parts = given_part()
    seen, left = {group: 0 for group in PARTED_GROUPS}, []
    for test in tests:
        groups = test["groups"] & set(PARTED_GROUPS)
        if all(seen[group] % parts == part - 1 for group in groups):
            left.append(test)
        for group in groups:
            seen[group] += 1
    return left


def run_suite(test, folder, sanitize):
    """Runs a program. Returns its counts and the first and last lines of each share's output."""
    shares = test.get("shares") or (SANITIZED_SHARDS if is_slow(sanitize) and test["name"] in SHARDED else 1)
    part, parts = part_of(test, sanitize)
    mine = range((part - 1) * shares, part * shares)
    with concurrent.futures.ThreadPoolExecutor(shares) as pool:
        results = list(pool.map(lambda share: run_share(test, folder, sanitize, share, parts * shares), mine))
    total = Counts()
    for counts, _ in results:
        total.add(counts)
    results.sort(key=lambda result: not result[0].failed)
    return total, "\n".join("\n".join(shown(output)) for _, output in results)


def take_default_signals():
    """nohup and some shells ignore signals for all that they start; the tests send signals."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main():
    take_default_signals()
    folder, sanitize, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(os.path.join(folder, "tests.json"), encoding="utf-8") as file:
        tests = json.load(file)
    for test in tests:
        test["groups"] = {suite.rsplit(":", 1)[-1] for suite in test.get("suite", [])}  # "troika:unit" -> "unit"
    known = {test["name"] for test in tests}.union(*(test["groups"] for test in tests))
    for name in names:
        if name not in known:
            sys.exit(f"run: there is no suite '{name}'; there are: {' '.join(sorted(known))}")
    if names:
        tests = [test for test in tests if test["name"] in names or test["groups"] & set(names)]
    elif sanitize != "none":
        tests = [test for test in tests if test["name"] in SANITIZED]
    else:
        tests = without_other_parts(tests)
    total = Counts()
    for test in tests:
        began = time.monotonic()
        counts, output = run_suite(test, folder, sanitize)
        total.add(counts)
        print(f"{'FAIL' if counts.failed else 'ok':4} {test['name']:<32} {counts} ({time.monotonic() - began:.1f} s)",
              flush=True)
        if counts.failed:
            print("\n".join("     | " + line for line in output.splitlines()), flush=True)
    for name in total.failed:
        print(f"failed: {name}")
    print(total)
    sys.exit(1 if total.failed or total.passed == 0 else 0)


if __name__ == "__main__":
    main()
