# SPDX-License-Identifier: Apache-2.0
"""What bubbles of no length cost: a product before each, with and without, in turns. CUDA_DEVICE_MAX_CONNECTIONS is
taken as it is."""

import statistics

from lab import lull, torch
from lab.numbers import median_interval
from lab.options import at_least, count
from lab.treatment import abba, harvest, no_bubble
from lab.work import Functor

LIMIT_S = 120
SIZE = 4096  # longer than the host takes for a product and a bubble


def measure(build, work="compute", bubbles: count = 1000, turns: count = 10, reserved_groups: at_least(0) = 0):
    a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
    into = torch.empty_like(a)

    def microseconds(bubble):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(bubbles):
            torch.mm(a, a, out=into)
            with bubble():
                pass
        end.record()
        torch.cuda.synchronize()
        return 1e3 * begin.elapsed_time(end) / bubbles

    def bubble():
        return lull.bubble("none")

    side_work = Functor(work)
    with harvest(side_work.tasks, executor="cuda", reserved_groups=reserved_groups) as side:
        while any(job.state == "queued" for job in side.jobs):
            microseconds(bubble)
        microseconds(no_bubble)
        pairs = []
        for _ in range(turns):
            plain, with_bubbles, again, more = (microseconds(each) for each in abba(bubble, no_bubble))
            pairs += [plain - with_bubbles, more - again]
        counts = side.counts()
    low, high = median_interval(pairs)
    kept = {key: counts[key] for key in ("opened", "too_short", "launches")}
    row = {"work": work, "us_a_bubble": statistics.median(pairs)}
    return {"rows": [{**row, "us_a_bubble_low": low, "us_a_bubble_high": high, "bubbles": 2 * turns * bubbles, **kept}]}
