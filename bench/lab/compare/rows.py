# SPDX-License-Identifier: Apache-2.0
"""The rows of the program `compare`: each runs the side step in its own way for one scope, and says what it cost."""

import contextlib
import gc
import itertools
import json
import time

from lab import torch
from lab.compare.process import SideProcess, cpu_ms
from lab.compare.runner import Library
from lab.compare.servers import environment_of_child
from lab.models import LEARNING_GROUPS, captured, plain_ms, step_of, submitted
from lab.numbers import quantiles
from lab.process import of_lab
from lab.reports import closed_pieces, harvested_between, report_of, speed_in_long_bubbles
from lab.trainer import GROUP, HEAD_START_MS, Stage
from lab.treatment import ALONE, QUARTETS, Treatment, abba, alternate, compared, harvest, in_turns, warm_up, with_lull
from lab.work import TASKS

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
        self.trainer = Stage(given.build, given.size)
        self.library = Library(given.build)
        before = free_mib()
        self.step, self.state = step_of(given.model)
        stream = torch.cuda.Stream()
        with captured(self.step, self.state[1], stream) as graph:
            self.plain_ms = plain_ms(graph, stream)
        self.step_mib = before - free_mib()  # weights and optimizer
        warm_up(self.trainer, ALONE)
        self._own_cpu_ms = 0.0
        self._own_cpu_ms = self.cpu_ms_more(ALONE)
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

    def in_bubbles(self, treatment, steps=None):
        """`steps`: how many side steps have ended."""
        warm_up(self.trainer, treatment)
        before = steps() if steps else 0
        times = in_turns(self.trainer, treatment, self.given.seconds)
        found = compared(*times)
        if steps:
            found["side_steps"] = steps() - before
            found["harvest"] = found["side_steps"] * self.plain_ms / (GROUP * len(times[1]) * self.trainer.idle_ms)
        return found | {"cpu_ms_a_step": self.cpu_ms_more(treatment)}

    def always_on(self, side):
        """`side`: has resume, suspend and steps. The host switches it, and waits for the device at each switch."""
        on, before, on_ms = Treatment("always on"), side.steps(), 0.0

        def groups(treatment):
            return self.trainer.groups([treatment] * QUARTETS)

        def run(_):
            nonlocal on_ms
            first = groups(ALONE)
            with resumed(side):
                began = time.monotonic()
                both = groups(on), groups(on)
                on_ms += 1e3 * (time.monotonic() - began)
            return first, *both, groups(ALONE)

        found = alternate(run, abba(ALONE, on), self.given.seconds)
        plain, other = (list(itertools.chain(*found[each])) for each in (ALONE, on))
        steps = side.steps() - before
        idle_ms = GROUP * len(other) * self.trainer.idle_ms + len(found[on]) * HEAD_START_MS
        return {
            **compared(plain, other),
            "side_steps": steps,
            "harvest": steps * self.plain_ms / idle_ms,
            "wall_share": steps * self.plain_ms / on_ms,
            "drains_us": None,
            "no_drain": ALWAYS_ON,
        }

    def cpu_ms_more(self, treatment):
        """Of all threads of this process, a step of that treatment, more than a step without side work."""
        began_ms = cpu_ms()
        self.trainer.groups([treatment] * CPU_GROUPS)
        return (cpu_ms() - began_ms) / (CPU_GROUPS * GROUP) - self._own_cpu_ms

    def cpu_ms_beside(self, side):
        """The same while the side work is on."""
        with resumed(side):
            return self.cpu_ms_more(ALONE)

    def process(self):
        """Started once: it takes seconds, and does nothing between its scopes. Gives it and what memory it took."""
        if self._process is None:
            before, given = free_mib(), self.given
            command = of_lab(given.build, f"replays --model {given.model} --limit {given.limit}")
            self._process = SideProcess(command, environment_of_child(given))
            self._process.mib = before - free_mib()
        return self._process


@contextlib.contextmanager
def resumed(side):
    side.resume()
    try:
        yield
    finally:
        side.suspend()


def nothing(shared):
    return shared.in_bubbles(Treatment("nothing")) | {"no_drain": "no side work"}


def replayed(shared, few_sms=None):
    """Without pause, with two replays queued at most. `few_sms`: a stream on some of the SMs."""
    before = free_mib()
    with shared.captured(few_sms) as graph, shared.library.pieces(graph) as pieces:
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


def launched_by_host(shared, segment_s=0.0, is_planned=False):
    before = free_mib()
    with (
        shared.captured() as graph,
        shared.library.pieces(graph, segment_s) as pieces,
        shared.library.runner(pieces, is_planned) as side,
    ):
        mib = before - free_mib()
        found = shared.in_bubbles(Treatment("by the host", side.bubble), side.steps)
        side.stop()
        about = {"memory_mib": mib, "pieces": pieces.count, "max_piece_ms": max(pieces.times_ms)}
        return found | about | {"drains_us": side.drains_us()}


def in_another_process(shared, server):
    if shared.given.server != server:
        raise RuntimeError(f"run this program with --server {server}" if server else "this run is under a server")
    side = shared.process()
    found = shared.always_on(side)
    before_ms = side.done["cpu_ms"]
    found["cpu_ms_a_step"] = shared.cpu_ms_beside(side) + (side.done["cpu_ms"] - before_ms) / (CPU_GROUPS * GROUP)
    about = {"memory_mib": side.mib, "memory_is": "of the process, its context and weights included"}
    return found | about | {"own_ms": side.told["plain_ms"]}


def after_sight_us(side):
    """From the first block's sight of a close until the last block was out, by the report's trace, which has the latest
    bubbles."""
    time.sleep(0.1)  # until all records are read
    events = json.loads(side.report("trace"))["traceEvents"]
    after = [event.get("args", {}).get("us after the close") for event in events]
    return [max(each, 0) for each in after if each is not None]


def lull_step(shared, **options):
    before = free_mib()
    try:
        return lull_scope(shared, before, **options)
    finally:
        shared.state[1].zero_grad(set_to_none=True)  # gradients lie in the step's memory, and would keep it


def lull_scope(shared, before, **options):
    """`before`: free memory in MiB."""
    given = shared.given
    with harvest(executor="cuda", reserved_groups=given.reserved_groups) as side:
        job = submitted(side, given.model, shared.step, shared.state, given.segment, **options)
        mib = before - free_mib()
        shared.trainer.groups([with_lull()] * LEARNING_GROUPS)
        warm = report_of(side)
        found = shared.in_bubbles(with_lull(), job.rounds)
        found |= harvested_between(warm, report_of(side))
        cut = job.result().strip()  # while the job is there
        found |= {"memory_mib": mib, "counts": side.counts(), "cut": cut}
        found |= {"drain_bound_us": closed_pieces(cut), "after_sight_us": quantiles(after_sight_us(side))}
        job.cancel()
        job.wait(10)  # the step's memory goes back
    return found


def lull_functor(shared):
    """The share is of items, against long bubbles without training."""
    before, trainer = free_mib(), shared.trainer
    with harvest([TASKS["mlp"]], executor="cuda", reserved_groups=shared.given.reserved_groups) as side:
        mib = before - free_mib()
        warm_up(trainer, with_lull())
        warm = report_of(side)
        times = in_turns(trainer, with_lull(), shared.given.seconds)
        trained = report_of(side)
        drains = after_sight_us(side)
        cpu = shared.cpu_ms_more(with_lull())
        alone, _ = speed_in_long_bubbles(trainer, side)
        asked_ms = GROUP * len(times[1]) * trainer.idle_ms
        done = harvested_between(warm, trained) | {"idle_ms": asked_ms}
        found = compared(*times) | done | {"drains_us": drains, "memory_mib": mib, "cpu_ms_a_step": cpu}
        return found | ({"harvest": done["items"] / alone / asked_ms} if alone else {})


ROWS = {
    "nothing": nothing,
    "low_priority": replayed,
    "host_gated_step": launched_by_host,
    "host_gated_segment": lambda shared: launched_by_host(shared, shared.given.segment),
    "planned": lambda shared: launched_by_host(shared, shared.given.segment, is_planned=True),
    "green_split": green_split,
    "lull": lull_step,
    "lull_without_hint": lambda shared: lull_step(shared, hint=False),
    "lull_functor": lull_functor,
    "other_process": lambda shared: in_another_process(shared, None),
    "mps": lambda shared: in_another_process(shared, "mps"),
    "xsched": lambda shared: in_another_process(shared, "xsched"),
}
