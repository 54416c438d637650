# SPDX-License-Identifier: Apache-2.0
"""Bubbles in which the host itself waits for the next item: of a data loader, a queue, a socket."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar, cast

from .session import bubble

Item = TypeVar("Item")


def stalls(iterable: Iterable[Item], site: str, stream: object = None) -> Stalls[Item]:
    """`for batch in lull.stalls(loader, "data"):` the items of `loader`, each fetched in `lull.bubble(site, stream)`.
    The fetch that finds the end is a bubble, too. Without a session the items alone. What an iterator gives is an
    iterator again; anything else may be iterated as often as before."""
    kind = StallsIterator if isinstance(iterable, Iterator) else Stalls
    return kind(iterable, site, stream)


def in_bubble(site: str, stream: object, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, each time inside `lull.bubble(site, stream)`."""

    @functools.wraps(call)
    def inside(*given: Any, **more: Any) -> Any:
        with bubble(site, stream):
            return call(*given, **more)

    return inside


class Stalls(Generic[Item]):
    """What lull.stalls(…) gives. `len` and truth are those of what is iterated."""

    def __init__(self, iterable: Iterable[Item], site: str, stream: object = None) -> None:
        self._iterable = iterable
        self._place = site, stream

    def __iter__(self) -> Iterator[Item]:
        return StallsIterator(iter(self._iterable), *self._place)

    def __len__(self) -> int:
        return len(cast(Sized, self._iterable))  # a TypeError where it has none, as without us

    def __bool__(self) -> bool:
        return bool(self._iterable)


class StallsIterator(Stalls[Item], Iterator[Item]):
    """One iteration. Dropped, it drops the iterator below it, which ends a generator as a loop that is left does."""

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        with bubble(*self._place):
            item = next(cast("Iterator[Item]", self._iterable))
        return item

    def close(self) -> None:
        """Ends a generator; of other iterators that have a `close`, that; else nothing."""
        close = getattr(self._iterable, "close", None)
        if close is not None:
            close()
