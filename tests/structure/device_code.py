# SPDX-License-Identifier: Apache-2.0
"""device_code.py BUILD: searches what nvcc made.

The compiled workers for loads through the non-coherent path: the compiler may choose it by itself where it believes that
data is only read; so the PTX that it made is searched. Workers are the objects that lull_side_task() added; it has their
PTX stored as plain text (--no-compress).
The objects of graph/, tasks/ and device/ for calls that wait for the whole device: Thrust makes some unless told where to
take memory from."""

import pathlib
import re
import sys

import tree

NON_COHERENT = re.compile(rb"ld\.global(\.[\w:]+)*\.nc\b")
WAITING = re.compile(rb"(?<=\0)cuda(Malloc|Free|DeviceSynchronize)(?=\0)")  # in the table of symbols
ENTRY = re.compile(rb"\.entry\s+(\w+)")


def search(code, name):
    """The findings in one object, each with the kernel that it stands in."""
    entries = list(ENTRY.finditer(code))
    for found in NON_COHERENT.finditer(code):
        kernel = next((entry.group(1).decode() for entry in reversed(entries) if entry.start() < found.start()), "?")
        yield f"{name}: {kernel}: {found.group().decode()}: a resident worker may read stale data through it"


def check(build):
    findings, kernels = [], 0
    for worker in sorted(pathlib.Path(build).rglob("side_tasks/**/*.cu.o")):
        code, name = worker.read_bytes(), worker.relative_to(build)
        entries = len(ENTRY.findall(code))
        kernels += entries
        if not entries:
            findings.append(f"{name}: no PTX to read in it")
        findings.extend(search(code, name))
    for folder in ("graph", "tasks", "device"):
        for unit in sorted(pathlib.Path(build, folder).rglob("*.cu.o")):
            for found in WAITING.finditer(unit.read_bytes()):
                findings.append(f"{unit.relative_to(build)}: {found.group().decode()}: waits for the trainer's kernels, too")
    return findings, kernels


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
