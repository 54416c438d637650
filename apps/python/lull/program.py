# SPDX-License-Identifier: Apache-2.0
"""The command `lull`: the program that the package carries, with the package's inputs."""

import os
import pathlib
import sys


def main() -> None:
    package = pathlib.Path(__file__).parent
    program = package / "native" / "lull"
    if not program.exists():
        sys.exit(
            "lull: this package has no program: it was installed from a liblull.so (LULL_PREBUILT) that had none "
            "beside it; build the target lull, too, and install the package again"
        )
    os.environ.setdefault("LULL_DATA", str(package / "data"))
    os.execv(program, sys.argv)
