"""Starts the host of these tests once per process, as a job whose processes meet in a file."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))  # for scripts.py

HOST = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
TIME_LIMIT_S = 120


class Job:
    """Processes of a job. Their outputs are read when they have ended."""

    def __init__(self, arguments, size, folder, devices=None, environment=None, of_rank=lambda rank: {}):
        self.processes = []
        rendezvous = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "rendezvous"
        for rank in range(size):
            own = {"TROIKA_RANK": rank, "TROIKA_WORLD_SIZE": size, "TROIKA_RENDEZVOUS": f"file://{rendezvous}",
                   "OMP_WAIT_POLICY": "passive"}
            if devices:
                own["HOST_DEVICES"] = ",".join(map(str, devices))
            variables = {**os.environ, **{name: str(value) for name, value in own.items()}, **(environment or {}),
                         **of_rank(rank)}
            self.processes.append(subprocess.Popen([HOST, *arguments], env=variables, text=True, errors="replace",
                                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                   stderr=subprocess.STDOUT))

    def outputs(self):
        """The output of each process. Fails if one does not end in time."""
        try:
            return [process.communicate(timeout=TIME_LIMIT_S)[0] for process in self.processes]
        finally:
            self.end()

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def run_alone(arguments):
    """Runs the host as one process without a launcher."""
    finished = subprocess.run([HOST, *arguments], env={**os.environ, "TROIKA_LAUNCHER": "none"}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIME_LIMIT_S, check=False)
    assert finished.returncode == 0, finished.stdout
    return finished.stdout
