# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node in a folder of its own: Debian's real munged, slurmctld and slurmd, on free ports."""

import contextlib
import getpass
import os
import re
import shutil
import socket
import subprocess

from recipe import await_that

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol")
PACKAGES = "munge slurmctld slurmd slurm-client"  # of Debian; 14 MB, with what they depend on
SYSTEM = ":/usr/sbin:/sbin"  # not in each user's PATH
CONFIGURATION = """ClusterName=lull
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0
SlurmdParameters=config_overrides
UnkillableStepTimeout=120
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing_programs():
    return [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + SYSTEM) is None]


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class SlurmCluster:
    """While it is entered, `ask` runs Slurm's commands against it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = {**environment, "PATH": environment["PATH"] + SYSTEM}
        self.environment["SLURM_CONF"] = str(folder / "slurm.conf")
        self._daemons = []

    def __enter__(self):
        host = socket.gethostname().split(".")[0]
        controller_port, node_port = free_ports(2)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        text = CONFIGURATION.format(
            host=host,
            user=getpass.getuser(),
            folder=self.folder,
            controller_port=controller_port,
            node_port=node_port,
        )
        (self.folder / "slurm.conf").write_text(text, encoding="utf-8")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        try:
            files = ("socket", "key-file", "pid-file", "log-file", "seed-file")
            munge = [f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in files]
            self._start("munged", "--foreground", "--force", *munge)
            await_that(lambda: (self.folder / "munge.socket").exists(), "munged's socket")
            self._start("slurmctld", "-D")
            await_that(lambda: "is UP" in self.ask("scontrol", "ping"), "slurmctld")
            self._start("slurmd", "-D")
            await_that(lambda: self.ask("sinfo", "-h", "-o", "%T").strip() == "idle", "an idle node")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--full", "--signal=KILL", "--user", getpass.getuser())  # of a test that has failed
        with contextlib.suppress(AssertionError):
            await_that(lambda: not self.ask("squeue", "-h").strip(), "an empty queue", limit_s=20)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as out:
            self._daemons.append(
                subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            )

    def ask(self, *command):
        """What a command of Slurm's says; empty where it fails."""
        try:
            return subprocess.run(
                command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=30, check=True
            ).stdout
        except subprocess.SubprocessError:
            return ""

    def submit(self, *arguments):
        """Returns the number of the job, whose output is in NUMBER.out."""
        number = self.ask("sbatch", "--parsable", f"--output={self.folder}/%j.out", *arguments).strip()
        assert number.isdigit(), arguments
        return number

    def end(self, number):
        """Waits until a job is over. Returns its state, such as COMPLETED, and its exit code."""
        found = []

        def is_over():
            said = self.ask("scontrol", "show", "job", number)
            found[:] = re.findall(r"(?:JobState|ExitCode)=([\w:]+)", said)
            return found and found[0] not in ("PENDING", "RUNNING", "COMPLETING")

        await_that(is_over, f"the end of Slurm's job {number}")
        return tuple(found)

    def output(self, number):
        return (self.folder / f"{number}.out").read_text(encoding="utf-8")

    def logs(self):
        """What daemons and jobs have said last."""
        texts = []
        for file in sorted([*self.folder.glob("*.out"), *self.folder.glob("*.log")]):
            texts.append(f"== {file.name}\n{file.read_text(encoding='utf-8', errors='replace')[-4000:]}")
        return "\n".join(texts)
