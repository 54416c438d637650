# SPDX-License-Identifier: Apache-2.0
"""What has become of jobs: one process of the program looks for all threads that ask, at a pace of its own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .binding import Error, log

if TYPE_CHECKING:
    from .queue_job import QueueJob

MIN_PACE_S = 0.1  # between two looks, while jobs change
MAX_PACE_S = 5.0  # … while none does
PACE_GROWS = 1.5
SHARE = 4  # looks take at most about a fifth of the time

_every: weakref.WeakSet[Looks] = weakref.WeakSet()


def _after_fork() -> None:
    """A child's other threads are gone, with what they had locked."""
    for each in list(_every):
        each.begin()


os.register_at_fork(after_in_child=_after_fork)


class Looks:
    """`ask` returns what the program says of jobs, by their ids."""

    def __init__(self, ask: Callable[[Sequence[str]], dict[str, dict[str, Any]]]) -> None:
        self._ask = ask
        self._jobs: weakref.WeakSet[QueueJob] = weakref.WeakSet()
        self._backs_off = self._pace = MIN_PACE_S
        self._failed: tuple[float, Error] | None = None
        self.begin()
        _every.add(self)

    def begin(self) -> None:
        self._change = threading.Condition()
        self._is_looking = False

    def add(self, jobs: Iterable[QueueJob]) -> None:
        with self._change:
            self._jobs.update(jobs)

    def over(self) -> list[QueueJob]:
        with self._change:
            return [job for job in self._jobs if job._is_over]

    def fresh(self, jobs: Sequence[QueueJob]) -> None:
        """Returns when each of the jobs is over, or was looked at so lately that it is too early for another look.
        Raises what the program says, to all threads that waited for that look."""
        begun = time.monotonic()
        while True:
            with self._change:
                if not any(self._is_due(job) for job in jobs):
                    return
                if self._failed and self._failed[0] >= begun:
                    raise type(self._failed[1])(*self._failed[1].args)
                if self._is_looking:
                    self._change.wait(MAX_PACE_S)
                    continue
                self._is_looking = True
                asked = [job for job in self._jobs if not job._is_over]
            self._look(asked)

    def rest(self, at_most: float | None) -> None:
        """Waits until another look is due, or another thread has looked."""
        with self._change:
            self._change.wait(self._pace if at_most is None else min(self._pace, at_most))

    def forget(self, jobs: Iterable[QueueJob]) -> None:
        """The next question about them is another look's."""
        with self._change:
            for job in jobs:
                job._looked_at, job._changed_at = None, time.monotonic()

    def _is_due(self, job: QueueJob) -> bool:
        return not job._is_over and (job._looked_at is None or time.monotonic() >= job._looked_at + self._pace)

    def _look(self, jobs: Sequence[QueueJob]) -> None:
        begun = time.monotonic()
        found: dict[str, dict[str, Any]] | None = None
        failed: Error | None = None
        try:
            found = self._ask([job.id for job in jobs])
        except Error as why:
            failed = why
            raise
        finally:  # also where the thread is interrupted
            now = time.monotonic()
            with self._change:
                self._is_looking = False
                self._failed = (now, failed) if failed else None
                if found is not None:
                    self._take(jobs, found, begun, now)
                self._pace = max(self._backs_off, SHARE * (now - begun))
                self._change.notify_all()

    def _take(self, jobs: Sequence[QueueJob], found: dict[str, dict[str, Any]], begun: float, now: float) -> None:
        has_changed = False
        for job in jobs:
            if job._changed_at > begun:
                continue
            seen = found.get(job.id, {})
            has_changed = has_changed or seen != job._seen
            if seen.get("state") == "held" and (job._seen or {}).get("state") != "held":
                log.warning("job %s is held until it is released: %s", job.id, seen["reason"])
            job._seen, job._looked_at = seen, now
        self._backs_off = MIN_PACE_S if has_changed else min(self._backs_off * PACE_GROWS, MAX_PACE_S)
