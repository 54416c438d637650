# SPDX-License-Identifier: Apache-2.0
"""includes.py ROOT: holds every include to the direction of dependencies, and to one spelling.

The table says what a folder may include besides itself and the standard library; nothing depends on what it does not
name. `host/*` means the files of host/ itself, without its subfolders."""

import pathlib
import re
import sys

import tree

TASK_SIDE = ["device/", "host/*", "host/io/", "host/task/"]
EVERYTHING = ["device/", "host/", "tasks/", "graph/", "apps/"]

MAY_INCLUDE = {
    "device/": [],
    "host/*": ["device/"],
    "host/cuda/": ["device/", "host/*"],
    "host/cuda_graph/": ["device/", "host/*", "host/cuda/"],
    "host/threads/": ["device/", "host/*"],
    "host/govern/": ["host/*"],
    "host/attach/": ["device/", "host/*", "host/io/"],
    "host/io/": ["host/*"],
    "host/report/": ["device/", "host/*", "host/io/"],
    "host/task/": ["device/", "host/*", "host/io/"],
    "host/detail/*": ["device/", "host/*", "host/cuda/", "host/threads/"],
    "host/detail/gate/": ["device/", "host/*", "host/attach/", "host/cuda/", "host/detail/*"],
    "host/detail/job/": ["device/", "host/*", "host/detail/*", "host/report/"],
    "host/detail/dispatch/": [
        "device/",
        "host/*",
        "host/detail/*",
        "host/detail/gate/",
        "host/detail/job/",
        "host/govern/",
        "host/report/",
    ],
    "host/detail/runtime/": [
        "device/",
        "host/*",
        "host/attach/",
        "host/detail/",
        "host/cuda/",
        "host/govern/",
        "host/report/",
    ],
    "host/profile/": ["host/*", "host/detail/", "host/io/", "host/report/"],
    "host/solo/": ["device/", "host/*", "host/detail/", "host/io/", "host/task/"],
    "host/measure/": [
        "device/",
        "host/*",
        "host/detail/",
        "host/io/",
        "host/report/",
        "host/solo/",
        "host/task/",
        "host/threads/",
    ],
    "host/measure/cuda/": ["device/", "host/*", "host/cuda/", "host/measure/", "host/task/"],
    "host/queue/": ["host/*", "host/io/"],
    "host/contract/": ["device/", "host/*", "host/io/", "host/solo/", "host/task/"],
    "graph/": TASK_SIDE,
    "tasks/": TASK_SIDE,
    "apps/": EVERYTHING,
    "apps/python/": ["host/lull.h"],
    "bench/": [*EVERYTHING, "docs/examples/"],
    "docs/": EVERYTHING,
    "tests/": [*EVERYTHING, "bench/"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Behind it what a .cuh says of products means something without nvcc.
STANDS_FOR_NVCC = "lull/tests/tasks/product/simulated_hopper.hpp"
CUDA_HEADER = re.compile(r"^(cuda|cub|thrust/|cooperative_groups|nv/)")
# Headers that may need the toolkit; the others compile where there is none (CMakeLists.txt beside this).
NEEDS_TOOLKIT = ("host/cuda/", "host/cuda_graph/", "host/measure/cuda/")
FOR_EACH_BUILD = ("device/", "host/", "graph/", "tasks/")


def matches(name, pattern):
    if pattern.endswith("/*"):
        return str(name.parent) == pattern[:-2]
    return str(name).startswith(pattern) if pattern.endswith("/") else str(name) == pattern


def entry(name):
    """The table's most exact entry for a file."""
    exact = [pattern for pattern in MAY_INCLUDE if matches(name, pattern)]
    return max(exact, key=len, default=None)


def includes_of(root, name):
    """Number of the line, its quote, what it includes, and whether that is for nvcc alone."""
    before = ""
    for number, line in enumerate(tree.lines(root, name), start=1):
        for_nvcc, before = before.strip() == "#if defined(__CUDACC__)", line  # what follows that line is nvcc's alone
        if include := INCLUDE.match(line):
            yield number, *include.groups(), for_nvcc


def way_to_toolkit(root, name, seen):
    """The files from this one to a header of CUDA's; empty: there is no way."""
    seen.add(name)
    for _, _, target, for_nvcc in includes_of(root, name):
        if for_nvcc:
            continue
        if CUDA_HEADER.match(target):
            return [str(name), target]
        header = pathlib.PurePosixPath(target.removeprefix("lull/"))
        known = target.startswith("lull/") and header.suffix != ".cuh" and (pathlib.Path(root) / header).is_file()
        if known and header not in seen:
            if way := way_to_toolkit(root, header, seen):
                return [str(name), *way]
    return []


def needs_toolkit(root, name):
    given = str(name)
    if name.suffix not in (".hpp", ".h") or not given.startswith(FOR_EACH_BUILD) or given.startswith(NEEDS_TOOLKIT):
        return
    way = way_to_toolkit(root, pathlib.PurePosixPath(name), set())
    if len(way) > 2:  # its own are found below
        yield f"{name}: does not compile without CUDA's headers: {' -> '.join(way)}"


def findings_of(root, name):
    mine = entry(name)
    stands = False
    for number, quote, target, for_nvcc in includes_of(root, name):
        place = f"{name}:{number}: "
        stands = stands or target == STANDS_FOR_NVCC
        if quote == '"':
            yield place + f'"{target}": spell it <lull/folder/file>'
        elif target.startswith("lull/"):
            header = pathlib.PurePosixPath(target[len("lull/") :])
            if not (pathlib.Path(root) / header).is_file():
                yield place + f"<{target}>: there is no such file"
            elif name.suffix in (".hpp", ".cpp", ".h") and header.suffix == ".cuh" and not (for_nvcc or stands):
                yield place + f"<{target}>: a {name.suffix} file compiles without nvcc, a .cuh does not"
            elif entry(header) != mine and not any(matches(header, pattern) for pattern in MAY_INCLUDE[mine]):
                yield (
                    place + f"<{target}>: {mine} may include {', '.join(MAY_INCLUDE[mine]) or 'nothing'} besides itself"
                )
        elif ".." in pathlib.PurePosixPath(target).parts:
            yield place + f"<{target}>: relative include"
        elif CUDA_HEADER.match(target) and name.suffix in (".hpp", ".cpp", ".h"):
            if mine not in (*NEEDS_TOOLKIT, "bench/", "tests/"):
                knows = ", ".join(NEEDS_TOOLKIT)
                yield place + f"<{target}>: only {knows} and files for nvcc know CUDA's headers"


def check(root):
    names = [name for name in tree.code(root) if entry(name) or not str(name).startswith("tests/")]
    findings = [f"{name}: includes.py has no entry for this folder" for name in names if not entry(name)]
    for name in names:
        if entry(name):
            findings.extend(findings_of(root, name))
            findings.extend(needs_toolkit(root, name))
    return findings, len(names)


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
