# SPDX-License-Identifier: Apache-2.0
"""Whether a trainer under MPS outlives workers of other processes that end, and how. Each way and task has an MPS
daemon and a trainer of its own, `lull harvest --share`, which trains all the time; worker after worker attaches and is
ended after 0.45 to 0.8 s.

  --ways    how they end, joined by commas: int (SIGINT, in order), kill (SIGKILL), stop (SIGSTOP, and SIGKILL when its
            kernels have left)
  --tasks   those of work.py, joined by +     --ends  of each way and task     --seconds  at most, for each
  --reserved-groups  of the trainer: without any it has no green context
  --priority  of workers among MPS' clients: 0 as the trainer, 1 below it"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from lab import NotRun
from lab.compare.servers import mps_server
from lab.options import all_of, at_least, count, listed
from lab.process import ANSWER_S
from lab.work import task_of

STOPPED_S = 0.15  # longer than a bubble of this trainer, so that no kernel of a stopped worker is left
OFF = "harvesting is off"


def by_int(worker):
    worker.send_signal(signal.SIGINT)


def by_kill(worker):
    worker.kill()


def by_stop(worker):
    worker.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_S)
    worker.kill()


WAYS = {"int": by_int, "kill": by_kill, "stop": by_stop}


def measure(
    build,
    ways: all_of(",", WAYS) = ("int", "kill", "stop"),
    tasks: listed("+") = ("compute", "streaming"),
    ends: count = 50,
    seconds=40.0,
    reserved_groups: at_least(0) = 2,
    priority: at_least(0, 1) = 1,
):
    trainer, clients = ["--reserved-groups", str(reserved_groups)], {"CUDA_MPS_CLIENT_PRIORITY": str(priority)}
    rows = [of_one(build, way, task, ends, seconds, trainer, clients) for way in ways for task in tasks]
    return {"name": "worker_ends", "reserved_groups": reserved_groups, "priority": priority, "rows": rows}


def of_one(build, way, task, ends, seconds, more, clients):
    chosen = random.Random(51)
    with tempfile.TemporaryDirectory() as folder, mps_server() as server:
        socket, log = pathlib.Path(folder, "socket"), pathlib.Path(folder, "trainer")
        environment = {**os.environ, **server}
        with started([*trainer_of(build, socket), *more], environment, log, 0.1) as trainer:
            until = time.monotonic() + ANSWER_S
            while not socket.exists() and trainer.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            if not socket.exists():
                raise NotRun(f"the trainer did not start: {log.read_text().strip()[-400:]}")
            ended, until = 0, time.monotonic() + seconds
            while ended < ends and time.monotonic() < until and OFF not in log.read_text():
                worker = [f"{build}/bin/lull", "work", "--executor", "cuda", "--attach", f"unix:{socket}"]
                command, output = [*worker, "--task", task_of(task)], pathlib.Path(folder, "worker")
                with started(command, {**environment, **clients}, output, ANSWER_S) as one:
                    time.sleep(chosen.uniform(0.45, 0.8))
                    WAYS[way](one)
                ended += 1
            said = [line for line in log.read_text().splitlines() if OFF in line]
        row = {"way": way, "task": task, "ends": ended, "trainer": said[0] if said else "trains"}
        if said:
            row["server"] = pathlib.Path(server["CUDA_MPS_LOG_DIRECTORY"], "server.log").read_text().splitlines()[-12:]
        return row


def trainer_of(build, socket):
    program = [f"{build}/bin/lull", "harvest", "--executor", "cuda", "--segment", "200us", "--iterations", "50"]
    return [*program, "--pairs", "10000", "--share", f"unix:{socket}"]


@contextlib.contextmanager
def started(command, environment, log, patience_s):
    """A program, which is killed at the end if it does not end within so many seconds."""
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=output)
    try:
        yield process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    finally:
        process.kill()
        process.wait(ANSWER_S)
