# SPDX-License-Identifier: Apache-2.0
"""A job as a document of schema lull.job/1 (docs/11-the-queue.md). The program checks what it holds."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .binding import ArgumentError


def _value(value: object) -> object:
    """Of an option, an argument or an array."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _wall(at_most: str | float | datetime.timedelta) -> str:
    if isinstance(at_most, str):
        return at_most
    seconds = at_most.total_seconds() if isinstance(at_most, datetime.timedelta) else at_most
    return f"{round(seconds * 1e9)}ns"


def _time(deadline: str | datetime.datetime) -> str:
    if isinstance(deadline, str):
        return deadline
    if deadline.tzinfo is None:
        raise ArgumentError(f"deadline {deadline} has no time zone: give it one, such as datetime.timezone.utc")
    return deadline.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(
    *,
    task: str | None = None,
    python: str | None = None,
    options: Mapping[str, object] | None = None,
    results: Sequence[str] | None = None,
    command: Sequence[str | os.PathLike[str]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    name: str | None = None,
    user: str | None = None,
    labels: Mapping[str, str] | None = None,
    priority: int = 0,
    deadline: str | datetime.datetime | None = None,
    at_most: str | float | datetime.timedelta | None = None,
    memory: str | None = None,
    attempts: int | None = None,
    after: Sequence[str] = (),
    after_any: bool = False,
    array: Mapping[str, Sequence[object]] | None = None,
) -> str:
    """The arguments of `Queue.submit`; `after` is of ids."""
    run: dict[str, Any] = {"folder": os.path.abspath(os.getcwd() if folder is None else folder)}
    if task is not None:
        run["task"] = task
    if python is not None:
        run["python"] = python
    if results is not None:
        run["results"] = list(results)
    if options is not None:
        run["options"] = {key: _value(value) for key, value in options.items()}
    if command is not None:
        run["command"] = [_value(each) for each in command]
    made: dict[str, Any] = {"schema": "lull.job/1", "run": run, "priority": priority}
    made.update({"name": name, "user": user, "labels": labels, "memory": memory, "attempts": attempts})
    if deadline is not None:
        made["deadline"] = _time(deadline)
    if at_most is not None:
        made["at_most"] = {"wall": _wall(at_most)}
    if after:
        made["after"] = {"jobs": list(after), "if": "any" if after_any else "done"}
    if array is not None:
        made["array"] = {key: [_value(each) for each in values] for key, values in array.items()}
    given = {key: value for key, value in made.items() if value is not None}
    try:
        return json.dumps(given, indent=1, default=dict, allow_nan=False)
    except (TypeError, ValueError) as why:
        raise ArgumentError(f"a job is made of strings and numbers: {why}") from why
