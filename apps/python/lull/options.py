# SPDX-License-Identifier: Apache-2.0
"""What a program may ask a runtime for: named, explained, checked and handed to the C library here alone."""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import binding, heard
from .binding import ArgumentError, in_ns

_EXECUTORS = {None: 0, "threads": 1, "cuda": 2}
_MODES = {None: 0, "off": 1, "observe": 2, "on": 3}
_LAUNCHES = {"at_close": 0, "at_open": 1}

MAX_ARMED_AHEAD_S = 1000
MAX_MIN_BUBBLE_S = 1
MAX_REST_S = 0.001
MAX_TRAINING_WORTH = 1e6


def _worth(asked: float | None) -> float:
    """As in lull_tuning, where 0 is the default and -1 stands for 0."""
    if asked is None:
        return 0.0
    if not 0 <= asked <= MAX_TRAINING_WORTH:
        raise ArgumentError(f"training_worth={asked}: it must be 0 to {MAX_TRAINING_WORTH:.0f}, or None")
    return asked or -1.0


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What most trainers leave as it is; not stable: the next release may have other fields.

    `armed_ahead`: seconds that a worker may wait on the device for its bubble; None: Lull chooses; 0: workers are
    enqueued when the bubble is open, not before. `min_bubble`: no side work runs at a site whose last eight bubbles
    were shorter, in seconds; None: 30 µs. `training_worth`: how many microseconds of side work one of training is
    worth; no side work runs at a site that brings less than so much of what it costs; None: 30 on a GPU; 0: any is
    worth it, and no cap holds. `rest_before_close`: side work rests so long before a bubble usually closes;
    None: 10 µs; 0: never. `launch`: "at_open" for hosts that block inside bubbles. `processors`: the most SMs that
    workers use; 0: all that are not kept off.

    `hook_allocator`, of a scope: torch asks for what the reserve lacks before it asks the driver for memory; that needs
    a C++ compiler, and half a minute the first time. `draw_seed`: a number that all ranks of a trainer share, so
    that they withhold side work in the same steps. `checkpoint_every`: seconds between two saves of a
    task."""

    armed_ahead: float | None = None
    min_bubble: float | None = None
    training_worth: float | None = None
    rest_before_close: float | None = None
    launch: str = "at_close"
    processors: int = 0
    hook_allocator: bool = False
    draw_seed: int = 0
    checkpoint_every: float = 60

    def _in_c(self) -> Any:
        return binding.STRUCTS["tuning"](
            launch=one_of("launch", self.launch, _LAUNCHES),
            armed_ahead_ns=_ns_or_none("armed_ahead", self.armed_ahead, MAX_ARMED_AHEAD_S),
            min_bubble_ns=_ns_or_none("min_bubble", self.min_bubble, MAX_MIN_BUBBLE_S),
            training_worth=_worth(self.training_worth),
            rest_ns=_ns_or_none("rest_before_close", self.rest_before_close, MAX_REST_S),
        )


@dataclasses.dataclass(frozen=True)
class Options:
    """`tasks`: those whose code is loaded at start, and that have workers in captured graphs, with options that decide
    what is loaded (product:leave=saved;rows=64); None: all. `executor`: "cuda" or "threads"; None: cuda if a device
    answers. `device`: None: torch's current one, or the first. `reserved_groups`: groups of SMs that workers keep off;
    None: two, which hold one NCCL kernel, or in a scope none where nothing can arrive.

    `memory_limit_bytes`: of the device memory that side tasks take; 0: no limit. `reserve_bytes` of device memory stay
    free for the trainer: below that jobs are evicted, within some 10 ms, and come back when there is room, with the
    same bits. Their memory is saved in `saved_bytes` of pinned host memory, taken at start; without it none is evicted.

    `max_slowdown`: by how much training steps may take longer in the mean, as a share: 0.005 is half a per cent; 0: no
    bound, but a cap: side work that is known to make marked steps more than 1 % longer runs in fewer. Where waits are
    bracketed and there is a bound, each step of an optimizer marks one; otherwise, and where a training step has
    several optimizers, call `step` once a step. In captured graphs a mark counts for what the stream replays after it.
    `profile`: file of `lull.profile`: with a bound, a task that costs more there starts in fewer steps.

    `share`: "unix:PATH", a local socket that is made there, in a folder that no other user may write to: processes of
    this user that `lull.attach` may work in the bubbles, too, within the bound or the cap. `attach`: works in the
    bubbles that another process shares there, and opens none; not together with `share` or `max_slowdown`.

    `checkpoint`: folder where tasks are saved, in a scope each rank's in its own, every minute and at the
    end; those that the program gives again go on from there. `report`: file for the bubble report, in the format
    of its ending (.txt, .json, .trace.json); %p in it is the process, %d the device. `tuning`: a lull.Tuning."""

    mode: str | None = None
    tasks: Sequence[str] | None = None
    executor: str | None = None
    device: int | None = None
    reserved_groups: int | None = None
    memory_limit_bytes: int = 0
    reserve_bytes: int = 0
    saved_bytes: int = 0
    max_slowdown: float = 0
    profile: str | os.PathLike[str] | None = None
    share: str | None = None
    attach: str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    report: str | os.PathLike[str] | None = None
    tuning: Tuning = Tuning()

    def _in_c(self) -> Any:
        """Raises ArgumentError, which names the option, for what the C library cannot take."""
        return binding.struct(
            "options",
            abi=binding.ABI,
            executor=one_of("executor", self.executor, _EXECUTORS),
            device=self.device or 0,
            mode=one_of("mode", self.mode, _MODES),
            reserved_groups=0 if self.reserved_groups is None else (self.reserved_groups or -1),
            processors=self.tuning.processors,
            memory_limit_bytes=bytes_of("memory_limit_bytes", self.memory_limit_bytes),
            reserve_bytes=bytes_of("reserve_bytes", self.reserve_bytes),
            saved_bytes=bytes_of("saved_bytes", self.saved_bytes),
            tasks=None if self.tasks is None else ",".join(self.tasks).encode(),
            log=heard.CALLBACK,
            report=None if self.report is None else os.fsencode(self.report),
            max_slowdown=self.max_slowdown,
            draw_seed=self.tuning.draw_seed,
            profile=None if self.profile is None else os.fsencode(self.profile),
            share=None if self.share is None else os.fsencode(self.share),
            attach=None if self.attach is None else os.fsencode(self.attach),
            tuning=self.tuning._in_c(),
        )

    def _of_a_job(self) -> dict[str, Any]:
        """Where its jobs are saved, as the C library takes it."""
        saved: dict[str, Any] = {"checkpoint_every_ns": max(in_ns(self.tuning.checkpoint_every), 1)}
        return saved if self.checkpoint is None else saved | {"checkpoint": os.fsencode(self.checkpoint)}


def with_options_of(kind: type[Options], *but: str) -> Callable[[Any], Any]:
    """Of a function that takes `**options`: help() and editors show each of them, with its type and default."""

    def shown(function):
        own = inspect.signature(function)
        parameters = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in dataclasses.fields(kind)
            if each.name not in but
        ]
        function.__signature__ = own.replace(parameters=parameters)
        return function

    return shown


def one_of(name: str, value: Any, known: Mapping[Any, int]) -> int:
    if value not in known:
        raise ArgumentError(f"{name} is {value!r}: it must be one of {', '.join(str(each) for each in known)}")
    return known[value]


def bytes_of(name: str, value: int) -> int:
    if not 0 <= value < 1 << 64:
        raise ArgumentError(f"{name} is {value}: it must be at least 0 and below 2**64")
    return value


def _ns_or_none(name, seconds, most):
    """As the C library takes it: 0: Lull chooses, -1: none at all."""
    if seconds is None:
        return 0
    if not 0 <= seconds <= most:  # NaN, too
        raise ArgumentError(f"{name} is {seconds} seconds: it must be 0 to {most}, or None")
    return max(round(seconds * 1e9), 1) if seconds else -1
