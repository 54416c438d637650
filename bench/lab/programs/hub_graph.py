# SPDX-License-Identifier: Apache-2.0
"""Writes a graph with a hub, as an edge list.

An edge leads from the hub, vertex 1, to each of the other vertices, the spokes, and from every third of these back to
it. Between random spokes there are --others. With the numbers by default the file has 14.3 million edges and about
150 MB. The same numbers give the same bytes."""

import os
import pathlib

from lab.options import at_least, count

LINES = 1 << 16  # written at a time
MASK = (1 << 64) - 1


def random_numbers(seed):
    """SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same everywhere, whatever the version of Python."""
    state = seed & MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        yield mixed ^ (mixed >> 31)


def edges(spokes, others, seed):
    """The hub's edges to and fro, and then the others. Vertices are 0 to `spokes`."""
    hub = 1  # a search from the lowest vertex has a step to it
    for vertex in range(spokes + 1):
        if vertex != hub:
            yield f"{hub} {vertex}\n"
            if vertex % 3 == 0:
                yield f"{vertex} {hub}\n"
    numbers = random_numbers(seed)
    for _ in range(others):
        both = next(numbers)
        yield f"{(both >> 32) % (spokes + 1)} {(both & 0xFFFFFFFF) % (spokes + 1)}\n"


def write(path, spokes, others, seed):
    """Leaves a whole file or none."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")  # another may make the same
    with part.open("w", encoding="ascii", buffering=LINES) as file:
        file.writelines(edges(spokes, others, seed))
    part.replace(path)


def measure(build, files, spokes: count = 10_000_000, others: at_least(0) = 1_000_000, seed=1):
    for file in files:
        write(file, spokes, others, seed)
