# SPDX-License-Identifier: Apache-2.0
"""link_it.py ROOT BUILD WORK: installs the build, then builds and runs a program in each way of docs/7-link-it.md, by
the commands that stand there."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

RUN = re.compile(r"<!-- run (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
LIMIT_S = 250


def main():
    root, build, work = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    ways = RUN.findall((root / "docs/7-link-it.md").read_text(encoding="utf-8"))
    if [name for name, _ in ways] != ["cmake", "cpp", "c", "gcc"]:
        sys.exit(f"link_it.py: the page tells of {[name for name, _ in ways]}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    moved = work / "moved"
    subprocess.run(["cmake", "--install", build, "--prefix", work / "made"], check=True, stdout=subprocess.DEVNULL)
    (work / "made").rename(moved)
    failed = []
    for name, commands in ways:
        folder = work / name
        folder.mkdir()
        for file in ("1_first_bubble.cpp", "8_in_c.c", "link_it/CMakeLists.txt"):
            shutil.copy(root / "docs/examples" / file, folder)
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=folder,
            env={**os.environ, "PREFIX": str(moved), "LULL": ""},
            timeout=LIMIT_S,
            check=False,
        )
        print(f"{name}: {'built and run' if done.returncode == 0 else f'FAILED, exit {done.returncode}'}", flush=True)
        failed += [name] if done.returncode else []
    sys.exit(f"link_it.py: failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
