# SPDX-License-Identifier: Apache-2.0
"""Lists of tasks: as programs write them, and as the C library has those that are loaded at start."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPTION = re.compile(r"""[^=,]*(?:=\s*(?:"(?:\\.|[^"\\])*"|'[^']*')?[^,]*)?""")  # up to a comma outside quotes
_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*')"""
_PIECE = re.compile(rf"""\s*{_QUOTED}?(?:[^,="']*=\s*{_QUOTED}?)?[^,]*""")  # up to a comma outside quotes
_KEY = re.compile(r"""[^=:/"']*=""")  # a task's name, or its library's path, has something else before a "="
_LIBRARY = re.compile(  # its path, and the colon before the task's name
    r"""\s*(?:(?P<quoted>"(?:\\.|[^"\\])*"|'[^']*')\s*|(?P<plain>[^/:,;=]*/[^:]*)):?"""
)
_MAX_LOADED, _MAX_LOADED_BYTES = 1000, 1 << 16  # of the C library's list


def split(tasks: str) -> list[str]:
    """A text of several tasks, "pagerank:top=3,compute:items=64": a comma outside quotes begins the next one, unless
    what follows is an option, KEY=VALUE."""
    found: list[str] = []
    for piece in _PIECE.findall(tasks):
        is_option = found and _KEY.match(piece)
        if is_option:
            found[-1] += f",{piece}"
        elif piece.strip():
            found.append(piece)
    return [each.strip() for each in found]


def loaded_at_start(tasks: Sequence[str]) -> list[str]:
    """The tasks as the C library's list of those that are loaded at start has them: an option may decide what is
    loaded, and in the list semicolons separate options. Of more than the list may hold, the names: then a task may
    load code when it is submitted."""
    listed = sorted({_listed(task) for task in tasks})
    if len(listed) <= _MAX_LOADED and len(",".join(listed).encode()) <= _MAX_LOADED_BYTES:
        return listed
    return sorted({_named(task)[0] for task in tasks})


def _listed(task):
    name, begin, options = _named(task)
    each = (option.strip() for option in _OPTION.findall(options))
    return begin.join(filter(None, (name, ";".join(_quoted(option) for option in each if option))))


def _named(task):
    """What names a task, as the list has it, what its options begin with there, and its options."""
    library = _LIBRARY.match(task)
    if library is None:
        name, _, options = task.partition(":")
        return name.strip(), ":", options
    path = library["quoted"] or library["plain"].strip()
    if path[0] not in "\"'" and "," in path:
        path = _in_quotes(path)
    name, *options = re.split("[:,]", task[library.end() :], maxsplit=1)
    return ":".join(filter(None, (path, name.strip()))), ";", "".join(options)


def _quoted(option):
    """A plain value with a semicolon in it would end there."""
    key, equals, value = option.partition("=")
    value = value.lstrip()
    if ";" in value and value[0] not in "\"'":
        value = _in_quotes(value)
    return key + equals + value


def _in_quotes(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
