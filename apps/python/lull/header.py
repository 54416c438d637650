# SPDX-License-Identifier: Apache-2.0
"""What lull.h and lull_threads.h declare, as ctypes needs it: the header is the one place where that is written."""

from __future__ import annotations

import ctypes
import pathlib
import re
from typing import Any

_HERE = pathlib.Path(__file__).parent


def _text(name: str) -> str:
    """The header that a wheel carries, else that of the source tree, without comments."""
    carried = _HERE / "include" / "lull" / "host" / name
    path = carried if carried.exists() else _HERE.parents[2] / "host" / name
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


class Header:
    """`constants`: of #define and of enumerations, by name. `structs` and `functions`: ctypes types by name, without
    "lull_". `calls`: (result, arguments) by name."""

    def __init__(self, *names: str) -> None:
        text = "".join(map(_text, names))
        self.constants = {name: int(value) for name, value in re.findall(r"#define (LULL_\w+) (\d+)\n", text)}
        self.types: dict[str, Any] = {
            "void": None,
            "char": ctypes.c_char,
            "int": ctypes.c_int,
            "double": ctypes.c_double,
            "size_t": ctypes.c_size_t,
            "ptrdiff_t": ctypes.c_ssize_t,
            **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (32, 64)},
        }
        for kind, name in re.findall(r"typedef (\w+) (lull_\w+);", text):
            self.types[name] = self.types[kind]
        for name, values in re.findall(r"typedef enum (\w+) \{(.*?)\}", text, re.DOTALL):
            self.types[name] = ctypes.c_int
            self.constants |= {each: int(value) for each, value in re.findall(r"(\w+) = (\d+)", values)}
        for name in re.findall(r"typedef struct (\w+) \1;", text):
            self.types[name] = None  # a handle's: only pointers to it are seen
        self.structs: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        declared = r"typedef struct (\w+) \{(.*?)\}|typedef (\w+) \(\*(\w+)\)\((.*?)\);"
        for struct, fields, result, function, arguments in re.findall(declared, text, re.DOTALL):
            if struct:
                pairs = re.findall(r"(\w[\w ]*?[ *]+)(\w+);", fields)
                made = type(struct, (ctypes.Structure,), {"_fields_": [(name, self._type(of)) for of, name in pairs]})
                self.structs[struct.removeprefix("lull_")] = made
            else:
                made = ctypes.CFUNCTYPE(self._type(result), *self._arguments(arguments))
                self.functions[function.removeprefix("lull_")] = made
            self.types[struct or function] = made
        calls = re.findall(r"^(\w[\w ]*?[ *]+)(lull_\w+)\(([^)]*)\);", text, re.MULTILINE)
        self.calls = {name: (self._type(result), self._arguments(of)) for result, name, of in calls}

    def _arguments(self, text: str) -> list[Any]:
        listed = [] if text.strip() in ("", "void") else text.split(",")
        return [self._type(re.sub(r"\w+$", "", each.strip())) for each in listed]

    def _type(self, text: str) -> Any:
        words = text.replace("const", " ").replace("*", " * ").split()
        stars, made = words.count("*"), self.types[words[0]]
        if stars and made is ctypes.c_char:
            made, stars = ctypes.c_char_p, stars - 1
        elif stars and made is None:
            made, stars = ctypes.c_void_p, stars - 1
        for _ in range(stars):
            made = ctypes.POINTER(made)
        return made
