# SPDX-License-Identifier: Apache-2.0
"""The laboratory: what measures Lull in real trainings. README.md says how to add a measurement."""

import importlib
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps/python"))


class NotRun(RuntimeError):
    """Why nothing was measured."""


class _Late:
    """A module that is imported when it is first used: options, help and records need none."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return getattr(importlib.import_module(self._name), name)


torch, lull = _Late("torch"), _Late("lull")


def on_gpu(limit_s):
    """Ends the process after so many seconds, also where the interpreter waits for a GPU that hangs."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit_s)
    if not torch.cuda.is_available():
        raise NotRun("torch finds no GPU")
