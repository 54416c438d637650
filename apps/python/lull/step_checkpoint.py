# SPDX-License-Identifier: Apache-2.0
"""The file that a side step goes on from."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from .binding import Error
from .ranks import own_file

_FORMAT = "side_step/1"


class Checkpoint:
    """A file of a step's state and of the number of steps done; of each rank its own. It is whole at any time, also
    after a crash of the machine."""

    def __init__(self, torch: Any, path: str | os.PathLike[str]) -> None:
        """Raises Error where the file cannot be read, or could not be written."""
        self._torch = torch
        self.path = own_file(path, torch)
        self._part = self.path.with_name(self.path.name + ".part")
        self.steps = 0
        self.seed: int | None = None
        self._state: list[Any] | None = None
        self._copies: list[Any] = []  # on the host, written again by each save
        try:
            self._part.write_bytes(b"")
            self._part.unlink()
        except OSError as why:
            raise Error(f"{self.path} cannot be written: {why}") from why
        if self.path.exists():
            self._load()

    def _load(self):
        try:
            saved = self._torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as why:  # whatever the file's bytes make of it
            reason = f"{type(why).__name__} {_first_sentence(why)}".strip()
            raise Error(f"{self.path} cannot be read: {reason}: delete it, or name another file") from why
        if not _is_ours(saved):
            raise Error(f"{self.path} is no checkpoint of a side step: delete it, or name another file")
        self.steps, self.seed, self._state = saved["steps"], saved["seed"], saved["state"]

    def prepare(self, state: Sequence[Any]) -> None:
        """Makes the host memory that saves use, pinned, of the size of the state. Copies what was read into the state,
        if the file was there. Raises Error where it is of another step."""
        torch = self._torch
        if self._state is not None:
            if [(t.shape, t.dtype) for t in state] != [(t.shape, t.dtype) for t in self._state]:
                raise Error(f"{self.path} holds the state of another step: delete it, or name another file")
            with torch.no_grad():
                for to, value in zip(state, self._state):
                    to.copy_(value)
        is_pinned = torch.cuda.is_available()
        if not self._copies:
            self._copies = [torch.empty_like(t, device="cpu", pin_memory=is_pinned, requires_grad=False) for t in state]

    def forget(self) -> None:
        """Frees what was read."""
        self._state = None

    def save(self, state: Sequence[Any], steps: int, seed: int) -> None:
        """On the current stream, between two steps. Blocks until the disk has it. Raises Error where it cannot be
        written; the file of before stays."""
        torch = self._torch
        with torch.no_grad():
            for to, value in zip(self._copies, state):
                to.copy_(value, non_blocking=True)
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()
        try:
            with open(self._part, "wb") as file:
                torch.save({"lull": _FORMAT, "steps": steps, "seed": seed, "state": self._copies}, file)
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


def _is_ours(saved):
    if not isinstance(saved, dict) or saved.get("lull") != _FORMAT:
        return False
    return all(isinstance(saved.get(name), kind) for name, kind in (("steps", int), ("seed", int), ("state", list)))


def _sync_folder(folder):
    """Without it a crash may undo the replacement."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
