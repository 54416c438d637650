# SPDX-License-Identifier: Apache-2.0
"""Files and folders of ranks."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any


# As torchrun, Open MPI and others of MPI tell them.
_TOLD_IN = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))


def process_group(torch: Any) -> Any:
    """torch.distributed, where a process group is initialised; else None. `torch`: the module, or None."""
    distributed = getattr(torch, "distributed", None)
    has_one = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if has_one else None


def rank_and_ranks(torch: Any) -> tuple[int, int]:
    """This process's, and how many there are: of an initialised process group, else as what started the process says;
    0 of 1 where nobody does. `torch`: the module, or None."""
    if (distributed := process_group(torch)) is not None:
        return distributed.get_rank(), distributed.get_world_size()
    for names in _TOLD_IN:
        told = [os.environ.get(name, "") for name in names]
        if all(each.isdecimal() for each in told) and int(told[0]) < int(told[1]):
            return int(told[0]), int(told[1])
    return 0, 1


def own_file(path: str | os.PathLike[str], torch: Any) -> pathlib.Path:
    """A file or folder of its own for each rank, where there are several: bubbles.txt → bubbles.rank3.txt. `torch`: the
    module, or None."""
    path = pathlib.Path(path)
    rank, ranks = rank_and_ranks(torch)
    if ranks == 1:
        return path
    if path.name in ("", ".."):  # such as `.`
        path = pathlib.Path(os.path.abspath(path))
    stem, dot, ending = path.name.partition(".")
    return path.with_name(f"{stem}.rank{rank}{dot}{ending}")


def files_of_ranks(path: str | os.PathLike[str]) -> list[pathlib.Path]:
    """Those that are there, of one process or of any rank, of a file that was given so."""
    path = pathlib.Path(path)
    stem, dot, ending = path.name.partition(".")
    of_a_rank = re.compile(re.escape(stem) + r"\.rank\d+" + re.escape(dot + ending))
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:
        return []
    return [each for each in beside if each.name == path.name or of_a_rank.fullmatch(each.name)]
