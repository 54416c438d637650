# SPDX-License-Identifier: Apache-2.0
"""Whether a trainer that takes device memory to the brim ever runs out of it, while a side step gives way.

The trainer takes and frees tensors of up to half the reserve, with 20 ms between two of them, and at most as much as
the device has beside the reserve. The side step's parameters are compared with those of a run that nothing disturbed.
`--hook`: torch's allocator asks before it allocates."""

import random
import time

from lab import NotRun, lull, torch
from lab.options import at_least, count
from lab.treatment import harvest

LIMIT_S = 300
GIB = 1 << 30


def model(gigabytes):
    """A step that works on so much memory, and keeps what it is worth in two parameters."""
    torch.manual_seed(3)
    wide = torch.nn.Parameter(torch.randn(1 << 20, device="cuda"))
    adam = torch.optim.Adam([wide], 1e-3, fused=True, capturable=True)
    rows = int(gigabytes * GIB) // (4 * wide.numel())
    scale = torch.linspace(0.5, 1.5, rows, device="cuda")[:, None]

    def step():
        adam.zero_grad(set_to_none=True)
        loss = (scale * wide).tanh().pow(2).mean()
        loss.backward()
        adam.step()
        return loss

    return step, (wide, adam)


def bubbles(side, a, until):
    number = 0
    while not until():
        torch.mm(a, a)
        with side.bubble("gap"):
            torch.cuda._sleep(1_800 * 2_000)
        number += 1
        if number % 4 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()


def submit(side, step, state, steps):
    return side.submit(lull.side_step(step, steps=steps, state=state, segment=2e-3, node_limit=0.05))


def outputs_of(job):
    return [loss.item() for (loss,) in job.outputs()]


def undisturbed(gigabytes, steps, a):
    step, state = model(gigabytes)
    with lull.harvest(tasks=[], executor="cuda") as side:
        job = submit(side, step, state, steps)
        bubbles(side, a, lambda: job.wait(0))
    return state[0].detach().clone(), outputs_of(job)


class Pressure:
    """What a trainer takes and frees, an event at a time; and how the job fares meanwhile."""

    def __init__(self, reserve, events, seed):
        self._reserve, self._left, self._draw = reserve, events, random.Random(seed)
        self._held, self._bytes, self._next = [], 0, 0.0
        self._was_away, self._seen = False, time.monotonic()
        self.min_free = torch.cuda.mem_get_info()[0]
        self.found = {"events": events, "out_of_memory": 0, "evictions": 0, "away_s": 0.0}

    def begin(self):
        # What it had without the job, but for the reserve: the rest is fragments.
        self._most = int(0.97 * (torch.cuda.mem_get_info()[0] - self._reserve))

    def is_over(self, job):
        """Takes part once; then the job's own end counts."""
        self._take_part()
        now, is_away = time.monotonic(), job.state == "evicted"
        self.found["evictions"] += is_away and not self._was_away
        self.found["away_s"] += now - self._seen if is_away else 0
        self._was_away, self._seen = is_away, now
        if self._left == 0 and self._held:
            self._held.clear()
            torch.cuda.empty_cache()
        return self._left == 0 and job.wait(0)

    def _take_part(self):
        """One event, if it is time."""
        if self._left == 0 or time.monotonic() < self._next:
            return
        self._left -= 1
        self._next = time.monotonic() + 0.02
        size = self._draw.randrange(1 << 20, self._reserve // 2)
        if self._bytes + size <= self._most:
            try:
                self._held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
                self._bytes += size
            except torch.OutOfMemoryError:
                self.found["out_of_memory"] += 1
        else:
            for _ in range(1 + len(self._held) // 2):
                self._bytes -= self._held.pop(self._draw.randrange(len(self._held))).numel()
            torch.cuda.empty_cache()
        self.min_free = min(self.min_free, torch.cuda.mem_get_info()[0])


def measure(
    build,
    gigabytes: at_least(0.1, kind=float) = 2.0,
    reserve: at_least(0.1, kind=float) = 4.0,
    events: count = 1000,
    steps: count = 400,
    seed=1,
    hook=False,
):
    a = torch.randn(2048, 2048, device="cuda")
    expected, losses = undisturbed(gigabytes, steps, a)
    torch.cuda.empty_cache()
    reserve, saved = int(reserve * GIB), int((gigabytes * 7 + 1) * GIB)
    step, state = model(gigabytes)
    pressure = Pressure(reserve, events, seed)
    tuning = lull.Tuning(hook_allocator=hook)
    with harvest(executor="cuda", reserve_bytes=reserve, saved_bytes=saved, tuning=tuning) as side:
        pressure.begin()
        before = torch.cuda.mem_get_info()[0]
        job = submit(side, step, state, steps)
        took = before - torch.cuda.mem_get_info()[0]
        if took > saved:
            raise NotRun(f"the job took {took} bytes, and {saved} can be saved")
        bubbles(side, a, lambda: pressure.is_over(job))
        outputs = outputs_of(job)
    found = {"job_gigabytes": took / 1e9, "reserve_gigabytes": reserve / 1e9, **pressure.found}
    is_same = int(torch.equal(expected, state[0].detach()) and outputs == losses)
    return {**found, "min_free_gigabytes": pressure.min_free / 1e9, "is_same": is_same}
