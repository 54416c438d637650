# SPDX-License-Identifier: Apache-2.0
"""Calls of the C library that ctypes does not stand between: functions of the interpreter's own kind, which
apps/c/python_calls.cpp has. They keep the interpreter's lock."""

import ctypes

_FASTCALL = 0x80  # METH_FASTCALL
_NEEDED = (
    "PyLong_AsUnsignedLongLong PyBytes_AsString PyLong_FromUnsignedLongLong PyLong_FromLong PyErr_Occurred".split()
)


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_methods: list[_Method] = []  # as long as the interpreter


def begin(library):
    """Before the first call: hands over what they need of the interpreter."""
    addresses = (ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _NEEDED)
    library.lull_python_begin(ctypes.byref((ctypes.c_void_p * len(_NEEDED))(*addresses)))


def function(call):
    """The library's function, as one of the interpreter's."""
    _methods.append(_Method(call.__name__.encode(), ctypes.cast(call, ctypes.c_void_p), _FASTCALL))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    return new(ctypes.addressof(_methods[-1]), None, None)
