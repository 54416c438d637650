# SPDX-License-Identifier: Apache-2.0
"""The command `lull`: the program that the package carries, with the package's inputs."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .binding import ArgumentError, Error, TimedOut

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


def answer(
    asked: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    may_fail: bool = False,
    is_json: bool = True,
) -> Any:
    """What the program prints, as JSON or as a text. `environment`: more of it. `may_fail`: what it printed counts,
    although it failed. What it says of a failure is the text of the exception: an ArgumentError where it ended with
    2."""
    program = path()
    if program is None:
        raise Error(MISSING)
    data = PACKAGE / "data"
    whole = {"LULL_DATA": str(data), **os.environ} if data.exists() else dict(os.environ)
    for name in ("LULL", "LULL_REPORT"):  # of this process, which may only observe
        whole.pop(name, None)
    whole.update(environment or {})
    try:
        done = subprocess.run(
            [program, *asked],
            env=whole,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as why:
        raise TimedOut(f"lull {asked[0]} was ended after {timeout:g} seconds: what it was to do may be done") from why
    if done.returncode == 0 or (may_fail and done.stdout):
        return json.loads(done.stdout) if is_json else done.stdout
    text = done.stderr.strip().removeprefix("lull: ") or f"lull {asked[0]} ended with {done.returncode}"
    raise (ArgumentError if done.returncode == 2 else Error)(text)


def main() -> None:
    program = PACKAGE / "native" / "lull"
    if not program.exists():
        sys.exit(f"lull: {MISSING}")
    os.environ.setdefault("LULL_DATA", str(PACKAGE / "data"))
    os.execv(program, sys.argv)
