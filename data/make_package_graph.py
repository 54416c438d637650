#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the package-dependency graph of the Debian release that this machine's apt knows.

Reads `apt-cache dumpavail` (or a copy of its output) and writes
  FOLDER/debian12-packages.el.gz     an edge list: `u v` says that package u depends on package v
  FOLDER/debian12-packages.names.gz  one package name a line; the vertex id is the line's number, counted from 0

One vertex a package, in the order of the names' bytes, isolated ones included. An edge for each package named in
Depends or Pre-Depends:
  * version constraints, architecture qualifiers (`:any`) and restrictions are ignored;
  * of alternatives (`a | b`) each gives an edge, since a user may choose any of them;
  * a name that no package bears (a virtual package) gives none;
  * a package named twice by another gives one edge;
  * where several versions of a package are known, the highest counts.
The same input gives the same bytes.
"""

import argparse
import gzip
import io
import pathlib
import re
import subprocess
import sys

FIELDS = ("Package", "Version", "Depends", "Pre-Depends")
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")
MAX_BYTES = 1_500_000  # both files together: the snapshot lives in the repository


def stanzas(lines):
    """Yields one {field: value} a package, of the fields we read."""
    fields, last = {}, None
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, last = {}, None
        elif line[0] in " \t":  # continues the field above
            if last:
                fields[last] += " " + line.strip()
        else:
            name, colon, value = line.partition(":")
            if not colon:
                raise ValueError(f"not a control file: {line!r}")
            last = name if name in FIELDS else None
            if last:
                fields[last] = value.strip()
    if fields:
        yield fields


def newer(left, right):
    return subprocess.run(["dpkg", "--compare-versions", left, "gt", right], check=False).returncode == 0


def newest(packages):
    chosen = {}
    for package in packages:
        if not NAME.fullmatch(package.get("Package", "")) or "Version" not in package:
            raise ValueError(f"a package without name or version: {package}")
        name = package["Package"]
        if name not in chosen or newer(package["Version"], chosen[name]["Version"]):
            chosen[name] = package
    return chosen


def depended_upon(package):
    """Names in Depends and Pre-Depends, alternatives included."""
    for field in ("Pre-Depends", "Depends"):
        for alternative in re.split(r"[,|]", package.get(field, "")):
            name = NAME.match(alternative.strip())
            if name:
                yield name.group()


def compress(text):
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(text.encode("ascii"))
    return packed.getvalue()


def dumpavail(path):
    if path is None:
        return subprocess.run(["apt-cache", "dumpavail"], check=True, stdout=subprocess.PIPE).stdout
    return (sys.stdin.buffer if path == "-" else open(path, "rb")).read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", metavar="FILE", help="output of `apt-cache dumpavail` (-: standard input)")
    parser.add_argument(
        "--output", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent
    )
    arguments = parser.parse_args()

    try:
        packages = newest(stanzas(dumpavail(arguments.input).decode("utf-8", "replace").split("\n")))
    except (ValueError, OSError, subprocess.CalledProcessError) as fault:
        sys.exit(f"make_package_graph: {fault}")
    if not packages:
        sys.exit("make_package_graph: apt knows no packages; run `apt-get update` first")
    names = sorted(packages)
    vertex = {name: at for at, name in enumerate(names)}
    rows = (sorted({vertex[name] for name in depended_upon(packages[source]) if name in vertex}) for source in names)
    edges = [(source, target) for source, row in enumerate(rows) for target in row]
    if max(map(max, edges), default=-1) != len(names) - 1:  # the edge list says how many vertices there are
        sys.exit(f"make_package_graph: the last package, {names[-1]}, has no edge, so a reader would not count it")

    files = {
        "debian12-packages.el.gz": compress("".join(f"{source} {target}\n" for source, target in edges)),
        "debian12-packages.names.gz": compress("".join(f"{name}\n" for name in names)),
    }
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        sys.exit(f"make_package_graph: {size} bytes, but at most {MAX_BYTES} may be shipped; nothing was written")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (arguments.output / name).write_bytes(data)
    print(f"{len(names)} packages, {len(edges)} dependencies, {size} bytes in {arguments.output}")


if __name__ == "__main__":
    main()
