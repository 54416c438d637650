# SPDX-License-Identifier: Apache-2.0
"""What the steps of a side step returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Outputs(Iterator[list[Any]]):
    """What the steps returned that are over, in order, each once: a loop that is left early leaves the rest for the
    next one. Ends where no further step is over. `len` tells how many are there now. Thread-safe."""

    def __init__(self, feeder: Any) -> None:
        self._feeder = feeder

    def __next__(self) -> list[Any]:
        taken = self._feeder.take_output()
        if taken is None:
            raise StopIteration
        return taken

    def __len__(self) -> int:
        return self._feeder.outputs_left()
