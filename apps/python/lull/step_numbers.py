# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a captured PyTorch step that is run without the host."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterator

from .binding import Error
from .step_memory import capturing

_BLOCK = 512  # bytes of a small allocation of torch's
_NOT_FOUND = (
    "the words that hold this torch's random numbers in graphs were not found: take dropout and the like out of the "
    "step, or use a torch that Lull knows"
)
_made = itertools.count()


class _Alias:
    """Memory of the device as torch.as_tensor takes it: one signed 64-bit number."""

    def __init__(self, pointer):
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<i8", "data": (pointer, False), "version": 3}


class Numbers:
    """A generator state of the step's own. Ordinary replays write seed and offset of the device's generator into two
    words on the device first, from the host. Here a replay has no host: so the step's last node adds to the offset."""

    def __init__(self, torch, device, seed):
        self._torch, self._device = torch, device
        self._tried = None  # it keeps the words where they are
        self._generator = torch.cuda.default_generators[device]
        self._programs = self._generator.graphsafe_get_state()
        own = self._generator.clone_state()
        own.manual_seed(self._drawn(self._generator.initial_seed()) if seed is None else seed)
        self._own = own
        self.increment = None  # (1,) on the device
        self._seed = self._offset = None  # the two words; None: not found

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        self._generator.graphsafe_set_state(self._own)
        try:
            yield
        finally:
            self._generator.graphsafe_set_state(self._programs)

    @property
    def seed(self):
        return self._own.initial_seed()

    @staticmethod
    def _drawn(programs):
        """A seed that is not the program's own, and another for each step; the same in the next run of the program."""
        key = f"lull side step {next(_made)} of {programs}".encode()
        return int.from_bytes(hashlib.blake2b(key, digest_size=6).digest(), "big")

    def find(self, stream):
        """Finds the two words by what a replay writes there, twice. Without them a step that draws random numbers is
        refused later. In use."""
        torch, seed = self._torch, self.seed
        tried = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), capturing(torch, tried, self._device, torch.cuda.graph_pool_handle()):
            kept = torch.rand(1, device=f"cuda:{self._device}")
        found: dict[str, set[int]] = {}
        for turn in range(2):
            marks = {"seed": 0x5EED0000 + 977 * turn, "offset": 4 * (0x0FF5E7 + 7919 * turn)}
            self._generator.manual_seed(marks["seed"])
            self._generator.set_offset(marks["offset"])
            with torch.cuda.stream(stream):
                tried.replay()
            stream.synchronize()
            for name, mark in marks.items():
                here = set(self._holding(mark))
                found[name] = found[name] & here if turn else here
        self._tried = tried, kept
        self._generator.manual_seed(seed)
        if len(found["seed"]) == 1 and len(found["offset"]) == 1:
            self._seed = torch.as_tensor(_Alias(found["seed"].pop()), device=f"cuda:{self._device}")
            self._offset = torch.as_tensor(_Alias(found["offset"].pop()), device=f"cuda:{self._device}")
            self.increment = torch.zeros(1, dtype=torch.int64, device=f"cuda:{self._device}")

    def _holding(self, mark):
        torch = self._torch
        for segment in torch.cuda.memory_snapshot():
            if segment["device"] != self._device:
                continue
            at = segment["address"]
            for block in segment["blocks"]:
                if block["size"] == _BLOCK and block["state"] == "active_allocated":
                    if torch.as_tensor(_Alias(at), device=f"cuda:{self._device}").item() == mark:
                        yield at
                at += block["size"]

    def advance(self):
        """The last operation of the captured step."""
        if self._offset is not None:
            self._offset.add_(self.increment)

    def increment_of(self, graph, stream):
        """How far a replay of the step moves its numbers; it is replayed once. torch counts that on the host. The
        step's own graph must find seed and offset in the words that were found, unless it draws none. In use."""
        seed, marked_seed, marked = self.seed, 0x5EED1111, 4 * 0x0FF111
        self._generator.manual_seed(marked_seed)
        self._generator.set_offset(marked)
        graph.replay()
        stream.synchronize()
        increment = self._generator.get_offset() - marked
        self._generator.manual_seed(seed)
        if increment == 0:
            return 0
        if self._offset is None or (self._seed.item(), self._offset.item()) != (marked_seed, marked):
            raise Error(_NOT_FOUND)
        return increment

    def begin(self, increment, done):
        """As before the first step, or after so many."""
        if self._offset is not None:
            self.increment.fill_(increment)
            self._seed.fill_(self.seed)
            self._offset.fill_(increment * done)
