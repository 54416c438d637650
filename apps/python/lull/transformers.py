# SPDX-License-Identifier: Apache-2.0
"""Bubbles of transformers' Trainer in which the host itself waits: for a batch, and until a checkpoint is written.
Needs transformers 4.46 or later.

A TrainerCallback is told of neither before it begins, so three methods of the trainer are changed: of this object
alone, and only inside the scope."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from .binding import Error
from .replaced import replaced
from .stalls import in_bubble
from .stalls import stalls as fetched_in_bubbles
from .streams import is_given

_METHODS = ("get_batch_samples", "_save_checkpoint", "evaluate")


@contextlib.contextmanager
def stalls(trainer: Any, stream: object = None) -> Iterator[None]:
    """`with lull.transformers.stalls(trainer): trainer.train()`: each fetch of a batch is the bubble "data", each
    checkpoint "checkpoint", and each evaluation "evaluation" where the trainer runs on the CPU. `stream`: the one that
    trains; None: torch's current one. Without a GPU and a stream, or without a session, nothing is changed."""
    if lacking := [name for name in (*_METHODS, "args") if not hasattr(trainer, name)]:
        raise Error(
            f"{type(trainer).__name__} has no {', '.join(lacking)}: pass a Trainer of transformers 4.46 or later"
        )
    with contextlib.ExitStack() as changes:
        if is_given(stream):
            for name, method in _with_bubbles(trainer, stream).items():
                changes.enter_context(replaced(trainer, name, method))
        yield


def _with_bubbles(trainer, stream):
    fetch = trainer.get_batch_samples

    @functools.wraps(fetch)
    def get_batch_samples(epoch_iterator, *given, **more):
        return fetch(fetched_in_bubbles(epoch_iterator, "data", stream), *given, **more)

    changed = {
        "get_batch_samples": get_batch_samples,
        "_save_checkpoint": in_bubble("checkpoint", stream, trainer._save_checkpoint),
    }
    if trainer.args.device.type == "cpu":
        changed["evaluate"] = in_bubble("evaluation", stream, trainer.evaluate)
    return changed
