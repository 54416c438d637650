# SPDX-License-Identifier: Apache-2.0
"""The rows of compare_side_work.py: each runs the side step in its own way for one scope, and says what it cost."""

import contextlib
import gc
import json
import os
import sys
import time

import torch
from closed_pieces import closed_pieces
from compared_table import quantiles
from measure_stage import (
    ALONE,
    ALONE_WARM_UP,
    QUARTETS,
    TASKS,
    compared,
    harvested_between,
    in_turns,
    long_bubbles,
    report_of,
    speed_alone,
    warm_up,
)
from side_models import LEARNING_GROUPS, captured, plain_ms, step_of, submitted
from side_process import SideProcess, cpu_ms, environment_of_child
from side_runner import Library
from stage_trainer import GROUP, HEAD_START_MS, Trainer, no_bubble

CPU_GROUPS = 4
ALWAYS_ON = "does not stop at the close"


def free_mib():
    """Of the whole GPU, so of other processes too, without what torch keeps unused. What a live pool keeps counts as
    used: that of a captured graph, and that of Lull, which has the memory of captured steps."""
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.synchronize()  # memory that a pool gives back may be freed in stream order
    return torch.cuda.mem_get_info()[0] / (1 << 20)


class Comparison:
    """What all rows share: the trainer, the side step and how it runs alone."""

    def __init__(self, given):
        self.given = given
        self.trainer = Trainer(torch, given)
        self.library = Library(given.runner)
        before = free_mib()
        self.step, self.state = step_of(given.model)
        stream = torch.cuda.Stream()
        with captured(self.step, self.state[1], stream) as graph:
            self.plain_ms = plain_ms(graph, stream, 20)
        self.step_mib = before - free_mib()  # weights and optimizer
        warm_up(self.trainer, no_bubble)
        self._own_cpu_ms = 0.0
        self._own_cpu_ms = self.cpu_ms_more(no_bubble)
        self._process = None

    def close(self):
        if self._process is not None:
            self._process.end()
            self._process = None

    @contextlib.contextmanager
    def captured(self, few_sms=None):
        """`few_sms`: a stream on some of the SMs."""
        stream = few_sms or torch.cuda.Stream()
        with captured(self.step, self.state[1], stream, has_few_sms=few_sms is not None) as graph:
            yield graph

    def in_bubbles(self, kind, steps=None):
        """`kind`: of the trainer's steps; `steps`: how many side steps have ended."""
        trainer = self.trainer
        warm_up(trainer, kind)
        before = steps() if steps else 0
        times = in_turns(trainer, kind, self.given.seconds)
        found = compared(*times)
        if steps:
            found["side_steps"] = steps() - before
            found["harvest"] = found["side_steps"] * self.plain_ms / (GROUP * len(times[1]) * trainer.idle_ms)
        return found | {"cpu_ms_a_step": self.cpu_ms_more(kind)}

    def always_on(self, side):
        """`side`: has resume, suspend and steps. The host switches it, and waits for the device at each switch."""
        trainer, plain, other = self.trainer, [], []
        before, calls, on_ms = side.steps(), 0, 0.0
        until = time.monotonic() + self.given.seconds
        while not plain or time.monotonic() < until:
            plain += trainer.groups([no_bubble] * QUARTETS)
            side.resume()
            try:
                began = time.monotonic()
                for _ in range(2):
                    other += trainer.groups([no_bubble] * QUARTETS)
                    calls += 1
                on_ms += 1e3 * (time.monotonic() - began)
            finally:
                side.suspend()
            plain += trainer.groups([no_bubble] * QUARTETS)
        steps = side.steps() - before
        idle_ms = GROUP * len(other) * trainer.idle_ms + calls * HEAD_START_MS
        return {
            **compared(plain, other),
            "side_steps": steps,
            "harvest": steps * self.plain_ms / idle_ms,
            "wall_share": steps * self.plain_ms / on_ms,
            "drains_us": None,
            "no_drain": ALWAYS_ON,
        }

    def cpu_ms_more(self, kind):
        """Of all threads of this process, a step of that kind, more than a step without side work."""
        began_ms = cpu_ms()
        self.trainer.groups([kind] * CPU_GROUPS)
        return (cpu_ms() - began_ms) / (CPU_GROUPS * GROUP) - self._own_cpu_ms

    def cpu_ms_beside(self, side):
        """The same while the side work is on."""
        side.resume()
        try:
            return self.cpu_ms_more(no_bubble)
        finally:
            side.suspend()

    def process(self):
        """Started once: it takes seconds, and does nothing between its scopes. Gives it and what memory it took."""
        if self._process is None:
            before = free_mib()
            program = [os.path.abspath(sys.argv[0]), "--child"]
            options = [f"--model={self.given.model}", f"--limit={self.given.limit}"]
            self._process = SideProcess(program + options, environment_of_child(self.given.under, self.given))
            self._process.mib = before - free_mib()
        return self._process


def nothing(shared):
    return shared.in_bubbles(no_bubble) | {"no_drain": "no side work"}


def replayed(shared, few_sms=None):
    """Without pause, with two replays queued at most. `few_sms`: a stream on some of the SMs."""
    before = free_mib()
    with shared.captured(few_sms) as graph, shared.library.pieces(graph, 1) as pieces:
        pointer = few_sms.cuda_stream if few_sms else None
        with shared.library.runner(pieces, max_queued=2, stream=pointer) as side:
            mib = before - free_mib()
            found = shared.always_on(side)
            found["cpu_ms_a_step"] = shared.cpu_ms_beside(side)
            side.stop()
            return found | {"memory_mib": mib, "own_ms": sum(pieces.times_ms)}


def green_split(shared):
    with shared.library.green_stream(shared.given.green_sms) as (pointer, sms):
        return replayed(shared, torch.cuda.ExternalStream(pointer)) | {"sms": sms}


def launched_by_host(shared, count, is_planned=False):
    """`count`: of pieces."""
    before = free_mib()
    with (
        shared.captured() as graph,
        shared.library.pieces(graph, count, shared.given.segment) as pieces,
        shared.library.runner(pieces, is_planned) as side,
    ):
        mib = before - free_mib()
        found = shared.in_bubbles(side.bubble, side.steps)
        side.stop()
        more = {"memory_mib": mib, "pieces": pieces.count, "max_piece_ms": max(pieces.times_ms)}
        return found | more | {"drains_us": side.drains_us()}


def in_another_process(shared, under):
    if shared.given.under != under:
        raise RuntimeError(f"run this script with --{under}" if under else f"this run is under {shared.given.under}")
    side = shared.process()
    found = shared.always_on(side)
    before_ms = side.done["cpu_ms"]
    found["cpu_ms_a_step"] = shared.cpu_ms_beside(side) + (side.done["cpu_ms"] - before_ms) / (CPU_GROUPS * GROUP)
    more = {"memory_mib": side.mib, "memory_is": "of the process, its context and weights included"}
    return found | more | {"own_ms": side.told["plain_ms"]}


@contextlib.contextmanager
def harvest(shared, tasks):
    import lull

    with lull.harvest(tasks=tasks, executor="cuda", rooms=shared.given.rooms) as side:
        if side.mode != "on":
            raise RuntimeError(f"Lull is {side.mode}: {side.why_off}")
        yield lull, side


def after_sight_us(side):
    """From the first block's sight of a close until the last block was out, by the report's trace, which has the latest
    bubbles."""
    time.sleep(0.1)  # until all records are read
    events = json.loads(side.report("trace"))["traceEvents"]
    after = [event.get("args", {}).get("us after the close") for event in events]
    return [max(each, 0) for each in after if each is not None]


def lull_step(shared, **more):
    before = free_mib()
    try:
        return lull_scope(shared, before, **more)
    finally:
        shared.state[1].zero_grad(set_to_none=True)  # gradients lie in the step's memory, and would keep it


def lull_scope(shared, before, **more):
    """`before`: free memory in MiB."""
    with harvest(shared, []) as (lull, side):
        job = submitted(side, shared.given.model, shared.step, shared.state, shared.given.segment, **more)
        mib = before - free_mib()
        shared.trainer.groups([lull.bubble] * LEARNING_GROUPS)
        warm = report_of(side)
        found = shared.in_bubbles(lull.bubble, job.rounds)
        found |= harvested_between(warm, report_of(side))
        cut = job.result().strip()  # while the job is there
        found |= {"memory_mib": mib, "counts": side.counts(), "cut": cut}
        found |= {"drain_bound_us": closed_pieces(cut), "after_sight_us": quantiles(after_sight_us(side))}
        job.cancel()
        job.wait(10)  # the step's memory goes back
    return found


def lull_functor(shared):
    """The share is of items, against long bubbles without training."""
    before = free_mib()
    with harvest(shared, [TASKS["mlp"]]) as (lull, side):
        mib = before - free_mib()
        warm_up(shared.trainer, lull.bubble)
        warm = report_of(side)
        times = in_turns(shared.trainer, lull.bubble, shared.given.seconds)
        trained = report_of(side)
        drains = after_sight_us(side)
        cpu = shared.cpu_ms_more(lull.bubble)
        alone = speed_alone(*(long_bubbles(torch, lull, shared.trainer, side, n) for n in (ALONE_WARM_UP, ALONE)))
        asked_ms = GROUP * len(times[1]) * shared.trainer.idle_ms
        done = harvested_between(warm, trained) | {"idle_ms": asked_ms}
        found = compared(*times) | done | {"drains_us": drains, "memory_mib": mib, "cpu_ms_a_step": cpu}
        return found | ({"harvest": done["items"] / alone / asked_ms} if alone else {})


ROWS = {
    "nothing": nothing,
    "low_priority": replayed,
    "host_gated_step": lambda shared: launched_by_host(shared, 1),
    "host_gated_segment": lambda shared: launched_by_host(shared, shared.given.segments),
    "planned": lambda shared: launched_by_host(shared, shared.given.segments, is_planned=True),
    "green_split": green_split,
    "lull": lull_step,
    "lull_without_hint": lambda shared: lull_step(shared, hint=False),
    "lull_functor": lull_functor,
    "other_process": lambda shared: in_another_process(shared, None),
    "mps": lambda shared: in_another_process(shared, "mps"),
    "xsched": lambda shared: in_another_process(shared, "xsched"),
}
