"""Tests of `troika run` with real processes: small programs of sh and Python.

Prints one line per test: `ok NAME`, `not ok NAME` or `skip NAME reason`. Tests are functions whose
names are sentences; each gets a separate folder. The program is the first argument, if there is
one.
"""
import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import uuid

if len(sys.argv) > 1:
    os.environ["TROIKA_TOOL"] = sys.argv[1]

from tool import TOOL, refuse, run_tests  # after the choice of the program

LIMIT_S = 60
# Variables of the caller that would change what a test sees.
for name in [name for name in os.environ if name.startswith(("TROIKA_", "OMP_NUM", "TORCHELASTIC")) and name != "TROIKA_TOOL"]:
    del os.environ[name]


def wait_until(is_true, what):
    """Waits for something that no event reports."""
    deadline = time.monotonic() + LIMIT_S
    while not is_true():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)


class Launched:
    """A launcher with the processes that have its mark in their environments."""

    def __init__(self, *words, environment=None, **options):
        self.mark = f"RUN_TEST_MARK={uuid.uuid4()}"
        name, value = self.mark.split("=")
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        ignored = streams.pop("ignored", ())

        def set_signals():
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

        self.process = subprocess.Popen([TOOL, "run", *map(str, words)], env={**os.environ, name: value, **(environment or {})},
                                        preexec_fn=set_signals, **streams)

    def lines_until(self, *wanted):
        """Reads lines of stdout until all wanted lines have come."""
        missing, lines = set(wanted), []
        while missing:
            line = self.process.stdout.readline().decode()
            assert line, f"stdout ended before {missing}, after {lines}"
            lines.append(line.rstrip("\n"))
            missing.discard(lines[-1])
        return lines

    def end(self, status=0):
        """Waits for the end with this status. Returns stdout and stderr. Fails if a process is left."""
        out, errors = self.process.communicate(timeout=LIMIT_S)
        found = self.process.returncode
        assert found == status, f"exit status {found}, not {status}: {out[-1000:]} {errors}"
        assert not self.left(), f"processes {self.left()} are left"
        return (out or b"").decode(errors="replace"), (errors or b"").decode(errors="replace")

    def left(self):
        """Returns the processes that run with this mark."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.left():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self.process.communicate()


def launch(*words, status=0, **options):
    """Runs a job to its end. Returns stdout and stderr."""
    with Launched(*words, **options) as launched:
        return launched.end(status)


def python(text):
    return ["--", sys.executable, "-u", "-c", "import os, signal, sys, time\nrank = int(os.environ['RANK'])\n" + text]


def shell(text):
    return ["--", "sh", "-c", text]


def environments(of, *words, **options):
    """Returns the environment of each process, by its rank. Writes to the folder `of`."""
    launch(*words, "--log-dir", of / "logs", *shell("env -0 | tr '\\n\\0' ' \\n'"), **options)
    found = {}
    for path in (of / "logs").glob("*.log"):
        found[int(re.fullmatch(r"rank-(\d+)\.log", path.name)[1])] = dict(
            line.split("=", 1) for line in path.read_text().splitlines())
        path.unlink()
    return found


def failure_lines(errors):
    return [line for line in errors.splitlines() if line.startswith(("troika run: ", "  its last line"))]


READY = "echo ready $RANK; "
WAITS = "exec sleep 1000"


def python_until(name, action):
    """A program that waits for a signal, and then does `action`."""
    return python(f"wanted = {{signal.SIG{name}}}\nsignal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
                  f"print('ready', rank)\nsignal.sigwait(wanted)\n{action}")


# Environments

def each_rank_finds_its_place(folder):
    found = environments(folder, "--processes", 3)
    assert sorted(found) == [0, 1, 2], found
    for rank, variables in found.items():
        port = variables["MASTER_PORT"]
        expected = {"TROIKA_RANK": rank, "TROIKA_WORLD_SIZE": 3, "TROIKA_LOCAL_RANK": rank, "TROIKA_LOCAL_SIZE": 3,
                    "TROIKA_NODE": 0, "TROIKA_RESTART": 0, "TROIKA_RENDEZVOUS": f"tcp://127.0.0.1:{port}", "RANK": rank,
                    "WORLD_SIZE": 3, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 3, "GROUP_RANK": 0,
                    "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0}
        for name, value in expected.items():
            assert variables[name] == str(value), (rank, name, variables[name])
    assert len({variables["MASTER_PORT"] for variables in found.values()}) == 1, found
    assert environments(folder)[0]["TROIKA_WORLD_SIZE"] == "1"


def a_node_of_several_has_its_own_ranks(folder):
    found = environments(folder, "--processes", 2, "--nodes", 3, "--node-rank", 1, "--rendezvous", "node0:29500",
                         "--restarts", 4, environment={"TROIKA_SECRET": "s"})
    assert sorted(found) == [2, 3], found
    expected = {"TROIKA_RANK": "3", "TROIKA_WORLD_SIZE": "6", "TROIKA_LOCAL_RANK": "1", "TROIKA_LOCAL_SIZE": "2",
                "TROIKA_NODE": "1", "TROIKA_RENDEZVOUS": "tcp://node0:29500", "TROIKA_SECRET": "s", "GROUP_RANK": "1",
                "MASTER_ADDR": "node0", "MASTER_PORT": "29500", "TORCHELASTIC_MAX_RESTARTS": "4"}
    assert {name: found[3][name] for name in expected} == expected, found[3]


def an_ipv6_address_keeps_its_brackets(folder):
    variables = environments(folder, "--rendezvous", "[::1]:29500")[0]
    assert variables["TROIKA_RENDEZVOUS"] == "tcp://[::1]:29500" and variables["MASTER_ADDR"] == "::1", variables


def a_job_of_one_node_has_a_random_secret(folder):
    first, second = (environments(folder, "--processes", 2) for _ in range(2))
    assert re.fullmatch(r"[0-9a-f]{64}", first[0]["TROIKA_SECRET"]), first[0]
    assert first[0]["TROIKA_SECRET"] == first[1]["TROIKA_SECRET"] != second[0]["TROIKA_SECRET"]


def a_secret_of_the_user_stays(folder):
    assert environments(folder, environment={"TROIKA_SECRET": "mine"})[0]["TROIKA_SECRET"] == "mine"
    for variables in ({"TROIKA_SECRET_FILE": "/a/file"}, {"TROIKA_SECRET_FILE": "/a/file", "TROIKA_SECRET": ""}):
        found = environments(folder, environment=variables)[0]
        assert "TROIKA_SECRET" not in found and found["TROIKA_SECRET_FILE"] == "/a/file", found


def threads_are_a_share_of_the_cores(folder):
    cores = len(os.sched_getaffinity(0))
    for words, expected in ((["--processes", 1], cores), (["--processes", cores + 1], 1), (["--threads", 7], 7)):
        found = environments(folder, *words)[0]
        assert found["TROIKA_THREADS"] == found["OMP_NUM_THREADS"] == str(expected), (words, found)
    found = environments(folder, "--threads", 7, environment={"OMP_NUM_THREADS": "3"})[0]
    assert (found["TROIKA_THREADS"], found["OMP_NUM_THREADS"]) == ("7", "3"), found


def torchruns_store_is_not_inherited(folder):
    variables = environments(folder, environment={"TORCHELASTIC_USE_AGENT_STORE": "True", "OTHER": "1"})[0]
    assert "TORCHELASTIC_USE_AGENT_STORE" not in variables and variables["OTHER"] == "1", variables


def rank_0_alone_reads_the_standard_input(folder):
    with open(folder / "input", "w+", encoding="utf-8") as file:
        file.write("hello\n")
        file.seek(0)
        assert launch("--processes", 2, "--", "cat", stdin=file)[0] == "[0] hello\n"


# Outputs

def lines_have_the_rank_as_a_prefix(folder):
    out, errors = launch("--processes", 3, *shell("echo out $RANK; echo; echo err $RANK >&2"))
    assert sorted(out.splitlines()) == sorted(f"[{r}] {t}" for r in range(3) for t in (f"out {r}", "")), out
    assert sorted(errors.splitlines()) == [f"[{r}] err {r}" for r in range(3)], errors


def one_process_has_no_prefix_and_the_same_bytes(folder):
    text = "a\n\n\r10%\r20%\r\nlast é" + "x" * 100000
    (folder / "text").write_bytes(text.encode())
    out, errors = launch(*shell(f"cat {folder}/text; printf 'err' >&2"))
    assert out == text, out[:100]
    assert errors == "err", errors


def one_process_of_several_nodes_has_a_prefix(folder):
    out, _ = launch("--nodes", 2, "--rendezvous", "localhost:1", *shell("echo out"), environment={"TROIKA_SECRET": "s"})
    assert out == "[0] out\n", out


def lines_of_processes_do_not_mix(folder):
    program = python("import random\nrandom.seed(rank)\nfor i in range(2000):\n"
                     "    text = str(rank) * random.choice((1, 80, 5000))\n"
                     "    file = 1 + i % 2\n"
                     "    for at in range(0, len(text), 3000): os.write(file, text[at:at + 3000].encode())\n"
                     "    os.write(file, b'.\\n')")
    out, _ = launch("--processes", 4, *program, stderr=subprocess.STDOUT)  # two streams in one pipe
    lines = out.splitlines()
    assert len(lines) == 8000, len(lines)
    for line in lines:
        assert re.fullmatch(r"\[(\d)\] \1+\.", line), line[:100]
        assert len(line) in (6, 85, 5005), len(line)


def a_progress_bar_is_one_line(folder):
    program = python("for i in range(100):\n    sys.stderr.write(f'\\r{i}%')\nsys.stderr.write('\\n')")
    _, errors = launch("--processes", 2, *program)
    bar = "".join(f"\r{i}%" for i in range(100))
    assert sorted(errors.split("\n")) == ["", f"[0] {bar}", f"[1] {bar}"], errors


def a_line_without_an_end_is_written_when_the_process_ends(folder):
    out, _ = launch("--processes", 2, *shell("printf 'no end'"))
    assert sorted(out.split("\n")) == ["", "[0] no end", "[1] no end"], out


def a_very_long_line_is_written_in_parts(folder):
    size = 300000
    program = python(f"os.write(1, str(rank).encode() * {size} + b'\\nnext\\n') if rank else print('short')")
    out, _ = launch("--processes", 2, *program)
    parts = [line[len("[1] "):] for line in out.splitlines() if line.startswith("[1] ")]
    assert parts.pop() == "next" and "".join(parts) == "1" * size, [len(part) for part in parts]
    # A part is written before the line ends.
    with Launched("--processes", 2, *python(f"os.write(1, b'x' * {size}) if rank else None\ntime.sleep(1000)")) as launched:
        assert launched.process.stdout.read(4 + 2**18) == b"[1] " + b"x" * 2**18
        launched.process.terminate()
        launched.end(128 + signal.SIGTERM)


def logs_have_both_streams_without_prefix(folder):
    logs = folder / "a" / "logs"
    out, errors = launch("--processes", 2, "--log-dir", logs, *shell("echo out $RANK; echo err >&2; printf end"))
    assert "[1] out 1\n" in out and "[0] err\n" in errors, (out, errors)
    for rank in range(2):
        text = (logs / f"rank-{rank}.log").read_text()
        assert sorted(text.splitlines()) == sorted([f"out {rank}", "err", "end"]), text
    launch("--processes", 1, "--log-dir", logs, *shell("echo again"))
    assert (logs / "rank-0.log").read_text().endswith("\n== attempt 1\nagain\n")


def logs_go_on_after_a_restart(folder):
    launch("--processes", 2, "--restarts", 1, "--log-dir", folder, *shell("echo $TROIKA_RESTART; exit $((1 - TROIKA_RESTART))"))
    texts = [(folder / f"rank-{rank}.log").read_text() for rank in range(2)]
    assert "0\n== attempt 2\n1\n" in texts and all(text.endswith("== attempt 2\n1\n") for text in texts), texts


def an_output_that_nobody_reads_ends_the_processes(folder):
    with Launched("--processes", 2, "--", "yes") as launched:
        launched.process.stdout.readline()
        launched.process.stdout.close()
        launched.process.stdout = None
        _, errors = launched.end(128 + signal.SIGPIPE)
        assert "signal 13" in errors, errors


def a_full_disk_is_an_error(folder):
    with open("/dev/full", "w", encoding="utf-8") as full:
        _, errors = launch(*shell("echo text"), stdout=full, status=1)
    assert errors == "troika: cannot write to standard output: No space left on device\n", errors


def an_output_of_a_slow_reader_is_complete(folder):
    with Launched("--processes", 2, *shell("seq 300000")) as launched:
        wait_until(lambda: len(launched.left()) < 3, "the end of a process, or a full pipe")
        out, _ = launched.end()
        for rank in range(2):
            numbers = [line[4:] for line in out.splitlines() if line.startswith(f"[{rank}] ")]
            assert numbers == [str(i + 1) for i in range(300000)], len(numbers)


# Failures

def the_root_cause_by_exit_status_is_the_first_line(folder):
    os.mkfifo(folder / "ready")
    program = shell(f"case $RANK in 1) cat {folder}/ready; echo a >&2; echo 'what failed' >&2; echo >&2; exit 3;; "
                    f"2) echo > {folder}/ready;; esac; {WAITS}")
    _, errors = launch("--processes", 4, *program, status=3)
    lines = failure_lines(errors)
    assert len(lines) == 2, errors
    assert re.fullmatch(r"troika run: rank 1 \(process \d+\) ended with exit status 3 after \d+\.\d s", lines[0]), lines
    assert lines[1] == "  its last line: what failed", lines


def the_root_cause_by_signal_is_the_first_line(folder):
    _, errors = launch("--processes", 3, *shell(f"[ $RANK = 2 ] && kill -9 $$; {WAITS}"), status=137)
    lines = failure_lines(errors)
    assert len(lines) == 1, errors
    assert re.fullmatch(r"troika run: rank 2 \(process \d+\) was ended by signal 9 \(Killed\) after \d+\.\d s", lines[0]), lines


def the_first_failure_by_time_is_the_root_cause(folder):
    # Rank 0 fails as soon as rank 2 has ended, which it sees at the end of a pipe.
    os.mkfifo(folder / "pipe")
    program = shell(f"case $RANK in 2) exec 3> {folder}/pipe; kill -KILL $$;; 0) cat {folder}/pipe; exit 5;; esac; {WAITS}")
    for _ in range(10):
        _, errors = launch("--processes", 3, *program, status=137)
        assert failure_lines(errors)[0].startswith("troika run: rank 2 "), errors


def other_failures_come_after_the_root_cause(folder):
    # The launcher stands still while both fail, so it has told no process to end.
    program = shell(f"{READY} read line < {folder}/$RANK; exit $((RANK + 3))")
    for rank in range(3):
        os.mkfifo(folder / str(rank))
    with Launched("--processes", 3, *program) as launched:
        launched.lines_until(*(f"[{rank}] ready {rank}" for rank in range(3)))
        launched.process.send_signal(signal.SIGSTOP)
        for rank in (1, 0):
            before = children_in_state(launched, "Z")
            (folder / str(rank)).write_text("go\n")
            wait_until(lambda count=before: children_in_state(launched, "Z") == count + 1, "the end of a process")
        launched.process.send_signal(signal.SIGCONT)
        _, errors = launched.end(4)
        lines = failure_lines(errors)
        assert [line.split(" (")[0] for line in lines] == ["troika run: rank 1", "troika run: rank 0"], errors


def a_failure_ends_the_others_by_sigterm(folder):
    first = f"signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})\nif rank == 0:\n" \
            f"    print('ready 0')\n    open('{folder}/go').read()\n    sys.exit(9)\n"
    program = python(first + python_until("TERM", "print('told', rank)")[-1])
    os.mkfifo(folder / "go")
    with Launched("--processes", 3, *program) as launched:
        launched.lines_until(*(f"[{rank}] ready {rank}" for rank in range(3)))
        (folder / "go").write_text("go\n")
        out, errors = launched.end(9)
        assert sorted(out.splitlines()) == ["[1] told 1", "[2] told 2"], out
        assert len(failure_lines(errors)) == 1, errors


def a_suspended_process_ends_without_the_grace(folder):
    os.mkfifo(folder / "go")
    program = shell(f"{READY} [ $RANK = 0 ] && read line < {folder}/go && exit 9; kill -STOP $$; while :; do sleep 1000; done")
    with Launched("--processes", 2, "--grace", 1000, *program) as launched:
        launched.lines_until("[0] ready 0", "[1] ready 1")
        wait_until(lambda: children_in_state(launched, "T") == 1, "a suspended process")
        (folder / "go").write_text("go\n")
        _, errors = launched.end(9)
        assert len(failure_lines(errors)) == 1, errors


def a_process_that_ignores_sigterm_is_killed_after_the_grace(folder):
    os.mkfifo(folder / "go")
    program = shell(f"trap '' TERM; {READY} [ $RANK = 0 ] && read line < {folder}/go && exit 9; while :; do sleep 1000; done")
    with Launched("--processes", 2, "--grace", 0.5, *program) as launched:
        launched.lines_until("[0] ready 0", "[1] ready 1")
        began = time.monotonic()
        (folder / "go").write_text("go\n")
        _, errors = launched.end(9)
        assert 0.5 <= time.monotonic() - began < 9, time.monotonic() - began
        lines = failure_lines(errors)
        assert lines[0].startswith("troika run: rank 0 ") and len(lines) == 2, errors
        assert re.fullmatch(r"troika run: rank 1 \(process \d+\) did not end within 0.5 s, and was killed", lines[1]), errors


def a_job_starts_again_at_most_as_often_as_allowed(folder):
    out, errors = launch("--processes", 2, "--restarts", 2, *shell("echo $TROIKA_RESTART $TORCHELASTIC_RESTART_COUNT $MASTER_PORT; "
                                                                   "[ $TROIKA_RESTART = 2 ] || exit 4"))
    attempts = {tuple(line.split()[1:]) for line in out.splitlines()}
    assert {attempt[:2] for attempt in attempts} <= {("0", "0"), ("1", "1"), ("2", "2")}, out
    assert out.count(" 2 2 ") == 2 and len({attempt[2] for attempt in attempts}) == 3, out
    again = [line for line in errors.splitlines() if "again" in line]
    assert again == [f"troika run: starting again, attempt {i} of 3" for i in (2, 3)], errors
    _, errors = launch("--restarts", 1, *shell("exit 4"), status=4)
    assert errors.count("exit status 4") == 2 and errors.count("again") == 1, errors


def a_given_address_stays_after_a_restart(folder):
    out, _ = launch("--restarts", 1, "--rendezvous", "localhost:29777", *shell("echo $MASTER_PORT; exit 4"), status=4)
    assert out == "29777\n29777\n", out


def the_exit_status_is_0_if_all_processes_succeed(folder):
    launch("--processes", 3, "--restarts", 3, "--", "true")


def a_program_that_cannot_start_is_one_line(folder):
    (folder / "text").write_text("echo no")
    for program, reason in (("no-such-program", "No such file or directory"), (folder / "text", "Permission denied"),
                            (folder, "Permission denied"), ("", "No such file or directory")):
        out, errors = launch("--processes", 3, "--restarts", 2, "--", program, status=127)
        assert (out, errors) == ("", f"troika run: cannot start '{program}': {reason}\n"), errors


def a_script_without_an_interpreters_name_runs(folder):
    (folder / "script").write_text("echo script $1\n")
    (folder / "script").chmod(0o755)
    assert launch("--", "script", "word", environment={"PATH": f"{folder}:{os.environ['PATH']}"})[0] == "script word\n"


# Signals

def signals_reach_every_process(folder):
    for number, status in (("TERM", 143), ("INT", 130), ("HUP", 0), ("USR1", 0), ("USR2", 0)):
        program = python_until(number, "print('got', rank)")
        with Launched("--processes", 2, "--restarts", 2, *program) as launched:
            launched.lines_until("[0] ready 0", "[1] ready 1")
            launched.process.send_signal(getattr(signal, "SIG" + number))
            out, errors = launched.end(status)
            assert sorted(out.splitlines()) == ["[0] got 0", "[1] got 1"] and not errors, (number, out, errors)


def a_status_after_a_signal_is_that_of_the_processes(folder):
    with Launched("--processes", 2, "--restarts", 2, *python_until("TERM", "sys.exit(7)")) as launched:
        launched.lines_until("[0] ready 0", "[1] ready 1")
        launched.process.terminate()
        _, errors = launched.end(7)
        assert "again" not in errors, errors


def a_process_that_a_passed_signal_ends_is_not_started_again(folder):
    with Launched("--restarts", 2, *shell(f"{READY} {WAITS}")) as launched:
        launched.lines_until("ready 0")
        launched.process.send_signal(signal.SIGHUP)
        _, errors = launched.end(128 + signal.SIGHUP)
        assert "signal 1 (Hangup)" in errors and "again" not in errors, errors


def a_failure_after_a_passed_signal_is_a_failure(folder):
    first = python_until("USR1", "sys.exit(6)")[-1]
    program = python(f"if os.environ['TROIKA_RESTART'] == '1': sys.exit(0)\n{first}")
    with Launched("--restarts", 2, *program) as launched:
        launched.lines_until("ready 0")
        launched.process.send_signal(signal.SIGUSR1)
        _, errors = launched.end()
        assert "exit status 6" in errors and errors.count("again") == 1, errors


def a_second_signal_kills_at_once(folder):
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
        program = python("count = 0\n"
                         "def note(*_):\n    print('told', rank)\n"
                         "signal.signal(signal.SIGTERM, note)\nsignal.signal(signal.SIGINT, note)\n"
                         "print('ready', rank)\nwhile True: time.sleep(1000)")
        with Launched("--processes", 2, *program) as launched:
            launched.lines_until("[0] ready 0", "[1] ready 1")
            launched.process.send_signal(first)
            launched.lines_until("[0] told 0", "[1] told 1")
            began = time.monotonic()
            launched.process.send_signal(second)
            launched.end(128 + signal.SIGKILL)
            assert time.monotonic() - began < 10


def a_signal_ends_a_launcher_whose_output_is_blocked(folder):
    with Launched("--processes", 2, *shell("trap '' PIPE; yes")) as launched:
        launched.process.stdout.readline()  # from now on nobody reads
        launched.process.terminate()
        launched.process.send_signal(signal.SIGTERM)
        launched.process.wait(LIMIT_S)
        assert launched.process.returncode == 128 + signal.SIGTERM, launched.process.returncode
        assert not launched.left()


def an_ignored_signal_stays_ignored(folder):
    with Launched(*python_until("USR1", "sys.exit(5)"), ignored=(signal.SIGHUP,)) as launched:
        launched.lines_until("ready 0")
        launched.process.send_signal(signal.SIGHUP)
        launched.process.send_signal(signal.SIGUSR1)
        launched.end(5)


def programs_have_default_signals(folder):
    program = python("assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()\n"
                     "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
                     "status = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)\n"
                     "print(status['SigBlk'].strip())")
    assert launch(*program)[0] == "0" * 16 + "\n"
    assert launch(*shell("grep -E 'Sig(Blk|Ign)' /proc/self/status"))[0].split()[1::2] == ["0" * 16] * 2


def ctrl_c_at_a_terminal_reaches_each_process_once(folder):
    # A second SIGINT would arrive before SIGUSR1, which ends the program.
    program = python("wanted = {signal.SIGINT, signal.SIGUSR1}\nsignal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
                     "print('ready', rank)\nwhile signal.sigwait(wanted) == signal.SIGINT: print('int', rank)\n"
                     "sys.exit(8)")
    launcher, terminal = pty.fork()
    if launcher == 0:
        os.execv(TOOL, [TOOL, "run", "--processes", "2", *program])
    text = ""

    def read_until(*wanted):
        nonlocal text
        while not all(word in text for word in wanted):
            text += os.read(terminal, 4096).decode()

    read_until("ready 0", "ready 1")
    os.write(terminal, b"\x03")
    read_until("int 0", "int 1")
    os.kill(launcher, signal.SIGUSR1)
    with contextlib.suppress(OSError):  # the terminal's last process has ended
        read_until("no such text")
    assert os.waitstatus_to_exitcode(os.waitpid(launcher, 0)[1]) == 8, text
    assert text.count("int 0") == text.count("int 1") == 1, text


# Ends

def states_of_children(launched):
    states = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == launched.process.pid:
                states.append(fields[0])
    return states


def children_in_state(launched, state):
    return states_of_children(launched).count(state)


def processes_die_with_a_launcher_that_is_killed(folder):
    with Launched("--processes", 3, *python("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', rank)\n"
                                            "while True: time.sleep(1000)")) as launched:
        launched.lines_until(*(f"[{rank}] ready {rank}" for rank in range(3)))
        launched.process.kill()
        launched.process.wait(LIMIT_S)
        wait_until(lambda: not launched.left(), "the end of the processes")


def a_process_that_has_ended_is_no_zombie(folder):
    with Launched("--processes", 3, *shell(f"{READY} [ $RANK = 0 ] || exit 0; exec sleep 1000")) as launched:
        launched.lines_until(*(f"[{rank}] ready {rank}" for rank in range(3)))
        wait_until(lambda: len(states_of_children(launched)) == 1, "two children are gone")
        assert children_in_state(launched, "Z") == 0
        launched.process.terminate()
        launched.end(128 + signal.SIGTERM)


def a_grandchild_that_keeps_the_pipe_open_is_not_waited_for(folder):
    # In another process group, which the launcher leaves alone.
    with Launched("--processes", 2, *shell("setsid sleep 1000 & echo text")) as launched:
        began = time.monotonic()
        launched.process.wait(LIMIT_S)
        assert time.monotonic() - began < 10
        assert launched.process.returncode == 0 and len(launched.left()) == 2, launched.left()
        for process in launched.left():
            os.kill(process, signal.SIGKILL)
        wait_until(lambda: not launched.left(), "the end of the grandchildren")
        assert launched.end()[0].count("text\n") == 2


def a_grandchild_that_never_stops_writing_is_not_waited_for(folder):
    with Launched("--", "sh", "-c", "setsid yes & exit 0", stdout=subprocess.DEVNULL) as launched:
        began = time.monotonic()
        assert launched.process.wait(LIMIT_S) == 0
        assert time.monotonic() - began < 10
        wait_until(lambda: not launched.left(), "the end of `yes`, whose pipe is closed")


def grandchildren_end_with_the_job(folder):
    for ignored in ("", "trap '' TERM; "):
        program = shell(f"{ignored}sleep 1000 & sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 & exit 0")
        began = time.monotonic()
        launch("--processes", 2, *program)
        assert time.monotonic() - began < 10


def a_grandchild_has_the_time_that_its_parent_does_not_take(folder):
    # SIGTERM ends the shell at once, but its child needs longer than 1 s.
    child = f"{sys.executable} -u -c \"import signal, time\ndef end(*_): time.sleep(2); print('saved'); raise SystemExit\n" \
            "signal.signal(signal.SIGTERM, end)\nprint('ready')\ntime.sleep(1000)\"; true"
    with Launched(*shell(child)) as launched:
        launched.lines_until("ready")
        launched.process.terminate()
        assert launched.end(128 + signal.SIGTERM)[0] == "saved\n"


def many_processes_run_and_end(folder):
    out, _ = launch("--processes", 60, *shell("echo $RANK; exit 0"))
    assert sorted(out.splitlines()) == sorted(f"[{rank}] {rank}" for rank in range(60)), out
    _, errors = launch("--processes", 60, *shell(f"[ $RANK = 59 ] && exit 2; {WAITS}"), status=2)
    assert failure_lines(errors)[0].startswith("troika run: rank 59 "), errors


def too_many_processes_are_refused_and_none_is_left(folder):
    limited = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", TOOL, "run", "--processes", "30", "--", "sleep", "1000.25"]
    finished = subprocess.run(limited, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert finished.returncode == 1, finished
    assert re.fullmatch("troika: .*: Too many open files\n", finished.stderr), finished
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert b"1000.25" not in path.read_bytes(), path


# Options

def arguments_of_the_program_are_not_options(folder):
    for words in (["--processes", "1", "--", "echo", "--processes", "3", "--", "-x", "--help"],
                  ["--processes=1", "echo", "--processes", "3", "--", "-x", "--help"],
                  ["echo", "--processes", "3", "--", "-x", "--help"]):
        assert launch(*words)[0] == "--processes 3 -- -x --help\n", words
    assert launch("--", "train", status=127)[1] == "troika run: cannot start 'train': No such file or directory\n"
    assert launch("--", "printf", "%s|", "a b", "", "$HOME")[0] == "a b||$HOME|"


def the_help_is_that_of_run(folder):
    for words in (["--help"], ["--processes", "2", "--help", "echo"]):
        assert "--rendezvous" in launch(*words)[0], words


def wrong_options_are_one_line(folder):
    for words, line in (
            (["--processes", 0, "true"], "--processes is 0; give 1 to 4096"),
            (["--processes", "two", "true"], "--processes is 'two'; give a whole number of at most 2147483647"),
            (["--processes"], "--processes: 1 required INT missing; see 'troika run --help'"),
            (["--nodes", 0, "true"], "--nodes is 0; give 1 to 65536"),
            (["--nodes", 2, "true"], "--nodes 2 needs --rendezvous HOST:PORT, an address of node 0"),
            (["--nodes", 2, "--node-rank", 2, "--rendezvous", "a:1", "true"], "--node-rank is 2; give 0 to 1"),
            (["--node-rank", 1, "true"], "--node-rank is 1; give 0, or --nodes above 1"),
            (["--nodes", 2, "--rendezvous", "a:1", "true"],
             "no secret; set TROIKA_SECRET_FILE (or TROIKA_SECRET), the same on all nodes"),
            (["--restarts", -1, "true"], "--restarts is -1; give 0 to 1000000"),
            (["--grace", -1, "true"], "--grace is -1; give a number from 0 to 1e+06"),
            (["--grace", "nan", "true"], "--grace is nan; give a number from 0 to 1e+06"),
            (["--threads", -1, "true"], "--threads is -1; give 1 to 4096, or 0 for a share of the cores"),
            (["--fast", "true"], "run has no option '--fast'; see 'troika run --help'"),
            ([], "no program; give one, such as troika run --processes 2 -- python3 train.py"),
            (["--processes", 2, "--"], "no program; give one, such as troika run --processes 2 -- python3 train.py")):
        assert refuse("run", *words) == f"troika: {line}", words
    for address in ("host", "host:", ":1", "host:0", "host:65536", "host:1x", "[::1]", "::1:5", "a b:1"):
        assert refuse("run", "--rendezvous", address, "true") == \
            f"troika: --rendezvous is '{address}'; give host:port, such as node0:29500", address


def a_log_folder_that_cannot_be_made_is_one_line(folder):
    (folder / "file").write_text("")
    assert "file/logs" in refuse("run", "--log-dir", folder / "file" / "logs", "true")


if __name__ == "__main__":
    run_tests({name: value for name, value in globals().items() if not isinstance(value, type)})
