# SPDX-License-Identifier: Apache-2.0
"""What side tasks do in bubbles on this machine, and which of them suits a trainer: by the program that the package
carries, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import program


def profile(
    tasks: str | Sequence[str],
    *,
    bubbles: str | Sequence[str] = ("100us", "1ms", "10ms"),
    pairs: int = 6,
    executor: str | None = None,
    device: int = 0,
    reserved_groups: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Measures each task alone and in a replayed stage whose longest bubble is as long as `bubbles` say, which takes
    about ten seconds for each, and returns what `lull profile` finds (docs/5-measuring.md). `out`: a file for it, which
    `harvest` and `choose` take. Nothing else should run on the device meanwhile."""
    lengths = bubbles if isinstance(bubbles, str) else ",".join(bubbles)
    asked = ["profile", "--json", "--pairs", str(pairs), "--device", str(device), "--bubbles", lengths]
    for task in [tasks] if isinstance(tasks, str) else tasks:
        asked += ["--task", task]
    rest = {
        "--executor": executor,
        "--reserved-groups": reserved_groups,
        "--out": None if out is None else os.fspath(out),
    }
    for option, value in rest.items():
        asked += [] if value is None else [option, str(value)]
    return program.answer(asked)


def choose(
    profiles: str | os.PathLike[str],
    bubbles: str | os.PathLike[str],
    *,
    reserve_bytes: int = 0,
    max_slowdown: float = 0,
) -> list[dict[str, Any]]:
    """Which of the profiled tasks would do most in a trainer's bubbles: the best first, those that do not `fit` its
    free device memory last. `profiles`: file of `profile`; `bubbles`: a bubble report, JSON, best of `observe`.
    `reserve_bytes` of that memory stay the trainer's; `max_slowdown`: the bound that it will have."""
    asked = ["choose", "--json", "--reserve", str(int(reserve_bytes))]
    if max_slowdown:
        asked += ["--max-slowdown", f"{100 * max_slowdown:.6f}%"]
    return program.answer([*asked, "--", os.fspath(profiles), os.fspath(bubbles)], may_fail=True)["tasks"]
