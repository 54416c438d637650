# SPDX-License-Identifier: Apache-2.0
"""readme.py PROJECT: does what the README of a side task's project says, word for word, in its folder. Blocks of `sh`
are run; those of other languages are written into the file that the text before them names. PREFIX is in the
environment."""

import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"as `(\w+\.\w+)`")
LIMIT_S = 500


def main():
    project = pathlib.Path(sys.argv[1]).resolve()
    text = (project / "README.md").read_text(encoding="utf-8")
    run, before = 0, 0
    for block in BLOCK.finditer(text):
        language, lines = block.groups()
        said = FILE.findall(text[before : block.start()])
        before = block.end()
        if language != "sh":
            (project / said[-1]).write_text(lines, encoding="utf-8")
            continue
        done = subprocess.run(["bash", "-euxo", "pipefail", "-c", lines], cwd=project, timeout=LIMIT_S, check=False)
        if done.returncode:
            sys.exit(f"readme.py: exit {done.returncode} of\n{lines}")
        run += 1
    print(f"{run} blocks, all as the README says", flush=True)
    if run != 4 or "LULL" in os.environ:
        sys.exit("readme.py: the build, and the program, Python and C were expected, with no LULL in the environment")


if __name__ == "__main__":
    main()
