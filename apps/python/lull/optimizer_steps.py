# SPDX-License-Identifier: Apache-2.0
"""Which steps of optimizers end a step of the training."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

_of_a_side_step = threading.local()


@contextlib.contextmanager
def not_the_trainers() -> Iterator[None]:
    """Optimizers that the calling thread steps meanwhile are a side step's."""
    before = getattr(_of_a_side_step, "is_so", False)
    _of_a_side_step.is_so = True
    try:
        yield
    finally:
        _of_a_side_step.is_so = before


class StepEnds:
    """A trainer may step several optimizers in a step: one for each group of parameters, or for each parameter while
    its gradients come. So a step ends where one of them, the leader, is stepped. That is the first; where another is
    stepped twice meanwhile, that one leads from now on."""

    def __init__(self) -> None:
        self._leader: weakref.ref[Any] | None = None
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()  # stepped since the leader was

    def is_end(self, optimizer: Any) -> bool:
        """Of a step of this optimizer, which is over; None: it is not known which."""
        if getattr(_of_a_side_step, "is_so", False):
            return False
        if optimizer is None:
            return True
        leader = self._leader() if self._leader is not None else None
        if leader is not None and optimizer is not leader and optimizer not in self._others:
            self._others.add(optimizer)
            return False
        self._leader = weakref.ref(optimizer)
        self._others.clear()
        return True
