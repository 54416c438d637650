# SPDX-License-Identifier: Apache-2.0
"""One rank of a training on several GPUs, as a trainer that is measured. Every decision is taken from times that all
ranks know."""

import os
import tempfile
import time

from lab import NotRun, lull, torch
from lab.pipelines import rows, schedules, trainers
from lab.reports import report_of
from lab.trainer import Trainer
from lab.treatment import QUARTETS, Treatment, abba, alternate, compared
from lab.work import MODELS, TASKS, Functor, Model

WARM_UP = 12  # steps: more than a site remembers
EQUAL_STEPS = 200


def work_of(name):
    """None: nothing runs."""
    if name == "observe":
        return None
    return Model(name) if name in MODELS else Functor(name)


class Rank(Trainer):
    group = 4

    def __init__(self, size, straggler_ms=0.0, options=None):
        import torch.distributed as dist

        self.dist, self.size = dist, size
        self._straggler_ms, self._options = straggler_ms, options or {}  # of lull.harvest
        self.began = time.perf_counter()
        self._folder = tempfile.TemporaryDirectory()
        self.rank = int(os.environ["RANK"])
        self.set_up()

    def set_up(self):
        self.device = torch.device("cuda", self.rank)
        torch.cuda.set_device(self.device)
        self.dist.init_process_group("nccl", device_id=self.device)

    def wait(self, ms):
        """Enqueues a wait."""
        torch.cuda._sleep(int(ms * 1.9e6))  # cycles

    def new_pipeline(self, schedule):
        make = trainers.make if schedule in trainers.SCHEDULES else schedules.Pipeline
        return make(schedule, self.device, **self.size)

    def train(self, schedule):
        """From now on, with that one."""
        self.pipeline = self.new_pipeline(schedule)
        self.steps(None, WARM_UP)

    def slowest(self, values):
        """Of each the greatest of all ranks."""
        every = torch.tensor(values, dtype=torch.float64, device=self.device)
        self.dist.all_reduce(every, self.dist.ReduceOp.MAX)
        return every.tolist()

    def any_says(self, here):
        return self.slowest([float(here)])[0] > 0

    def of_all(self, own):
        everyone = [None] * self.dist.get_world_size()
        self.dist.all_gather_object(everyone, own)
        return everyone

    def begin(self):
        self.synchronize()
        self.dist.barrier()
        self.synchronize()

    def steps(self, _, count):
        for index in range(count):
            if self._straggler_ms and index % self.group == 1 and self.rank == self.dist.get_world_size() - 1:
                self.wait(self._straggler_ms)
            self.pipeline.step()

    def groups(self, treatments):
        """Each the slowest rank's. The host runs ahead, as in a training: so two more come first, in which the pipeline
        fills, and are left out."""
        return self.slowest(super().groups((*treatments[:2], *treatments))[2:])

    def scope(self, work, seconds):
        """What all ranks know of it, with each rank's own part."""
        unread = f"{self._folder.name}/bubbles.txt"  # else it is printed
        with lull.observe(report=unread) if work is None else lull.harvest(work.tasks, **self._options) as side:
            if side.mode != ("observe" if work is None else "on"):
                raise NotRun(f"Lull is {side.mode}: {side.why_off}")
            if work is not None:
                work.begin(side)
            self.begin()  # or the first bubble lasts as long as the slowest rank's beginning
            self.steps(None, WARM_UP)
            self.begin()
            before, counted = report_of(side), side.counts()
            done = 0 if work is None else -work.done(before)
            with_lull, alone = Treatment("lull"), Treatment("alone", around=side.suspended)
            times = alternate(self.groups, abba(with_lull, alone, QUARTETS), seconds, self.any_says)
            after = report_of(side)
            counts = {key: count - counted[key] for key, count in side.counts().items()}
            own = {"counts": counts, **rows.between(before, after)}
            if work is not None:
                done += work.done(after)
                own |= {"done": done, "done_per_ms_alone": work.per_ms(self, side)}
                work.end(side)
        everyone, groups = self.of_all(own), len(times[with_lull])
        steps = self.group * (groups + groups // (2 * QUARTETS))  # those in which the pipeline fills, too
        return {**compared(times[alone], times[with_lull]), **rows.over_ranks(everyone, steps), "ranks": everyone}

    def equal(self, schedule):
        """Whether steps with Lull leave the losses and weights of as many without, to the bit."""

        def train(scope):
            return schedules.trained(self.new_pipeline(schedule), scope, EQUAL_STEPS)

        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        plain = train(schedules.without_lull())
        lulled = train(lull.harvest([TASKS["compute"], TASKS["streaming"]]))
        torch.use_deterministic_algorithms(False)
        results = plain[0] + plain[1]
        own = {
            "equal": all(map(torch.equal, results, lulled[0] + lulled[1])),
            "finite": all(bool(each.isfinite().all()) for each in results),
            "mode": lulled[2],
            "launches": lulled[3].get("launches", 0),
        }
        everyone = self.of_all(own)
        return {"steps": EQUAL_STEPS, "equal": all(map(rows.says_something, everyone)), "ranks": everyone}
