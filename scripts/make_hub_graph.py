#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a graph with a hub, as an edge list.

    scripts/make_hub_graph.py FILE.el [--spokes 10000000] [--others 1000000] [--seed 1]

An edge leads from the hub, vertex 1, to each of the other vertices, the spokes, and from every third of these back to
it. Between random spokes there are other edges. With the numbers above the file has 14.3 million edges
and about 150 MB. The same numbers give the same bytes."""

import argparse
import os
import pathlib

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
    with part.open("w", encoding="ascii") as file:
        lines = []
        for line in edges(spokes, others, seed):
            lines.append(line)
            if len(lines) == LINES:
                file.write("".join(lines))
                lines.clear()
        file.write("".join(lines))
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--spokes", type=int, default=10_000_000)
    parser.add_argument("--others", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.spokes < 1 or given.others < 0:
        parser.error("there must be a spoke at least")
    write(given.file, given.spokes, given.others, given.seed)


if __name__ == "__main__":
    main()
