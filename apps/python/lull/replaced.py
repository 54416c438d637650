# SPDX-License-Identifier: Apache-2.0
"""One object's attribute, changed for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """This object has another attribute of that name inside; its class is not touched. Afterwards it has its own one
    again, or its class's."""
    had = vars(owner)
    before = {name: had[name]} if name in had else {}
    setattr(owner, name, value)
    try:
        yield
    finally:
        had.pop(name, None)
        had.update(before)
