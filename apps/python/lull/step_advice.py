# SPDX-License-Identifier: Apache-2.0
"""What is said of a PyTorch step that could not be captured: where it failed, and what to do."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any


def line_of(step: Any, why: BaseException) -> str:
    """Where in the program's own file a step failed."""
    file = getattr(getattr(step, "__code__", None), "co_filename", None)
    lines = [each for each in traceback.extract_tb(why.__traceback__) if each.filename == file]
    return f"{file}:{lines[-1].lineno}: {lines[-1].line}: " if lines else ""


_LIVES = "lull.lives"


def _alive(torch, parts):
    """The parameters that a result of an earlier run was computed from that is still there: such a result keeps the
    node that adds to their gradients, and with it the stream where it ran."""
    names = []
    for part in parts:
        if not isinstance(part, torch.nn.Module):
            continue
        for name, parameter in part.named_parameters():
            if not parameter.requires_grad:
                continue
            for mark in (True, False):  # what the first look leaves on the node is there at the second if the node is
                with torch.enable_grad():
                    node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
                if mark:
                    node.metadata[_LIVES] = True
                elif node.metadata.pop(_LIVES, False):
                    names.append(name)
                del node
    return names


def advice_on(torch: Any, parts: Sequence[Any], why: BaseException) -> str:
    """What to do about a step that failed."""
    if isinstance(why, torch.OutOfMemoryError):
        return "; side work has no more device memory: raise memory_limit_bytes, or make the step smaller"
    if "legacy stream" in str(why) and (names := _alive(torch, parts)):
        return (
            f"; something computed from {names[0]!r} before is still there, such as the loss of an earlier run, or a "
            "clone: delete it, or detach it"
        )
    return ""


def forget_frames(why: BaseException) -> None:
    """Of a failure and those that led to it: their variables hold memory of the step. Where it failed stays known."""
    each: BaseException | None = why
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
