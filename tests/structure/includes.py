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
    "host/io/": ["host/*"],
    "host/report/": ["device/", "host/*", "host/io/"],
    "host/task/": ["device/", "host/*", "host/io/"],
    "host/detail/": ["device/", "host/*", "host/cuda/", "host/govern/", "host/report/", "host/threads/"],
    "host/profile/": ["host/*", "host/detail/", "host/io/", "host/report/"],
    "host/solo/": ["device/", "host/*", "host/detail/", "host/io/", "host/task/"],
    "host/contract/": ["device/", "host/*", "host/io/", "host/solo/", "host/task/"],
    "graph/": TASK_SIDE,
    "tasks/": TASK_SIDE,
    "apps/": EVERYTHING,
    "apps/lull/trainer/": ["device/", "host/*", "host/cuda/"],
    "apps/python/": ["host/lull.h"],
    "bench/": [*EVERYTHING, "docs/examples/"],
    "docs/": EVERYTHING,
    "tests/": [*EVERYTHING, "bench/"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Behind it what a .cuh says of products means something without nvcc.
STANDS_FOR_NVCC = "lull/tests/tasks/product/simulated_hopper.hpp"
CUDA_HEADER = re.compile(r"^(cuda|cub|thrust/|cooperative_groups|nv/)")


def matches(name, pattern):
    if pattern.endswith("/*"):
        return str(name.parent) == pattern[:-2]
    return str(name).startswith(pattern) if pattern.endswith("/") else str(name) == pattern


def entry(name):
    """The table's most exact entry for a file."""
    exact = [pattern for pattern in MAY_INCLUDE if matches(name, pattern)]
    return max(exact, key=len, default=None)


def findings_of(root, name):
    mine = entry(name)
    before = ""
    stands = False
    for number, line in enumerate(tree.lines(root, name), start=1):
        for_nvcc, before = before.strip() == "#if defined(__CUDACC__)", line  # what follows that line is nvcc's alone
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, target = include.groups()
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
            if mine not in ("host/cuda/", "host/cuda_graph/", "apps/lull/trainer/", "bench/", "tests/"):
                yield place + f"<{target}>: only host/cuda, host/cuda_graph and files for nvcc know CUDA's headers"


def check(root):
    names = [name for name in tree.code(root) if entry(name) or not str(name).startswith("tests/")]
    findings = [f"{name}: includes.py has no entry for this folder" for name in names if not entry(name)]
    for name in names:
        if entry(name):
            findings.extend(findings_of(root, name))
    return findings, len(names)


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
