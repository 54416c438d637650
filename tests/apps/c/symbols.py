# SPDX-License-Identifier: Apache-2.0
"""symbols.py NM LIBRARY FILE…: the library shows the functions that the files declare, and nothing else."""

import re
import subprocess
import sys


def shown(nm, library):
    listing = subprocess.run(
        [nm, "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True, check=True
    )
    return {line.split()[0] for line in listing.stdout.splitlines()}


def declared(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^[\w ]+[ *]+(lull_\w+)\(", text, re.MULTILINE))


def main(nm, library, *files):
    ours, theirs = shown(nm, library), set().union(*map(declared, files))
    named = " and ".join(files)
    for name in sorted(ours - theirs):
        print(f"{library}: shows {name}, which {named} does not declare")
    for name in sorted(theirs - ours):
        print(f"{library}: does not show {name}, which {named} declares")
    if len(theirs) < 20:
        print(f"{named}: only {len(theirs)} functions: was it read right?")
    sys.exit(ours != theirs or len(theirs) < 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
