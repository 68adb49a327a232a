#!/usr/bin/env python3
"""A process that ends or stops makes all others return COMM in time, and say who: failures_test.py HOST

Prints a table, and one line per test: `ok NAME` or `not ok NAME reason`.
"""
import concurrent.futures
import signal
import sys
import tempfile
import time

from jobs import Job

DEADLINE_S = 3
MARGIN_S = 5
JOBS = 4  # at a time
PHASES = {  # microseconds after the phase has begun
    "rendezvous": [0],
    "attach": [20_000],
    "training": [1, 30_000, 150_000],
    "between steps": [0],
    "evaluation": [60_000],
    "checkpoint": [15_000],
}
WAYS = ("KILL", "STOP", "TERM", "exit")


def end_one(size, victim, way, phase, after, transport, late, folder):
    """Returns how long the others took, and what they said."""
    arguments = [f"victim={victim}", f"by={way}", f"at={phase}", f"after={after}", f"deadline={DEADLINE_S * 1000}",
                 f"connect={DEADLINE_S * 1000}", "batches=400", "rounds=3", "batch=64", "train=30000",
                 "evaluations=100", "saves=200", f"save={folder}/state", f"late={late}"]
    if phase in ("evaluation", "checkpoint"):
        arguments += ["batches=5" if late else "batches=1", "rounds=0"]
        arguments = [a for a in arguments if a not in ("batches=400", "rounds=3")]
    if phase == "checkpoint":
        arguments = [a for a in arguments if a != "evaluations=100"]
    job = Job(arguments, size, folder, environment={"TROIKA_TRANSPORT": transport} if transport else None)
    others = [process for rank, process in enumerate(job.processes) if rank != victim]
    try:
        ended = None
        limit = time.monotonic() + 60
        while time.monotonic() < limit and any(process.poll() is None for process in others):
            if ended is None and (job.processes[victim].poll() is not None or is_stopped(job.processes[victim])):
                ended = time.monotonic()
            time.sleep(0.01)
        # Its memory may be gone, which the others notice, a moment before the process has ended.
        moment = time.monotonic() + 1
        while ended is None and time.monotonic() < moment:
            if job.processes[victim].poll() is not None or is_stopped(job.processes[victim]):
                ended = time.monotonic()
            time.sleep(0.01)
        took = time.monotonic() - (ended or limit)
        left = [rank for rank, process in enumerate(job.processes) if rank != victim and process.poll() is None]
        said = [process.communicate()[0] for process in others] if not ended else []
        assert ended, f"the victim did not end; the others said {said}"
        assert not left, f"ranks {left} are still running"
        said = [process.communicate()[0].strip().splitlines()[-1:] for process in others]
        return took, [line[0] if line else "" for line in said], [process.returncode for process in others]
    finally:
        job.processes[victim].send_signal(signal.SIGCONT)
        job.end()


def is_stopped(process):
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


def names(line, victim):
    return f"rank {victim}" in line or f"process {victim}" in line


def check(case, folder):
    """Runs a case, and returns its line."""
    size, victim, way, phase, after, transport, late = case
    name = f"{size}_processes rank_{victim} {way} {phase.replace(' ', '_')}+{after}us {transport or 'memory'}{' late' if late else ''}"
    try:
        took, said, statuses = end_one(size, victim, way, phase, after, transport, late, folder)
        limit = DEADLINE_S + MARGIN_S
        assert took <= limit, f"the others took {took:.1f} s, may take {limit}"
        for line, status in zip(said, statuses):
            assert status == 3 and "TROIKA_ERROR_COMM" in line, f"exit status {status}: {line}"
            assert names(line, victim), f"does not name rank {victim}: {line}"
        return f"ok {name} {took:.2f} s"
    except Exception as reason:  # pylint: disable=broad-except
        return f"not ok {name} {reason}".replace("\n", " / ")


def main():
    cases = [(size, victim, way, phase, after, transport, 0)
             for size in (2, 3, 4) for victim in sorted({0, size // 2, size - 1}) for way in WAYS
             for phase, times in PHASES.items() for after in times
             for transport in ("", "gloo") if transport == "" or (size == 3 and phase in ("training", "between steps"))]
    # A late update waits for a process that is lost since the step before.
    cases += [(size, victim, way, phase, after, "gloo", 1)
              for size in (2, 3) for victim in range(size) for way in ("KILL", "STOP")
              for phase, after in (("training", 150_000), ("evaluation", 60_000), ("checkpoint", 15_000))]
    failed = 0
    # Most of the time is spent waiting for deadlines.
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for line in pool.map(lambda case: check(case, tempfile.mkdtemp(dir=folder)), cases):
            print(line, flush=True)
            failed = failed or line.startswith("not")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
