# SPDX-License-Identifier: Apache-2.0
"""symbols.py NM LIBRARY HEADER…: the library shows the functions that the headers declare, and nothing else."""

import re
import subprocess
import sys


def shown(nm, library):
    listing = subprocess.run(
        [nm, "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True, check=True
    )
    return {line.split()[0] for line in listing.stdout.splitlines()}


def declared(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^[\w ]+[ *]+(lull_\w+)\(", text, re.MULTILINE))


def main(nm, library, *headers):
    ours, theirs = shown(nm, library), set().union(*map(declared, headers))
    header = " and ".join(headers)
    for name in sorted(ours - theirs):
        print(f"{library}: shows {name}, which {header} does not declare")
    for name in sorted(theirs - ours):
        print(f"{library}: does not show {name}, which {header} declares")
    if len(theirs) < 20:
        print(f"{header}: only {len(theirs)} functions: was it read right?")
    sys.exit(ours != theirs or len(theirs) < 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
