"""A cluster of Slurm with this machine as its only node."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time

from jobs import TIME_LIMIT_S
from scripts import Skipped

SETTINGS = """\
ClusterName=troika
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=localhost CPUs=4 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES State=UP
"""


def free_ports(count):
    sockets = [socket.create_server(("", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmCluster:
    """The daemons run in the foreground as children of the test, so that the test can end them."""

    def __init__(self, folder):
        for program in ("munged", "slurmctld", "slurmd", "srun"):
            if not shutil.which(program):
                raise Skipped(f"there is no {program}; Debian has it in slurm-wlm and munge")
        self.folder = pathlib.Path(folder)
        self.daemons = []
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller_port, node_port = free_ports(2)
        (self.folder / "slurm.conf").write_text(encoding="ascii", data=SETTINGS.format(
            user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder, controller_port=controller_port,
            node_port=node_port))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        try:
            self.start("munged", "--foreground", f"--key-file={key}", f"--socket={self.folder}/munge.sock",
                       f"--pid-file={self.folder}/munge.pid", f"--seed-file={self.folder}/munge.seed", "--force")
            self.start("slurmctld", "-D", "-c")
            self.start("slurmd", "-D", "-c", "-N", "localhost")
            self.wait_until_idle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, *command):
        with (self.folder / f"{command[0]}.log").open("wb") as log:
            self.daemons.append(subprocess.Popen(command, env={**os.environ, **self.environment}, stdout=log, stderr=log,
                                                 stdin=subprocess.DEVNULL))

    def wait_until_idle(self):
        limit = time.monotonic() + TIME_LIMIT_S
        while time.monotonic() < limit:
            states = subprocess.run(["sinfo", "--noheader", "--format=%t"], env={**os.environ, **self.environment},
                                    text=True, capture_output=True, check=False).stdout.split()
            if states == ["idle"]:
                return
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if ended:
                log = (self.folder / f"{ended[0]}.log").read_text(errors="replace").splitlines()
                raise Skipped(f"{ended[0]} does not start on this machine: {(log or ['no message'])[-1]}")
            time.sleep(0.1)
        raise Skipped(f"the node of the cluster is not idle after {TIME_LIMIT_S} s")

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
