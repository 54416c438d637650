# SPDX-License-Identifier: Apache-2.0
"""A queue of jobs (docs/11-the-queue.md), by the program that the package carries."""

from __future__ import annotations

import datetime
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from . import program
from .binding import ArgumentError, Error, TimedOut, log
from .queue_document import document
from .queue_job import QueueJob
from .queue_looks import Looks

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_JOBS = 10_000  # documents of one call; ids of one process
MAX_CALL_S = 600.0  # of one process of the program
PATIENCE_S = 60.0  # for a queue that cannot be looked at now


class JobFields(TypedDict, total=False):
    """The arguments of `Queue.submit`, but `array`."""

    task: str | None
    python: str | None
    options: Mapping[str, object] | None
    results: Sequence[str] | None
    command: Sequence[str | os.PathLike[str]] | None
    folder: str | os.PathLike[str] | None
    name: str | None
    user: str | None
    labels: Mapping[str, str] | None
    priority: int
    deadline: str | datetime.datetime | None
    at_most: str | float | datetime.timedelta | None
    memory: str | None
    attempts: int | None
    after: QueueJob | str | Iterable[QueueJob | str]
    after_any: bool


class Queue:
    """Where jobs wait for agents: `lull.Queue("spool:/home/me/queue")`, or postgresql://; None: LULL_QUEUE.

    Each call runs the program `lull`, at most ten minutes long; what it says of a failure is the text of the exception,
    an ArgumentError for what cannot be. One process looks for all jobs and threads that ask, at a pace that backs off
    from a tenth of a second to five while nothing changes. A `Queue` may be used from any thread, and in a forked
    child, which looks by itself. Nothing needs to be closed, and jobs go on without the process that submitted them."""

    def __init__(self, url: str | None = None) -> None:
        address = os.environ.get("LULL_QUEUE", "") if url is None else url
        if not address:
            raise ArgumentError("which queue? Give spool:PATH or postgresql://USER@HOST/DATABASE, or set LULL_QUEUE")
        scheme, _, rest = address.partition(":")
        self._url = f"spool:{os.path.abspath(rest)}" if scheme == "spool" and rest else address
        self._looks = Looks(self._described)

    def __repr__(self) -> str:
        return f"<lull.Queue {self._url if self._url.startswith('spool:') else self._url.partition(':')[0] + ':'}>"

    @overload
    def submit(self, *, array: None = ..., **job: Unpack[JobFields]) -> QueueJob: ...

    @overload
    def submit(self, *, array: Mapping[str, Sequence[object]], **job: Unpack[JobFields]) -> list[QueueJob]: ...

    def submit(self, **job: Any) -> QueueJob | list[QueueJob]:
        """Returns the job when it is on the disk; with `array` a list, a job for each combination of its values.

        One of `task`, as `lull tasks` lists them or of a library, `python`, a function as "FILE.py:FUNCTION", and
        `command`, a program and its arguments. `options`: of task or function; `results`: which of them name files
        that a function or a library's task writes. `folder`: where it runs, and what relative paths are below; by
        default this process's. `at_most`: of one attempt, in seconds, or as "2h". `deadline`: with a time zone.
        `after`: jobs, or ids, that must be done first; with `after_any` whatever became of them. The others are as in
        a job document (docs/11-the-queue.md)."""
        made = self.submit_many([job])
        return made if job.get("array") is not None else made[0]

    def submit_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[QueueJob]:
        """Submits several at once, by one process: all of them or, where one cannot be, none. Each is a mapping with
        the arguments of `submit`. Returns them in order, those of an array one after another."""
        documents = [document(**{**each, "after": _ids(each.get("after", ()))}) for each in jobs]
        if len(documents) > MAX_JOBS:
            raise ArgumentError(f"{len(documents)} jobs in one call: at most {MAX_JOBS} are taken, or an array")
        if not documents:
            return []
        with tempfile.TemporaryDirectory(prefix="lull-") as folder:
            paths = [pathlib.Path(folder, f"job-{number}.json") for number in range(len(documents))]
            for path, text in zip(paths, documents):
                path.write_text(text, encoding="utf-8")
            try:
                ids = self._ask("submit", "--json", "--", *map(str, paths))
            except ArgumentError as why:
                raise ArgumentError(str(why).replace(f"{folder}/", "")) from None
        return self._jobs(ids)

    def job(self, job_id: str) -> QueueJob:
        """The job of an id, which is looked for when it is asked something."""
        return self._jobs([job_id])[0]

    def jobs(self, *, over: bool = False) -> list[QueueJob]:
        """Those that are in the queue now; `over`: those that are over, too."""
        begun = time.monotonic()
        found = self._ask("jobs", "--json", *(["--all"] if over else []))
        made = self._jobs([each["id"] for each in found])
        for job, seen in zip(made, found):
            job._seen, job._looked_at = seen, begun
        return made

    def agents(self) -> list[dict[str, Any]]:
        """Those that take jobs from the queue, as `lull agents --json` prints them."""
        return list(self._ask("agents", "--json"))

    def wait(self, jobs: Iterable[QueueJob], timeout: float | None = None) -> bool:
        """Whether all of these are over within that time, in seconds; None: without limit. A queue that cannot be
        looked at is tried again for a minute."""
        asked = self._own(jobs)
        return self._wait_until(asked, timeout, lambda: all(job._is_over for job in asked))

    def as_completed(self, jobs: Iterable[QueueJob], timeout: float | None = None) -> Iterator[QueueJob]:
        """Yields each job when it is over, in whatever way. Raises TimedOut when the time is over first."""
        waiting = dict.fromkeys(self._own(jobs))
        count = len(waiting)
        end = None if timeout is None else time.monotonic() + timeout
        while waiting:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not self._wait_until(list(waiting), left, lambda: any(job._is_over for job in waiting)):
                raise TimedOut(f"{len(waiting)} of {count} jobs are not over after {timeout:g} seconds")
            for job in [job for job in waiting if job._is_over]:
                del waiting[job]
                yield job

    def cancel(self, jobs: Iterable[QueueJob]) -> list[bool]:
        """Ends them for good, also those that run. For each: False where it was over already, in another way."""
        asked = self._own(jobs)
        left = asked
        while left := [job for job in left if not job.done()]:
            try:
                for begin in range(0, len(left), MAX_JOBS):
                    part = [job.id for job in left[begin : begin + MAX_JOBS]]
                    self._ask("cancel", "--", *part, is_json=False)
            except ArgumentError:  # one was over first, and those after it were not cancelled
                self._looks.forget(left)
                if not any(job.done() for job in left):
                    raise
            self._looks.forget(left)
        return [job.cancelled() for job in asked]

    def _jobs(self, ids: Iterable[str]) -> list[QueueJob]:
        made = [QueueJob(self, each) for each in ids]
        self._looks.add(made)
        return made

    def _own(self, jobs: Iterable[QueueJob]) -> list[QueueJob]:
        found = list(jobs)
        for job in found:
            if job._queue is not self:
                raise ArgumentError(f"job {job.id} is of another queue: ask that one")
        return found

    def _ask(self, *asked: str, may_fail: bool = False, is_json: bool = True) -> Any:
        # Not as an argument: other users see those, and the address may hold a password.
        environment = {"LULL_QUEUE": self._url}
        return program.answer(asked, environment=environment, timeout=MAX_CALL_S, may_fail=may_fail, is_json=is_json)

    def _look(self, jobs: Sequence[QueueJob]) -> None:
        self._looks.fresh(jobs)

    def _described(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """For Looks."""
        found: dict[str, dict[str, Any]] = {}
        for begin in range(0, len(ids), MAX_JOBS):
            part = ids[begin : begin + MAX_JOBS]
            found.update({each["id"]: each for each in self._ask("jobs", "--json", "--", *part, may_fail=True)})
        return found

    def _wait_until(self, jobs: Sequence[QueueJob], timeout: float | None, is_so: Callable[[], bool]) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        in_trouble: float | None = None
        while True:
            try:
                self._look(jobs)
                in_trouble = None
            except ArgumentError:
                raise
            except Error as why:
                if in_trouble is None:
                    in_trouble = time.monotonic()
                    log.warning("the queue cannot be looked at now, and is tried again: %s", why)
                elif time.monotonic() - in_trouble >= PATIENCE_S:
                    raise
            if is_so():
                return True
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            self._looks.rest(left)

    def _result_files(self, job: QueueJob) -> list[pathlib.Path]:
        """One process asks for the results of other jobs that are done, too."""
        if job._files is None:
            others = [each for each in self._looks.over() if each._files is None and each is not job]
            others = [each for each in others if (each._seen or {}).get("state") == "done"][: MAX_JOBS - 1]
            asked = [job, *others]
            ids = dict.fromkeys(each.id for each in asked)
            found = {each["id"]: each for each in self._ask("results", "--json", "--", *ids, may_fail=True)}
            for each in asked:
                results = found[each.id]["results"]
                if found[each.id]["in_place"] and all(result["kind"] != "missing" for result in results):
                    each._files = [pathlib.Path(result["path"]) for result in results]
                elif each is job and not found[job.id]["in_place"]:
                    raise ArgumentError(found[job.id]["why"])
                elif each is job:
                    missing = next(result["path"] for result in results if result["kind"] == "missing")
                    raise Error(f"job {job.id}: its result {missing} is not there")
        return list(job._files or [])

    def _bring_home(self, job: QueueJob, to: str | os.PathLike[str], force: bool) -> list[pathlib.Path]:
        asked = ["results", "--json", "--to", os.fspath(to), *(["--force"] if force else []), "--", job.id]
        (found,) = self._ask(*asked)
        return [pathlib.Path(result["copy"]) for result in found["results"]]


def _ids(after: QueueJob | str | Iterable[QueueJob | str]) -> list[str]:
    jobs = [after] if isinstance(after, (QueueJob, str)) else after
    return [each.id if isinstance(each, QueueJob) else each for each in jobs]
