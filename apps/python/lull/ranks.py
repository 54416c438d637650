# SPDX-License-Identifier: Apache-2.0
"""Files and folders of ranks."""

from __future__ import annotations

import os
import pathlib
from typing import Any


def own_file(path: str | os.PathLike[str], torch: Any) -> pathlib.Path:
    """A file or folder of its own for each rank, where there are several: bubbles.txt → bubbles.rank3.txt. `torch`: the
    module, or None."""
    path = pathlib.Path(path)
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return path
    if distributed.get_world_size() == 1:
        return path
    if path.name in ("", ".."):  # such as `.`
        path = pathlib.Path(os.path.abspath(path))
    stem, dot, ending = path.name.partition(".")
    return path.with_name(f"{stem}.rank{distributed.get_rank()}{dot}{ending}")
