#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a trainer that takes device memory to the brim ever runs out of it, while a side step gives way.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_memory.py

The trainer takes and frees tensors of up to half the reserve, with 20 ms between two of them, and at most as much as
the device has beside the reserve. The side step's parameters are compared with those of a run that nothing disturbed.
One JSON object on standard output."""

import argparse
import json
import random
import sys
import time

GIB = 1 << 30


def model(torch, gigabytes):
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


def bubbles(torch, side, a, until):
    number = 0
    while not until(number):
        torch.mm(a, a)
        with side.bubble("gap"):
            torch.cuda._sleep(1_800 * 2_000)
        number += 1
        if number % 4 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()


def undisturbed(torch, lull, given, a):
    step, state = model(torch, given.gigabytes)
    with lull.harvest(tasks=[], executor="cuda") as side:
        job = side.submit(lull.side_step(step, steps=given.steps, state=state, segment=2e-3, node_limit=0.05))
        bubbles(torch, side, a, lambda _: job.wait(0))
    return [state[0].detach().clone(), [loss.item() for (loss,) in job.outputs()]]


class Pressure:
    """What a trainer takes and frees, an event at a time."""

    def __init__(self, torch, given):
        self.torch, self.given = torch, given
        self.draw = random.Random(given.seed)
        self.held, self.bytes, self.events, self.failures, self.next = [], 0, 0, 0, 0.0
        self.most = 0
        self.min_free = torch.cuda.mem_get_info()[0]

    def take_part(self):
        """One event, if it is time."""
        if self.events == self.given.events or time.monotonic() < self.next:
            return
        self.events += 1
        self.next = time.monotonic() + 0.02
        size = self.draw.randrange(1 << 20, int(self.given.reserve * GIB) // 2)
        if self.bytes + size <= self.most:
            try:
                self.held.append(self.torch.empty(size, dtype=self.torch.uint8, device="cuda"))
                self.bytes += size
            except self.torch.OutOfMemoryError:
                self.failures += 1
        else:
            for _ in range(1 + len(self.held) // 2):
                self.bytes -= self.held.pop(self.draw.randrange(len(self.held))).numel()
            self.torch.cuda.empty_cache()
        self.min_free = min(self.min_free, self.torch.cuda.mem_get_info()[0])


def measure(torch, lull, given):
    a = torch.randn(2048, 2048, device="cuda")
    expected, losses = undisturbed(torch, lull, given, a)
    torch.cuda.empty_cache()
    reserve = int(given.reserve * GIB)
    step, state = model(torch, given.gigabytes)
    pressure = Pressure(torch, given)
    saved = int((given.gigabytes * 7 + 1) * GIB)
    with lull.harvest(
        tasks=[], executor="cuda", reserve_bytes=reserve, saved_bytes=saved, hook_allocator=given.hook
    ) as side:
        if side.mode != "on":
            sys.exit(f"measure_memory.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        # What it had without the job, but for the reserve: the rest is fragments.
        pressure.most = int(0.97 * (torch.cuda.mem_get_info()[0] - reserve))
        before = torch.cuda.mem_get_info()[0]
        job = side.submit(lull.side_step(step, steps=given.steps, state=state, segment=2e-3, node_limit=0.05))
        took = before - torch.cuda.mem_get_info()[0]
        if took > saved:
            sys.exit(f"measure_memory.py: the job took {took} bytes, and {saved} can be saved")
        evicted, was, away_s, seen = 0, False, 0.0, time.monotonic()

        def so(_):
            nonlocal evicted, was, away_s, seen
            pressure.take_part()
            now, is_now = time.monotonic(), job.state == "evicted"
            evicted += is_now and not was
            away_s += now - seen if is_now else 0
            was, seen = is_now, now
            if pressure.events == given.events and pressure.held:
                pressure.held.clear()
                torch.cuda.empty_cache()
            return pressure.events == given.events and job.wait(0)

        bubbles(torch, side, a, so)
        outputs = [loss.item() for (loss,) in job.outputs()]
    return {
        "job_gigabytes": took / 1e9,
        "reserve_gigabytes": reserve / 1e9,
        "events": pressure.events,
        "out_of_memory": pressure.failures,
        "evictions": evicted,
        "away_s": away_s,
        "min_free_gigabytes": pressure.min_free / 1e9,
        "is_same": int(torch.equal(expected, state[0].detach()) and outputs == losses),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("gigabytes", 2.0), ("reserve", 4.0)):
        parser.add_argument(f"--{name}", type=float, default=value)
    for name, value in (("events", 1000), ("steps", 400), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--hook", action="store_true", help="torch's allocator asks before it allocates")
    given = parser.parse_args()
    if min(given.gigabytes, given.reserve) < 0.1 or given.events < 1 or given.steps < 1:
        parser.error("gigabytes and reserve are at least 0.1, events and steps at least 1")
    import lull
    import torch

    if not torch.cuda.is_available():
        sys.exit("measure_memory.py: NOT RUN: torch finds no GPU")
    print(json.dumps({"torch": torch.__version__, **measure(torch, lull, given)}), flush=True)


if __name__ == "__main__":
    main()
