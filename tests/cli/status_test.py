"""Tests of `troika status` with running, ended and killed jobs.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

from tool import LONG, SMALL, TIME_LIMIT_S, TOOL, need_processes, refuse, run, run_tests, start_long_run

# Each process has one device.
SMALL = [word.replace("cpu:0,cpu:1", "cpu:0") for word in SMALL]
LONG = [word.replace("cpu:0,cpu:1", "cpu:0") for word in LONG[:-1]] + ["1"]
COLUMNS = ["rank", "process", "host", "alive", "state", "epoch", "step", "img/s", "own work", "last news"]


def status(of):
    """Returns the output of `troika status`: state, number of processes alive, a row per rank, the lines after the table."""
    text = run("status", of)
    lines = text.splitlines()
    match = re.fullmatch(r"(\w+): (\d+) process(?:es)?, (\d+) alive", lines[0])
    assert match, text
    assert re.split(r"  +", lines[1]) == COLUMNS, lines[1]
    rows = [dict(zip(COLUMNS, re.split(r"  +", line), strict=True)) for line in lines[2:2 + int(match[2])]]
    return types.SimpleNamespace(text=text, state=match[1], alive=int(match[3]), rows=rows, rest=lines[2 + len(rows):])


def wait_for(out, is_wanted, process):
    """Asks for the status until it is as wanted. Returns it."""
    deadline = time.monotonic() + TIME_LIMIT_S / 5
    while True:
        if (out / "status" / "rank-0.json").exists() and (out / "status" / "rank-1.json").exists():
            shown = status(out)
            if is_wanted(shown):
                return shown
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, run("status", out)
        time.sleep(0.05)


def have_figures(shown):
    return all(row["state"] == "training" and row["img/s"] != "-" for row in shown.rows)


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.communicate(timeout=TIME_LIMIT_S)


def a_running_job_shows_each_process(folder):
    need_processes()
    out = folder / "run"
    process = start_long_run(*LONG, "--processes", 2, "--epochs", 100, "--out", out)
    try:
        shown = wait_for(out, have_figures, process)
        assert shown.state == "training" and shown.alive == 2, shown.text
        for rank, row in enumerate(shown.rows):
            command = pathlib.Path(f"/proc/{row['process']}/cmdline").read_bytes().split(b"\0")
            assert b"train" in command and b"--processes" not in command, command
            step, steps = map(int, row["step"].split("/"))
            epoch = int(row["epoch"].split("/")[0])
            assert (row["rank"], row["host"], row["alive"]) == (str(rank), os.uname().nodename, "yes"), row
            assert steps == 12000 and row["epoch"].endswith("/100") and (epoch - 1) * 120 < step <= epoch * 120, row
            assert float(row["img/s"].replace(",", "")) > 0 and re.fullmatch(r"\d+\.\d ms", row["own work"]), row
            assert 0 <= float(row["last news"].removesuffix(" s")) < 30, row
        assert len(shown.rest) == 1 and re.fullmatch(
            r"slowest: rank [01], with \d+\.\d ms of its own work in a step of \d+\.\d ms", shown.rest[0]), shown.text
    finally:
        kill(process)


def slow_down(process, is_over):
    """Lets a process run for a third of the time."""
    while not is_over.is_set():
        for number, seconds in ((signal.SIGSTOP, 0.02), (signal.SIGCONT, 0.01)):
            os.kill(process, number)
            time.sleep(seconds)


def the_process_that_others_wait_for_is_the_slowest(folder):
    need_processes()
    out = folder / "run"
    process = start_long_run(*LONG, "--processes", 2, "--epochs", 100, "--out", out)
    is_over = threading.Event()
    slow = 1
    try:
        found = int(wait_for(out, have_figures, process).rows[slow]["process"])
        thread = threading.Thread(target=slow_down, args=(found, is_over))
        thread.start()

        def is_seen(shown):
            own = [float(row["own work"].removesuffix(" ms")) for row in shown.rows]
            return own[slow] > 1.5 * own[1 - slow] and shown.rest[0].startswith(f"slowest: rank {slow}, ")

        wait_for(out, is_seen, process)
    finally:
        is_over.set()
        thread.join()
        kill(process)


def a_suspended_process_is_the_one_that_others_wait_for(folder):
    need_processes()
    out = folder / "run"
    process = start_long_run(*LONG, "--processes", 2, "--epochs", 100, "--out", out)
    try:
        found = int(wait_for(out, have_figures, process).rows[1]["process"])
        os.kill(found, signal.SIGSTOP)
        shown = wait_for(out, lambda shown: shown.state == "suspended", process)
        assert shown.alive == 2 and [row["state"] for row in shown.rows] == ["training", "suspended"], shown.text
        assert shown.rest == ["rank 1: a signal (SIGSTOP) or a debugger has suspended it; the others wait"], shown.text
        os.kill(found, signal.SIGCONT)
        wait_for(out, have_figures, process)
    finally:
        kill(process)


def a_job_that_has_ended_is_done(folder):
    need_processes()
    out, logs = folder / "run", folder / "logs"
    run("run", "--processes", 2, "--log-dir", logs, "--", TOOL, "train", *SMALL, "--epochs", 2, "--out", out,
        "--progress", "off")
    for of in (out, logs):
        shown = status(of)
        assert shown.state == "done" and shown.alive == 0, shown.text
        for row in shown.rows:
            assert (row["alive"], row["state"], row["epoch"], row["step"]) == ("no", "done", "2/2", "16/16"), row


def a_process_that_died_without_a_word_is_lost(folder):
    need_processes()
    out = folder / "run"
    process = start_long_run(*LONG, "--processes", 2, "--epochs", 100, "--out", out)
    try:
        killed = int(wait_for(out, have_figures, process).rows[1]["process"])
        os.kill(killed, signal.SIGKILL)
        process.communicate(timeout=TIME_LIMIT_S)
    finally:
        kill(process)
    shown = status(out)
    assert shown.state == "lost" and shown.alive == 0, shown.text
    assert [row["state"] for row in shown.rows] == ["failed", "lost"], shown.text
    assert shown.rows[1]["process"] == str(killed), shown.text
    assert any(line.startswith("rank 0: ") and "1" in line for line in shown.rest), shown.text


def a_launcher_knows_how_its_processes_ended(folder):
    need_processes()
    logs = folder / "logs"
    program = "import os, signal, sys\nif os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n" \
              "signal.pause()"
    run("run", "--processes", 3, "--grace", 0, "--log-dir", logs, "--", sys.executable, "-c", program, status=137)
    shown = status(logs)
    assert shown.state == "killed" and shown.alive == 0, shown.text
    assert [row["state"] for row in shown.rows] == ["killed"] * 3 and "rank 1: signal 9" in shown.rest, shown.text
    assert all(row["epoch"] == row["step"] == row["img/s"] == "-" for row in shown.rows), shown.text
    run("run", "--processes", 2, "--log-dir", logs, "--", "sh", "-c", "exit $RANK", status=1)
    shown = status(logs)
    assert len(shown.rows) == 2 and shown.state == "failed", shown.text  # the last job in this folder
    assert "rank 1: exit status 1" in shown.rest, shown.text


def any_program_shows_its_last_line(folder):
    need_processes()
    logs = folder / "logs"
    with subprocess.Popen([TOOL, "run", "--processes", "2", "--log-dir", str(logs), "--", "sh", "-c",
                           "echo ready; exec sleep 1000"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        try:
            for _ in range(2):
                process.stdout.readline()
            time.sleep(1)
            shown = status(logs)
            assert shown.state == "running" and shown.alive == 2, shown.text
            assert all(0.9 < float(row["last news"].removesuffix(" s")) < 30 for row in shown.rows), shown.text
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIME_LIMIT_S)


def a_resumed_job_shows_only_its_own_processes(folder):
    need_processes()
    out = folder / "run"
    run("train", *SMALL, "--processes", 2, "--epochs", 1, "--out", out, "--progress", "off")
    run("train", "--resume", out, "--epochs", 2, "--progress", "off")
    shown = status(out)
    assert len(shown.rows) == 1 and shown.rows[0]["step"] == "16/16", shown.text


def a_process_of_another_machine_is_not_judged(folder):
    out = folder / "run"
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    file = out / "status" / "rank-0.json"
    found = json.loads(file.read_text())
    file.write_text(json.dumps({**found, "host": "elsewhere", "state": "training", "processes": 2}))
    shown = status(out)
    assert [(row["host"], row["alive"], row["state"]) for row in shown.rows] == \
        [("elsewhere", "?", "training"), ("-", "?", "unknown")], shown.text
    file.write_text(json.dumps({**found, "began": found["began"] + 1, "process": os.getpid(), "state": "training"}))
    assert status(out).rows[0]["state"] == "lost"  # another process has its number now


def a_failed_write_does_not_disturb_the_run(folder):
    out = folder / "run"
    out.mkdir()
    (out / "status").write_text("not a folder")
    run("train", *SMALL, "--epochs", 1, "--out", out, "--progress", "off")
    assert (out / "checkpoint.safetensors").exists()


def bad_input_is_one_line(folder):
    assert refuse("status", folder / "none") == f"troika: there is no folder '{folder}/none'"
    assert refuse("status", folder) == (f"troika: '{folder}' has no status of a job; give the folder of troika train "
                                        "--out, or of troika run --log-dir")
    for name, kind in (("rank-0.json", "a process"), ("node-0.json", "a launcher")):
        (folder / "status").mkdir()
        for text in ("", "[]", "{", '{"rank": "x"}', '{"rank": 1e99}'):
            (folder / "status" / name).write_text(text)
            assert refuse("status", folder) == \
                f"troika: '{folder}/status/{name}' is not the status of {kind}; remove the file", text
        shutil.rmtree(folder / "status")
    run("train", *SMALL, "--epochs", 1, "--out", folder / "run", "--progress", "off")
    file = folder / "run" / "status" / "rank-0.json"
    found = json.loads(file.read_text())
    for key, value in (("processes", 2000000000), ("processes", 0), ("rank", 1), ("rank", -1), ("state", 7)):
        file.write_text(json.dumps({**found, key: value}))
        assert refuse("status", folder / "run").endswith("rank-0.json' is not the status of a process; remove the file")
    assert "troika status --help" in refuse("status")


if __name__ == "__main__":
    run_tests(globals())
