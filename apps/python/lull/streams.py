# SPDX-License-Identifier: Apache-2.0
"""A stream, however a program spells it, as the integer that the C library takes."""

import operator
import sys

from .binding import Error


def torch_with_cuda():
    """torch, where the program has imported it and it has CUDA; else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def pointer_of(stream):
    """Takes what speaks __cuda_stream__ (version 0), torch streams, integers (ThreadsStream is one), and None:
    torch's current stream."""
    if stream is None:
        torch = torch_with_cuda()
        if torch is None:
            raise Error("no stream was given, and there is no torch with CUDA whose current stream could be meant")
        return torch.cuda.current_stream().cuda_stream
    speaks = getattr(stream, "__cuda_stream__", None)
    if speaks is not None:
        version, pointer, *_ = speaks() if callable(speaks) else speaks
        if version != 0:
            raise Error(f"{stream!r} speaks version {version} of __cuda_stream__, Lull knows version 0")
        return operator.index(pointer)
    if hasattr(stream, "cuda_stream"):
        return operator.index(stream.cuda_stream)
    try:
        return operator.index(stream)
    except TypeError:
        raise Error(
            f"{stream!r} is no stream: it has neither __cuda_stream__ nor cuda_stream, and is no integer"
        ) from None
