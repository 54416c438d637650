# SPDX-License-Identifier: Apache-2.0
"""The command `lull`: the program that the package carries, with the package's inputs."""

from __future__ import annotations

import os
import pathlib
import sys


PACKAGE = pathlib.Path(__file__).parent
MISSING = (
    "this package has no program: it was installed from a liblull.so (LULL_PREBUILT) that had none beside it; build "
    "the target lull, too, and install the package again"
)


def path() -> pathlib.Path | None:
    """The package's, or the one beside the library of a build that LULL_LIBRARY names; None: there is none."""
    library = os.environ.get("LULL_LIBRARY")
    folder = pathlib.Path(library).resolve().parent if library else None
    beside = [folder / "../bin/lull", folder / "../../bin/lull"] if folder else []
    return next((each for each in (*beside, PACKAGE / "native" / "lull") if each.exists()), None)


def main() -> None:
    program = PACKAGE / "native" / "lull"
    if not program.exists():
        sys.exit(f"lull: {MISSING}")
    os.environ.setdefault("LULL_DATA", str(PACKAGE / "data"))
    os.execv(program, sys.argv)
