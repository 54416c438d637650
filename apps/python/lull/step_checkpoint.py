# SPDX-License-Identifier: Apache-2.0
"""The file that a side step goes on from."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Any

from .binding import Error
from .ranks import files_of_ranks, own_file, rank_and_ranks

_FORMAT = "side_step/1"
_KINDS = (("steps", int), ("seed", (int, type(None))), ("state", list))


class Checkpoint:
    """A step's state and the number of steps done, as they were between two steps, on the host; and a file of them, of
    each rank its own, where there is a path. The file is whole at any time, also after a crash of the machine."""

    def __init__(self, torch: Any, path: str | os.PathLike[str] | None, taken: dict[str, Any] | None = None) -> None:
        """`taken`: what state_dict() gave, to go on from where there is no path. Raises Error where the file cannot be
        read, could not be written, or is of another number of ranks."""
        self._torch = torch
        self._ranks = rank_and_ranks(torch)[1]
        self.steps = 0
        self.seed: int | None = None
        self._state: list[Any] | None = None
        self._copies: list[Any] = []  # on the host, written again by each copy
        self._copied = (0, 0)  # steps and seed of what is there
        self._lock = threading.Lock()  # of the copies
        self.path = None if path is None else own_file(path, torch)
        if path is None or self.path is None:
            if taken is not None:
                self.steps, self.seed, self._state = taken["steps"], taken["seed"], taken["state"]
            return
        self._part = self.path.with_name(self.path.name + ".part")
        try:
            self._part.write_bytes(b"")
            self._part.unlink()
        except OSError as why:
            raise Error(f"{self.path} cannot be written: {why}") from why
        if self.path.exists():
            saved = self._loaded()
            self._refuse_others(self.path, saved.get("ranks"))
            self.steps, self.seed, self._state = saved["steps"], saved["seed"], saved["state"]
            return
        for other in files_of_ranks(path):
            self._refuse_others(other, self._ranks_of(path, other))

    def _loaded(self):
        try:
            saved = self._torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as why:  # whatever the file's bytes make of it
            reason = f"{type(why).__name__} {_first_sentence(why)}".strip()
            raise Error(f"{self.path} cannot be read: {reason}: delete it, or name another file") from why
        if not is_ours(saved):
            raise Error(f"{self.path} is no checkpoint of a side step: delete it, or name another file")
        return saved

    def _refuse_others(self, file, ranks):
        if ranks is not None and ranks != self._ranks:
            of, now = ("one process" if n == 1 else f"{n} ranks" for n in (ranks, self._ranks))
            raise Error(f"{file} was saved by {of}, and this is {now}: go on with as many, delete it, or name another")

    def _ranks_of(self, path, file):
        """How many saved a file that is not this rank's; None: it does not say."""
        if file.name == os.path.basename(path):
            return 1
        with contextlib.suppress(Exception):  # it may be any file
            return self._torch.load(file, map_location="cpu", weights_only=True, mmap=True).get("ranks")
        return None

    def prepare(self, state: Sequence[Any]) -> None:
        """Makes the host memory that copies use, pinned, of the size of the state. Copies what was read into the state,
        if there was anything. Raises Error where it is of another step."""
        torch = self._torch
        if self._state:
            if [(t.shape, t.dtype) for t in state] != [(t.shape, t.dtype) for t in self._state]:
                raise Error(f"{self.path or 'what was loaded'} holds the state of another step{self._advice()}")
            with torch.no_grad():
                for to, value in zip(state, self._state):
                    to.copy_(value)
        is_pinned = torch.cuda.is_available()
        if not self._copies:
            self._copies = [torch.empty_like(t, device="cpu", pin_memory=is_pinned, requires_grad=False) for t in state]

    def _advice(self):
        return ": delete it, or name another file" if self.path else ""

    def forget(self) -> None:
        """Frees what was read."""
        self._state = None

    def copy(self, state: Sequence[Any], steps: int, seed: int) -> None:
        """On the current stream, between two steps. Blocks until the copy is on the host."""
        with self._lock, self._torch.no_grad():
            for to, value in zip(self._copies, state):
                # Not non_blocking: torch would note the stream with the pinned memory, and record an event there when
                # the memory is freed, which may be after the runtime's end, and so the stream's.
                to.copy_(value)
            self._copied = steps, seed

    def state_dict(self) -> dict[str, Any]:
        """The last copy, as a file holds it, in memory of its own."""
        with self._lock:
            return self._content([each.clone() for each in self._copies])

    def _content(self, state):
        steps, seed = self._copied
        return {"lull": _FORMAT, "steps": steps, "seed": seed, "ranks": self._ranks, "state": state}

    def write(self) -> None:
        """The last copy, if there is a path. Blocks until the disk has it. Raises Error where it cannot be written; the
        file of before stays. No copy is made meanwhile."""
        if self.path is None:
            return
        try:
            with open(self._part, "wb") as file:
                self._torch.save(self._content(self._copies), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self._part, self.path)
            _sync_folder(self.path.parent)
        except Exception as why:
            with contextlib.suppress(OSError):
                self._part.unlink()
            raise Error(f"{self.path} cannot be written: {why}") from why


def _first_sentence(why):
    """Of torch's: further ones advise to trust the file."""
    return (str(why).splitlines() or [""])[0].split(". ")[0].rstrip(".:")


def no_step(seed: int | None) -> dict[str, Any]:
    """Of a step that did not run: its state is as the program has it."""
    return {"lull": _FORMAT, "steps": 0, "seed": seed, "state": []}


def is_ours(saved: Any) -> bool:
    """Whether it is what a checkpoint holds."""
    if not isinstance(saved, dict) or saved.get("lull") != _FORMAT:
        return False
    return all(isinstance(saved.get(name), kind) for name, kind in _KINDS)


def _sync_folder(folder):
    """Without it a crash may undo the replacement."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
