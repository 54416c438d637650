# SPDX-License-Identifier: Apache-2.0
"""The servers of MPS and XSched, between which and the GPU the program `compare` may run."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lab.process import ANSWER_S

SERVERS = ("mps", "xsched")
UNDER = "LAB_SERVER"  # in the environment of a program whose server is there


@contextlib.contextmanager
def mps_server():
    """The MPS daemon with a folder of its own; gives what the environment of its clients needs."""
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="lull-mps-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        environment = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for path in environment.values():
            os.mkdir(path)
        stack.callback(_end_mps, environment)
        _control(environment, ["-d"])
        _control(environment, [], "get_server_list\n")  # it answers
        yield environment


def _control(environment, arguments, said=""):
    command, environment = ["nvidia-cuda-mps-control", *arguments], {**os.environ, **environment}
    with tempfile.TemporaryFile("w+") as output:  # not a pipe: the daemon may keep it open
        told = {"input": said, "stdout": output, "stderr": output, "env": environment, "text": True}
        done = subprocess.run(command, timeout=ANSWER_S, check=False, **told)
        output.seek(0)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {output.read().strip()}")


def _end_mps(environment):
    pid = None
    with contextlib.suppress(OSError, ValueError):
        pid = int(pathlib.Path(environment["CUDA_MPS_PIPE_DIRECTORY"], "nvidia-cuda-mps-control.pid").read_text())
    with contextlib.suppress(OSError, RuntimeError, subprocess.TimeoutExpired):
        _control(environment, [], "quit -t 5\n")
    until = time.monotonic() + 10
    while pid is not None and _is_mps(pid):
        if time.monotonic() > until:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.1)


def _is_mps(pid):
    with contextlib.suppress(OSError):
        return "nvidia-cuda-mps" in pathlib.Path(f"/proc/{pid}/comm").read_text()
    return False


@contextlib.contextmanager
def xsched_server(folder):
    """XSched's daemon, highest priority first; gives the trainer's environment."""
    server = subprocess.Popen([f"{folder}/bin/xserver", "HPF", "50000"], stdout=sys.stderr)
    try:
        time.sleep(2)
        if server.poll() is not None:
            raise RuntimeError(f"xserver has ended with {server.returncode}")
        yield _xsched_environment(folder, priority=1, threshold=16)
    finally:
        server.terminate()
        try:
            server.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            server.kill()


def _xsched_environment(folder, priority, threshold):
    before = os.environ.get("LD_LIBRARY_PATH", "")
    path = before if before.startswith(f"{folder}/lib") else f"{folder}/lib:{before}"
    return {
        "LD_LIBRARY_PATH": path.rstrip(":"),
        "XSCHED_SCHEDULER": "GLB",
        "XSCHED_AUTO_XQUEUE": "ON",
        "XSCHED_AUTO_XQUEUE_PRIORITY": str(priority),
        "XSCHED_AUTO_XQUEUE_LEVEL": "1",
        "XSCHED_AUTO_XQUEUE_THRESHOLD": str(threshold),
        "XSCHED_AUTO_XQUEUE_BATCH_SIZE": str(threshold // 2),
    }


def environment_of_child(given):
    """What the side process has in its environment besides the trainer's."""
    if given.server == "mps":
        return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(given.mps_percent), "CUDA_MPS_CLIENT_PRIORITY": "1"}
    return _xsched_environment(given.xsched, priority=0, threshold=4) if given.server == "xsched" else {}


def again_under(given):
    """Runs this program with the server, and returns its exit status. The server ends whatever happens."""

    def ended(*_):
        sys.exit(f"lab compare: ended by a signal, {given.server}'s server with it")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ended)
    with mps_server() if given.server == "mps" else xsched_server(given.xsched) as environment:
        environment = {**os.environ, **environment, UNDER: given.server}
        process = subprocess.Popen([sys.executable, *sys.argv], env=environment)
        try:
            return abs(process.wait(given.limit + ANSWER_S))  # it has the same limit of its own
        finally:
            process.kill()
            process.wait(ANSWER_S)
