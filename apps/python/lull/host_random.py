# SPDX-License-Identifier: Apache-2.0
"""The program's random numbers on the host: torch's, NumPy's, and those of the module random."""

from __future__ import annotations

import random
import sys
from typing import Any


class HostRandom:
    """Their states as they are now. Those of numpy where it is imported."""

    def __init__(self, torch: Any) -> None:
        numpy = sys.modules.get("numpy.random")
        self._states: list[tuple[str, Any, Any, Any]] = [
            ("torch", torch.get_rng_state, torch.set_rng_state, lambda state: state.numpy().tobytes()),
            ("random", random.getstate, random.setstate, lambda state: state),
        ]
        if numpy is not None:
            comparable = lambda state: (state[1].tobytes(), *state[2:])  # noqa: E731
            self._states.append(("numpy.random", numpy.get_state, numpy.set_state, comparable))
        self._was = [get() for _, get, *_ in self._states]

    def moved(self) -> list[str]:
        """Whose state is another one now."""
        return [
            name
            for (name, get, _, comparable), was in zip(self._states, self._was)
            if comparable(get()) != comparable(was)
        ]

    def put_back(self) -> None:
        for (_, _, put, _), was in zip(self._states, self._was):
            put(was)
