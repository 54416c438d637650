# SPDX-License-Identifier: Apache-2.0
"""`lull agent` in a process of its own, which works in this process's bubbles."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence

from . import program
from .binding import Error, log


_STOPS_WITHIN_S = 45  # its jobs have 30 s to save themselves


class QueueAgent:
    """An agent of a queue, from `start` until `stop` or this process's end. In a forked child it does nothing."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Of `lull agent`."""
        self._arguments = list(map(os.fspath, arguments))
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: str | None = None
        self._maker = 0

    def address(self) -> str:
        """Where the trainer shares its bubbles with it, if it does so nowhere else."""
        self._folder = self._folder or tempfile.mkdtemp(prefix="lull-")  # which no other user may enter
        self._maker = os.getpid()
        return f"unix:{self._folder}/bubbles"

    def start(self, address: str, executor: str | None, device: int) -> None:
        found = program.path()
        if found is None:
            raise Error(program.MISSING)
        place = ["--attach", address, "--with-process", str(os.getpid()), "--device", str(device)]
        place += ["--executor", executor] if executor is not None else []
        command = [str(found), "agent", *place, *self._arguments]
        # In a session of its own: a terminal's Ctrl-C is the training's, which then stops the agent.
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._maker = os.getpid()

    def stop(self) -> None:
        """Asks it to stop, and waits until its jobs are saved."""
        if os.getpid() != self._maker:
            return
        process, self._process = self._process, None
        if process is not None:
            self._end(process)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _end(process):
        if process.poll() is not None:
            log.warning("the queue's agent had ended with code %s: what it has printed says why", process.returncode)
            return
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOPS_WITHIN_S)
            return
        process.kill()
        process.wait()


def agent_of(queue: str | Sequence[str] | None) -> QueueAgent | None:
    """`queue`: its address, or that and arguments of `lull agent`."""
    if queue is None:
        return None
    address, *more = [queue] if isinstance(queue, str) else queue
    return QueueAgent(["--queue", address, *more])
