# SPDX-License-Identifier: Apache-2.0
"""device_code.py BUILD: searches what nvcc made.

The compiled workers for loads through the non-coherent path: the compiler may choose it by itself where it believes
that data is only read; so the PTX that it made is searched. Workers are the objects that lull_side_task() added; it
has their PTX stored as plain text (--no-compress). … and for local memory that is not the task's own: a worker that
a call takes by address lies there, and each block finds its parameters 1.5 us later. The objects of graph/, tasks/
and device/ for calls that wait for the whole device: Thrust makes some unless told where to take memory from."""

import pathlib
import re
import sys

import tree

NON_COHERENT = re.compile(rb"ld\.global(\.[\w:]+)*\.nc\b")
WAITING = re.compile(rb"(?<=\0)cuda(Malloc|Free|DeviceSynchronize)(?=\0)")  # in the table of symbols
ENTRY = re.compile(rb"\.entry\s+(\w+)")
FUNCTION = re.compile(rb"\.(entry|func)\b([^\n]*)")
LOCAL = re.compile(rb"\.local\s+\.align\s+\d+\s+\.b8\s+__local_depot\w*\[(\d+)\]")


KERNEL = re.compile(rb"\b\w*?(resident|phase)_kernel(?:(I\w+E)v)?")  # and the task that it is a template of


def local_bytes(code):
    """{(kind of kernel, task): bytes} of an object's workers."""
    functions, found = [*FUNCTION.finditer(code)], {}
    for function, after in zip(functions, [*functions[1:], None]):
        if function.group(1) == b"entry" and (kernel := KERNEL.search(function.group(2))):
            end = after.start() if after else len(code)
            found[kernel.groups()] = sum(int(depot.group(1)) for depot in LOCAL.finditer(code, function.end(), end))
    return found


def search(code, name):
    """The findings in one object, each with the kernel that it stands in."""
    local = local_bytes(code)
    for kind, task in local:
        if kind == b"resident" and local[kind, task] > local.get((b"phase", task), 0):
            of = f" of {task.decode()}" if task else ""
            yield f"{name}: the worker{of} lies in local memory: a call takes it by address"
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
                findings.append(
                    f"{unit.relative_to(build)}: {found.group().decode()}: waits for the trainer's kernels, too"
                )
    return findings, kernels


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
