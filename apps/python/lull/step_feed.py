# SPDX-License-Identifier: Apache-2.0
"""What a program feeds a step with: batches that one thread draws, and the values in them."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .binding import Error, log


def values_of(torch: Any, batch: Any, slots: Sequence[Any]) -> list[Any]:
    """The tensors of a batch. Raises Error where they do not fit `slots`, whose first dimension is that of slots."""
    if isinstance(batch, torch.Tensor) or hasattr(batch, "__array__"):
        batch = [batch]  # the only one of a batch need not be in a sequence
    if not isinstance(batch, (tuple, list)):
        raise Error(f"feed gave {type(batch).__name__}: a batch is a sequence of tensors, one for each input")
    if len(batch) != len(slots):
        raise Error(f"feed gave a batch of {len(batch)} for {len(slots)} inputs")
    values = [torch.as_tensor(each).detach() for each in batch]
    for number, (value, slot) in enumerate(zip(values, slots)):
        if value.shape != slot.shape[1:]:
            shape = tuple(slot.shape[1:])
            raise Error(f"feed gave the shape {tuple(value.shape)} for input {number}, which has {shape}")
        if not torch.can_cast(value.dtype, slot.dtype):
            raise Error(f"feed gave {value.dtype} for input {number}, which is {slot.dtype}: convert it in the feed")
    return values


def batches_of(torch: Any, feed: Iterable[Any], seed: int) -> Iterator[Any]:
    """Of a DataLoader that would draw from the program's random numbers, those of one that is like it and draws from a
    generator of its own."""
    data = sys.modules.get("torch.utils.data")
    if data is None or not isinstance(feed, data.DataLoader):
        return iter(feed)
    generator = torch.Generator()
    generator.manual_seed(seed)
    own = copy.copy(feed)
    for name in ("sampler", "batch_sampler"):  # a loader refuses to have them set
        vars(own)[name] = _with_generator(vars(own)[name], generator)
    if own.generator is None:
        own.generator = generator
    if own.generator is generator:
        vars(own)["_iterator"] = None  # workers that persist draw by the generator of before
    return iter(own)


def _with_generator(sampler: Any, generator: Any) -> Any:
    """The sampler, or where it or one inside it has no generator, another like it that has."""
    changes: dict[str, Any] = {}
    if getattr(sampler, "generator", generator) is None:
        changes["generator"] = generator
    inner = getattr(sampler, "sampler", None)
    if inner is not None and (own := _with_generator(inner, generator)) is not inner:
        changes["sampler"] = own
    if not changes:
        return sampler
    sampler = copy.copy(sampler)
    vars(sampler).update(changes)
    return sampler


def close(batches: Any) -> None:
    """On the thread that drew from it: what a generator has entered around its yield, such as no_grad, belongs to that
    thread, and would end on any other that drops the generator."""
    if not inspect.isgenerator(batches):
        return
    try:
        batches.close()
    except Exception as why:  # of the program's
        log.warning("a feed raised when it was closed: %s", why)
