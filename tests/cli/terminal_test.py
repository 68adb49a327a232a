"""Tests of what a person sees on a terminal: widths, and the answers to signals.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from tool import LONG, SMALL, TIME_LIMIT_S, TOOL, figures_of, refuse, rows_of, run, run_tests, same_files, start_long_run

# A step takes about a second, so that a stop is requested in the middle of one.
SLOW = ["--model", "d2l_resnet18", "--synthetic", "384", "--batch", "128", "--lr", "0.01", "--threads", "1"]
ANSWER = "stopping after this step; again: stop now without saving"


class Terminal:
    """A program on a terminal of its own, with `columns` columns."""

    def __init__(self, columns, *arguments):
        self.end, end_of_program = pty.openpty()
        fcntl.ioctl(end_of_program, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.process = subprocess.Popen([TOOL, *map(str, arguments)], stdin=end_of_program, stdout=end_of_program,
                                        stderr=end_of_program, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(end_of_program)
        self.text = ""

    def read_until(self, mark):
        """Reads until the program has written `mark`; None: until its end. Returns the seconds that this took."""
        began = time.monotonic()
        while mark is None or mark not in self.text:
            assert time.monotonic() - began < TIME_LIMIT_S, self.text
            if not select.select([self.end], [], [], 1)[0]:
                continue
            try:
                self.text += os.read(self.end, 65536).decode()
            except OSError:  # the program has ended
                assert mark is None, self.text
                break
        return time.monotonic() - began

    def press_ctrl_c(self):
        os.write(self.end, b"\x03")

    def finish(self):
        self.read_until(None)
        os.close(self.end)
        return self.process.wait(TIME_LIMIT_S)

    def lines(self):
        """All lines that were shown, also those that others have replaced."""
        return [line for line in re.split(r"[\r\n]+|\033\[K", self.text) if line]


def no_line_is_wider_than_the_terminal(folder):
    for columns in (20, 31, 40, 50, 58, 64, 79, 80, 81, 120, 200):
        out = folder / str(columns)
        terminal = Terminal(columns, "train", *SMALL, "--epochs", 2, "--log-every", 3, "--out", out)
        assert terminal.finish() == 0, terminal.text
        wide = [line for line in terminal.lines() if len(line) > columns]
        assert not wide, (columns, wide)
        shown = " ".join(" ".join(terminal.lines()).split())
        for figure in ("203,530 parameters", "loss", "trained to epoch 2"):
            assert figure in shown, (columns, figure, shown)
        # A narrow terminal leaves out speed and times, not results.
        row = rows_of(out)[-1]
        assert f"test {float(row['test_accuracy']):.4f}" in shown, (columns, shown)


def a_wide_terminal_shows_everything(folder):
    terminal = Terminal(200, "train", *SMALL, "--epochs", 1, "--out", folder / "run")
    assert terminal.finish() == 0, terminal.text
    assert any(re.fullmatch(r"epoch 1/1  loss \S+  train \S+  test \S+  [\d,]+ img/s  \S+ s  ETA 0:00", line)
               for line in terminal.lines()), terminal.lines()
    assert "compiling ..." in terminal.lines(), terminal.lines()


def ctrl_c_is_answered_while_a_step_runs(folder):
    terminal = Terminal(70, "train", *SLOW, "--epochs", 2, "--out", folder / "run")
    terminal.read_until(" 1/3")
    time.sleep(0.2)  # the bar is drawn before the second step begins
    terminal.press_ctrl_c()
    seconds = terminal.read_until("without saving")
    shown = terminal.text
    assert terminal.finish() == 130, terminal.text
    assert seconds < 0.5, seconds  # a handler writes it: 0.1 s and a busy machine
    assert ANSWER in shown and "stopped in epoch 1 after" not in shown, shown
    assert "stopped in epoch 1 after 2 of 3 steps" in " ".join(terminal.lines()), terminal.text


def ctrl_c_is_answered_before_the_first_step(folder):
    terminal = Terminal(40, "train", *SLOW, "--epochs", 2, "--out", folder / "run")
    terminal.read_until("compiling ...")
    terminal.press_ctrl_c()
    assert terminal.read_until("without saving") < 0.5
    assert terminal.finish() == 130, terminal.text
    assert not [line for line in terminal.lines() if len(line) > 40], terminal.lines()


def a_second_ctrl_c_ends_the_program_at_once(folder):
    out = folder / "run"
    terminal = Terminal(80, "train", *SLOW, "--epochs", 2, "--out", out)
    terminal.read_until(" 1/3")
    terminal.press_ctrl_c()
    terminal.read_until("without saving")
    terminal.press_ctrl_c()
    assert terminal.finish() == -signal.SIGINT, terminal.text
    assert not (out / "checkpoint.safetensors").exists()


def a_closed_terminal_saves_a_checkpoint(folder):
    out = folder / "run"
    process = start_long_run(*LONG, "--epochs", 50, "--out", out)
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGHUP)
    rest, errors = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 128 + signal.SIGHUP, (process.returncode, errors)
    assert json.loads(rest.splitlines()[-1])["event"] == "stopped", rest
    assert errors == ANSWER + "\n", errors
    assert (out / "checkpoint.safetensors").exists()
    terminal = Terminal(80, "train", *LONG, "--epochs", 50, "--out", folder / "closed")
    terminal.read_until("train [")
    os.close(terminal.end)
    assert terminal.process.wait(TIME_LIMIT_S) == 128 + signal.SIGHUP
    assert (folder / "closed" / "checkpoint.safetensors").exists()


def a_run_under_nohup_outlives_its_terminal(folder):
    process = subprocess.Popen(["nohup", TOOL, "train", *LONG, "--epochs", "2", "--out", str(folder / "run"), "--progress", "json"],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    rest, errors = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 0, errors
    assert json.loads(rest.splitlines()[-1])["event"] == "done", rest


def an_evaluation_that_was_stopped_is_made_on_resuming(folder):
    """Also if it was that of the last epoch."""
    base = ["--model", "d2l_resnet18", "--synthetic", "640", "--limit-train", "64", "--batch", "64", "--lr", "0.01", "--threads", "2",
            "--eval-devices", "all"]
    whole = folder / "whole"
    run("train", *base, "--epochs", 2, "--out", whole, "--progress", "off")
    for epochs in (1, 2):
        out = folder / f"stopped{epochs}"
        process = subprocess.Popen([TOOL, "train", *base, "--epochs", str(epochs), "--out", str(out), "--progress", "json",
                                    "--progress-seconds", "0.000001"],
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        for line in process.stdout:
            event = json.loads(line)
            if event.get("phase") == "test" and event["epoch"] == epochs:
                process.send_signal(signal.SIGINT)
                break
        rest, errors = process.communicate(timeout=TIME_LIMIT_S)
        assert process.returncode == 130, (process.returncode, errors)
        assert f"stopped in the evaluation of epoch {epochs}" in rest, rest
        assert rows_of(out)[-1]["test_loss"] == "", rows_of(out)
        assert "nothing to do" not in run("train", "--resume", out)
        assert all(row["test_loss"] != "" and row["test_accuracy"] != "" for row in rows_of(out)), rows_of(out)
        run("train", "--resume", out, "--epochs", 2, "--progress", "off")
        assert figures_of(out) == figures_of(whole)
        same_files(whole, out, "weights.safetensors", "checkpoint.safetensors")
    assert "nothing to do" in run("train", "--resume", whole)


def lines_are_whole_if_they_go_to_a_file(folder):
    text = run("train", *SMALL, "--epochs", 1, "--out", folder / "run")
    assert len(text.splitlines()) == 3, text
    assert refuse("train", "--resume", folder / "none")


if __name__ == "__main__":
    run_tests(globals())
