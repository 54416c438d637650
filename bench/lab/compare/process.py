# SPDX-License-Identifier: Apache-2.0
"""Side work in another process, which the program `replays` is."""

import contextlib
import json
import os
import resource
import select
import subprocess
import time

START_S, ANSWER_S = 120, 20  # limits


def cpu_ms():
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (used.ru_utime + used.ru_stime)


class SideProcess:
    """Replays the step without pause between `resume` and `suspend`."""

    def __init__(self, command, environment):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self._process = subprocess.Popen(command, env={**os.environ, **environment}, **pipes)
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
