# SPDX-License-Identifier: Apache-2.0
"""Bubbles of DeepSpeed's pipelines, named by micro-batch.

Each wait of DeepSpeed's is a bubble without this, too. It sends and receives each tensor of a micro-batch by itself,
and the shapes before the first: torch alone cannot tell which micro-batch a receive is for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .binding import Error
from .session import in_named_waits

_NAMES = {  # instruction → names of its works
    "RecvActivation": {"recv": "recv_forward"},
    "RecvGrad": {"recv": "recv_backward"},
    "SendActivation": {"send": "send_forward"},
    "SendGrad": {"send": "send_backward"},
}


@contextlib.contextmanager
def named_waits(engine: Any) -> Iterator[None]:
    """`with lull.deepspeed.named_waits(engine):` around training steps: bubbles of this PipelineEngine are
    `recv_forward 3` or `send_backward 3`. Only this engine is changed, and it is as before afterwards. Without a
    session it does what DeepSpeed's does."""
    before = getattr(engine, "_INSTRUCTION_MAP", {})
    kinds = {kind.__name__: kind for kind in before}
    if lacking := _NAMES.keys() - kinds.keys():
        raise Error(
            f"{type(engine).__name__} has no instruction {', '.join(sorted(lacking))}: pass the engine that "
            "deepspeed.initialize returns for a PipelineModule"
        )
    own = "_INSTRUCTION_MAP" in vars(engine)  # rather than its class
    engine._INSTRUCTION_MAP = {
        **before,
        **{kinds[name]: in_named_waits(before[kinds[name]], **names) for name, names in _NAMES.items()},
    }
    try:
        yield
    finally:
        if own:
            engine._INSTRUCTION_MAP = before
        else:
            del engine._INSTRUCTION_MAP
