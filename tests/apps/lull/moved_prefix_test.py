# SPDX-License-Identifier: Apache-2.0
"""moved_prefix_test.py PROGRAM LIBRARY PACKAGE: a program and a library that were moved with their prefix read the
inputs in it, not those of the tree. The input there is unusable, and what refuses it names it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SUBMIT = """
import lull
with lull.Runtime(executor="threads") as side:
    side.submit("mlp:hidden=8")
"""


def main(program, library, package):
    with tempfile.TemporaryDirectory() as prefix:
        data = pathlib.Path(prefix, "share/lull/digits.csv.gz")
        moved = [pathlib.Path(prefix, name) for name in ("bin/lull", "lib/liblull.so", "lib/machine/liblull.so")]
        for file in (data, *moved):
            file.parent.mkdir(parents=True, exist_ok=True)
        data.write_text("no digits\n", encoding="utf-8")
        for source, target in zip((program, library, library), moved):
            shutil.copy(source, target)
        plain = {name: value for name, value in os.environ.items() if name != "LULL_DATA"}
        calls = [([moved[0], "run", "--executor", "threads", "--task", "mlp:hidden=8"], plain)]
        calls += [
            ([sys.executable, "-B", "-c", SUBMIT], {**plain, "PYTHONPATH": package, "LULL_LIBRARY": str(each)})
            for each in moved[1:]
        ]
        for command, environment in calls:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")
            assert done.returncode != 0 and str(data) in done.stderr, (command, done)


if __name__ == "__main__":
    main(*sys.argv[1:])
