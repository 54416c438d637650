# SPDX-License-Identifier: Apache-2.0
"""types_test.py PACKAGE: mypy has nothing to say of the package, whose users' type checkers read it."""

import subprocess
import sys
import tempfile

asked = [sys.executable, "-m", "mypy"]
if subprocess.run([*asked, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
    print(f"skipped: {sys.executable} has no mypy")
    sys.exit(77)
with tempfile.TemporaryDirectory() as cache:
    sys.exit(subprocess.run([*asked, "--cache-dir", cache, sys.argv[1]]).returncode)
