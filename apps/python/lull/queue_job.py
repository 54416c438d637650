# SPDX-License-Identifier: Apache-2.0
"""One job of a queue."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
from typing import TYPE_CHECKING, Any

from .binding import ArgumentError, Error, TimedOut

if TYPE_CHECKING:
    from .queue import Queue

ENDS = ("done", "failed", "refused", "cancelled")


class JobFailed(Error):
    """A job of a queue failed, or was refused: it cannot run as it was asked for. The text has the reason."""


class QueueJob:
    """A job that waits in a queue, runs or is over: what `Queue.submit` returns. Its calls are those of
    `concurrent.futures.Future`, but `cancel` works on a job that runs, too.

    What it says of a job may be as old as the queue's pace: from a tenth of a second, while jobs change, to five
    seconds. A job that is over is not looked at again, although a user may have it tried again; `Queue.job` looks. It
    may be used from any thread, and in a forked child."""

    def __init__(self, queue: Queue, job_id: str) -> None:
        """For `Queue`, which also adds it to its looks."""
        self.id = job_id
        self._queue = queue
        self._seen: dict[str, Any] | None = None  # what the program said of it last; empty: there is no such job
        self._looked_at: float | None = None  # time.monotonic()
        self._changed_at = 0.0  # by this process: what a look that began before says is too old
        self._files: list[pathlib.Path] | None = None

    def __repr__(self) -> str:
        return f"<lull.QueueJob {self.id} {(self._seen or {}).get('state', '')}>"

    @property
    def _is_over(self) -> bool:
        """As it was looked at last. A job that is done is over when its results are in place."""
        if self._seen is None:
            return False
        state = self._seen.get("state")
        return state is None or (state in ENDS and (state != "done" or bool(self._seen.get("in_place"))))

    def about(self) -> dict[str, Any]:
        """A dictionary, as `lull jobs --json` prints it: id, name, state, in_place, reason, priority, attempts, agent,
        user, submitted."""
        self._queue._look([self])
        if not self._seen:
            raise ArgumentError(f"there is no job {self.id} in {self._queue}")
        return dict(self._seen)

    def state(self) -> str:
        """It is queued, claimed, running, saved, held, done, failed, refused or cancelled."""
        return str(self.about()["state"])

    def reason(self) -> str:
        """Why it is as it is, in words; may be empty."""
        return str(self.about()["reason"])

    def done(self) -> bool:
        """Whether it is over, in whatever way; with its results in place where it was done."""
        self.about()
        return self._is_over

    def running(self) -> bool:
        """Whether an agent has it."""
        return self.state() in ("claimed", "running")

    def cancelled(self) -> bool:
        return self.state() == "cancelled"

    def cancel(self) -> bool:
        """Ends it for good, also while it runs. False where it was over already, in another way."""
        return self._queue.cancel([self]) == [True]

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is over within that time, in seconds; None: without limit. A job that is held is not over: a
        warning says so."""
        return self._queue.wait([self], timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits, and returns a JobFailed with the reason, or a CancelledError; None: it was done. Raises TimedOut."""
        if not self.wait(timeout):
            raise TimedOut(f"job {self.id} is not over after {timeout:g} seconds")
        state, reason = self.state(), self.reason()
        text = f"job {self.id} is {state}" + (f": {reason}" if reason else "")
        if state == "cancelled":
            return concurrent.futures.CancelledError(text)
        return None if state == "done" else JobFailed(text)

    def result(self, timeout: float | None = None) -> list[pathlib.Path]:
        """Waits, and returns where its results are. Raises what `exception` returns."""
        why = self.exception(timeout)
        if why is not None:
            raise why
        return self.result_files()

    def result_files(self, to: str | os.PathLike[str] | None = None, *, force: bool = False) -> list[pathlib.Path]:
        """The files and folders that a job has written, which is done; none of a command's. With `to` they are copied
        into that folder, each whole or not at all, and these paths are returned; `force`: they replace what is there.
        Raises ArgumentError where its results are not in place, or a name is taken; Error where one is missing."""
        return self._queue._result_files(self) if to is None else self._queue._bring_home(self, to, force)
