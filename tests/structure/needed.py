# SPDX-License-Identifier: Apache-2.0
"""needed.py READELF BUILD FILE…: what is installed starts on a machine without CUDA, and away from its build.

A file may link no library of CUDA's, for then nothing of it works where that library is not found. Nor may the loader
look for its libraries in the build tree."""

import re
import subprocess
import sys

ENTRY = re.compile(r"\((NEEDED|RPATH|RUNPATH)\).*\[(.*)\]")
CUDAS = re.compile(r"lib(cu|nv|npp|nccl)")


def faults(listing, build):
    for kind, value in ENTRY.findall(listing):
        if kind == "NEEDED" and CUDAS.match(value):
            yield f"links {value}: open it at run time"
        if kind != "NEEDED" and build in value:
            yield f"has the loader look in the build tree: {value}"


def main(readelf, build, *files):
    found = []
    for file in files:
        listing = subprocess.run([readelf, "--dynamic", "--wide", file], capture_output=True, text=True, check=True)
        if "(NEEDED)" not in listing.stdout:
            found.append(f"{file}: links nothing at all: was it read right?")
        found += [f"{file}: {fault}" for fault in faults(listing.stdout, build)]
    print("\n".join(found) or f"{len(files)} files, nothing found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
