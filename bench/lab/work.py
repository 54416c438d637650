# SPDX-License-Identifier: Apache-2.0
"""Side work by name: a task of Lull's, or a model's captured training step."""

from lab import NotRun, models, reports, torch

TASKS = {  # none of them ends within a scope of the programs here
    "compute": "compute:items=65536,rounds=1000000000",
    "streaming": "streaming:items=16384,rounds=32768",
    "mlp": "mlp:hidden=1024,batch=512,epochs=100000",
    "pagerank": "pagerank:kronecker=22,sweeps=1000000,tolerance=1e-30",
    "product": "product:rows=4096,columns=4096,depth=4096,rounds=1000000000",
}
JOBS = {"streaming": 8}  # of a task, in turn where a scope is longer: a job has at most 32,768 rounds
MODELS = ("resnet18", "resnet50", "vgg19", "bert")
STEP = "step:"  # before a model's name, where tasks may have any


def task_of(name):
    return TASKS.get(name, name)


def jobs_of(name):
    """Enough for a scope of a thousand steps of training."""
    return [task_of(name)] * JOBS.get(name, 1)


class Functor:
    """A task of Lull's. Its amounts are items."""

    def __init__(self, name):
        self.tasks = [task_of(name)]

    def begin(self, side):
        pass

    def done(self, report):
        return reports.work_of(report, "items")["items"]

    def per_ms(self, trainer, side):
        return reports.speed_in_long_bubbles(trainer, side)[0]

    def end(self, side):
        if not any(job.state in ("queued", "placed") for job in side.jobs):
            raise NotRun(f"the side work ended before the measurement did: {self.tasks[0]}")


class Step:
    """A model's step, made when it begins."""

    tasks = ()

    def __init__(self, name):
        self.name, self._made, self.job = name, None, None

    def begin(self, side):
        self._made = self._made or models.step_of(self.name)
        self.job = models.submitted(side, self.name, *self._made)


class Model(Step):
    """A captured training step. Its amounts are steps."""

    def __init__(self, name):
        super().__init__(name)
        self._made, stream = models.step_of(name), torch.cuda.Stream()
        with models.captured(self._made[0], self._made[1][1], stream) as graph:
            self._plain_ms = models.plain_ms(graph, stream)

    def done(self, _):
        return self.job.rounds()

    def per_ms(self, _, __):
        return 1 / self._plain_ms

    def end(self, _):
        self.job.cancel()
        self.job.wait(10)
        self._made[1][1].zero_grad(set_to_none=True)  # gradients lie in the step's memory, and would keep it
