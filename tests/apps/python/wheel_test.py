# SPDX-License-Identifier: Apache-2.0
"""wheel_test.py ROOT LIBRARY: what `pip install` makes of a built library is whole, and works away from the tree.
Skipped (77) where pip or the build backend is missing: nothing is fetched."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77
USE = """
import lull
stream = lull.ThreadsStream()
with lull.harvest("pagerank:top=1", executor="threads", bracket_waits=False) as side:
    while not side.jobs[0].wait(0):
        with lull.bubble("step", stream):
            stream.sleep(0.002)
        stream.synchronize()
assert "libc6" in side.jobs[0].result(), side.jobs[0].result()
print(lull.__file__)
"""


def main(root, library):
    for needed in ("pip", "scikit_build_core"):
        if importlib.util.find_spec(needed) is None:
            print(f"not run: there is no {needed} here to build a wheel with")
            sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        plain = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LULL_LIBRARY", "LULL_DATA")
        }
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index"]
        settings = ["-C", f"build-dir={folder}/build", "-w", folder, root]
        subprocess.run(command + settings, env={**plain, "LULL_PREBUILT": library}, check=True, cwd=folder)
        (wheel,) = pathlib.Path(folder).glob("lull-*-py3-none-*.whl")
        with zipfile.ZipFile(wheel) as packed:
            names = set(packed.namelist())
            packed.extractall(f"{folder}/site")
        for name in (
            "lull/native/liblull.so.1",
            "lull/include/lull/host/lull.h",
            "lull/data/debian12-packages.el.gz",
            "lull/waits.py",
        ):
            assert name in names, (name, sorted(names))
        used = subprocess.run(
            [sys.executable, "-B", "-c", USE],
            env={**plain, "PYTHONPATH": f"{folder}/site"},
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert used.stdout.startswith(folder), used.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
