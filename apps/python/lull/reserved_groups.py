# SPDX-License-Identifier: Apache-2.0
"""How many groups of SMs workers must keep off, found from what a trainer's own exchange launches."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
from typing import Any, Callable

from . import binding, session
from .binding import Error, Status, check, load
from .streams import torch_with_cuda

_TEXT_BYTES = 256  # of the longest line


@dataclasses.dataclass(frozen=True)
class ExchangeNeed:
    """What an exchange needs. `reserved_groups` is what `harvest` takes, `text` one line for a log; blocks, threads,
    cluster, registers and shared_bytes are those of the largest of its `kernels`, of which `resident` were asked for at
    once."""

    reserved_groups: int
    text: str
    resident: int
    kernels: int
    blocks: int
    threads: int
    cluster: int
    registers: int
    shared_bytes: int


def measure_reserved_groups(
    exchange: Callable[[int], object], *, device: int | None = None, resident: int = 1
) -> ExchangeNeed:
    """Captures `exchange(stream)`, the trainer's own sends and receives, into a graph that is never launched, and
    returns the ExchangeNeed of `resident` of its largest kernels at once: `harvest(tasks,
    reserved_groups=measure_reserved_groups(exchange).reserved_groups)`.

    `stream` is the CUDA stream as an integer. Where the program has imported torch with CUDA it is also torch's
    current stream, and `exchange` need not look at its argument. All work must be enqueued on that stream, or waited
    for by it: `Work.wait()`. Use tensors that were allocated before, and keep them until this returns. Exchange
    something once before, so that connections are made by ordinary calls. Where the exchange is collective all ranks
    call this, and before `harvest`. `device`: None, torch's current one, or 0 without torch. What `exchange` raises
    comes out as it was. With LULL=off in the environment nothing is measured, and no reserved groups are needed."""
    if os.environ.get("LULL") == "off":
        return ExchangeNeed(0, "no reserved groups were measured: LULL=off", resident, *[0] * 6)
    if session.is_on():
        why = "measure before lull.harvest or lull.observe is on: its bubbles would be taken for the exchange"
        raise Error(why, Status.ERROR_STATE)
    torch = torch_with_cuda()
    if device is None:
        device = 0 if torch is None else torch.cuda.current_device()
    raised: list[BaseException] = []  # since nothing may be raised through C

    def called(_: Any, stream: int) -> int:
        try:
            current = None if torch is None else torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device))
            with current or contextlib.nullcontext():
                exchange(stream)
        except BaseException as why:
            raised.append(why)
        return len(raised)

    callback = binding.ExchangeFunction(called)
    need = binding.struct("exchange_need")
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    asked = device, callback, None, resident, ctypes.byref(need), text, len(text), None
    status = load().lull_measure_reserved_groups(*asked)
    if raised:
        raise raised.pop()
    check(status)
    found = {name: getattr(need, name) for name, *_ in need._fields_ if name not in ("size", "reserved_groups")}
    return ExchangeNeed(max(need.reserved_groups, 0), text.value.decode(errors="replace"), **found)  # -1: none
