# SPDX-License-Identifier: Apache-2.0
"""Side work in another process: both ends of the pipes, and the servers of MPS and XSched that may stand between."""

import contextlib
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

START_S, ANSWER_S = 120, 20  # limits
SERVERS = ("mps", "xsched")


def cpu_ms():
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (used.ru_utime + used.ru_stime)


class SideProcess:
    """Replays the step without pause between `resume` and `suspend`."""

    def __init__(self, arguments, environment):
        self._process = subprocess.Popen(
            [sys.executable, "-u", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **environment},
        )
        self.done = {"steps": 0, "cpu_ms": 0.0}
        try:
            self.told = self._answer(START_S)
        except BaseException:
            self.end()
            raise

    def resume(self):
        self._say("start")
        self._answer(ANSWER_S)

    def suspend(self):
        self._say("stop")
        for key, value in self._answer(ANSWER_S).items():
            self.done[key] += value

    def steps(self):
        return self.done["steps"]

    def end(self):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ANSWER_S)
        self._process.stdout.close()

    def _say(self, word):
        self._process.stdin.write(f"{word}\n".encode())

    def _answer(self, limit_s):
        until = time.monotonic() + limit_s
        while select.select([self._process.stdout], [], [], max(until - time.monotonic(), 0))[0]:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the other process has ended; what it said is on standard error")
            if line.startswith(b"{"):  # libraries may print, too
                return json.loads(line)
        raise RuntimeError(f"the other process did not answer within {limit_s} s")


def serve(model):
    """The other end: a line on standard input starts or stops replays, its end ends the process."""
    import torch
    from side_models import captured, plain_ms, step_of

    step, (_, adam) = step_of(model)
    stream = torch.cuda.Stream()
    with captured(step, adam, stream) as graph, torch.cuda.stream(stream):
        _say({"plain_ms": plain_ms(graph, stream, 10)})
        while sys.stdin.readline():  # start
            began_ms, steps = cpu_ms(), 0
            ends = [torch.cuda.Event(blocking=True) for _ in range(2)]
            while not (steps and select.select([sys.stdin], [], [], 0)[0]):
                ends[steps % 2].synchronize()  # of the replay before the last: two are queued at most
                graph.replay()
                ends[steps % 2].record()
                steps += 1
                if steps == 1:
                    stream.synchronize()
                    _say({"started": True})
            stream.synchronize()
            if not sys.stdin.readline():  # stop
                break
            _say({"steps": steps, "cpu_ms": cpu_ms() - began_ms})


def _say(what):
    print(json.dumps(what), flush=True)


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
    with tempfile.TemporaryFile("w+") as output:  # not a pipe: the daemon may keep it open
        done = subprocess.run(
            ["nvidia-cuda-mps-control", *arguments],
            input=said,
            stdout=output,
            stderr=output,
            env={**os.environ, **environment},
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
        output.seek(0)
        if done.returncode != 0:
            raise RuntimeError(f"nvidia-cuda-mps-control {' '.join(arguments)}: {output.read().strip()}")


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


def environment_of_child(under, given):
    """What the side process has in its environment besides the trainer's."""
    if under == "mps":
        return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(given.mps_percent), "CUDA_MPS_CLIENT_PRIORITY": "1"}
    return _xsched_environment(given.xsched, priority=0, threshold=4) if under == "xsched" else {}


def again_under(under, given, arguments):
    """Runs this program with the server, and returns its exit status. The server ends whatever happens."""

    def ended(*_):
        sys.exit(f"compare_side_work.py: ended by a signal, {under}'s server with it")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ended)
    with mps_server() if under == "mps" else xsched_server(given.xsched) as environment:
        process = subprocess.Popen([sys.executable, *arguments, "--under", under], env={**os.environ, **environment})
        try:
            return abs(process.wait(given.limit + ANSWER_S))  # it has the same limit of its own
        finally:
            process.kill()
            process.wait(ANSWER_S)
