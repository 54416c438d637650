# SPDX-License-Identifier: Apache-2.0
"""What `job.result()` of a graph's job says: how the graph was cut, and what pieces bubbles closed on."""

import re

_NONE = re.compile(r"^no bubble closed while it ran$", re.MULTILINE)
_SOME = re.compile(
    r"^(\d+) bubbles closed while it ran, and waited at most for what was under way: "
    r"p50 ([\d.]+) us, p99 ([\d.]+) us, max ([\d.]+) us;",
    re.MULTILINE,
)


def nodes_and_segments(result):
    return tuple(map(int, re.match(r"(\d+) nodes in (\d+) segments", result).groups()))


def closed_pieces(result):
    """How many bubbles closed on a piece, and how long these pieces take where no training runs beside them, in µs.
    Raises ValueError for a text that says neither that nor that there were none."""
    if found := _SOME.search(result):
        count, *times = found.groups()
        return {"count": int(count), **dict(zip(("p50", "p99", "max"), map(float, times)))}
    if _NONE.search(result):
        return {"count": 0}
    raise ValueError(f"the job's result does not say what bubbles closed on: {result!r}")
