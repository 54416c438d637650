# SPDX-License-Identifier: Apache-2.0
"""A rank of a training that is killed in the middle of a step: the training begins again from its last checkpoint, and
the side jobs of all ranks go on from theirs.

A pipeline is trained twice on --ranks GPUs: without Lull and without a kill; and beside a side job a rank, killed and
begun again. That one goes on until its steps are done and all side jobs are over. Its losses and weights must be those
of the other, and the results of its side jobs those of `lull run`, to the bit. The training keeps a checkpoint of its
own every few steps, as trainers do; Lull keeps those of the side jobs.

  --kills    1 or 2: a third would come after the last step        --sweeps   of each side job"""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types

from lab import NotRun, lull, torch
from lab.options import at_least, one_of
from lab.pipelines import schedules
from lab.pipelines.rank import Rank
from lab.programs.pipeline import SIZES
from lab.record import once

STEPS = 30
SAVED_EVERY = 10  # steps; a checkpoint of all ranks has 20 GB
KILLED_AFTER = 13  # steps of a process, the last of which are enqueued and not yet done
CHECKPOINT_EVERY_S = 0.2  # of side jobs
LIMIT_S_EACH = 150  # of each training, and of a side job by itself


class Training(Rank):
    """One rank's part of it. A checkpoint is this rank's weights, optimizer and losses, and the number of steps."""

    def __init__(self, given):
        super().__init__(SIZES[given.size])
        self.pipeline = self.new_pipeline(given.schedule)
        self.done, self.losses = 0, []
        self._file = pathlib.Path(given.folder, f"training.rank{self.rank}.pt")
        if self._file.exists():
            self._load()

    def _load(self):
        saved = torch.load(self._file)
        for parameter, weight in zip(self.pipeline.parameters, saved["weights"]):
            parameter.data.copy_(weight)
        self.pipeline.optimizer.load_state_dict(saved["optimizer"])
        self.done, self.losses = saved["steps"], saved["losses"]

    def save(self):
        """A rank's file takes its place when those of all are written."""
        self.synchronize()
        weights = [parameter.detach() for parameter in self.pipeline.parameters]
        made = {"weights": weights, "optimizer": self.pipeline.optimizer.state_dict()}
        written = self._file.with_suffix(".new")
        torch.save({**made, "steps": self.done, "losses": self.losses}, written)
        self.begin()
        written.replace(self._file)
        self.begin()

    def step(self):
        self.losses += [loss.detach() for loss in self.pipeline.step()]
        self.done += 1

    def save_result(self, folder, name):
        self.synchronize()
        result = [each.cpu() for each in (*self.losses, *self.pipeline.parameters)]
        torch.save(result, pathlib.Path(folder, f"{name}.rank{self.rank}.pt"))


def job_of(given, rank, result):
    """A job as `lull tasks` lists them; each rank has another graph."""
    return f"pagerank:kronecker=20,sweeps={given.sweeps},tolerance=1e-30,seed={rank + 1},out={result}"


def plain(given):
    training = Training(given)
    while training.done < STEPS:
        training.step()
    training.save_result(given.folder, "plain")


def harvested(given):
    """To the end of the steps and of all side jobs, or to the kill. Steps after the last are bubbles for the jobs."""
    training, folder = Training(given), pathlib.Path(given.folder)
    asked = job_of(given, training.rank, folder / f"harvested.{training.rank}")
    tuning = lull.Tuning(checkpoint_every=CHECKPOINT_EVERY_S)
    with lull.harvest(asked, checkpoint=folder / "side", reserved_groups=4, tuning=tuning) as side:
        job = side.jobs[0]
        begun = {"rank": training.rank, "steps": training.done, "side_work_phases": job.status()["phases"]}
        (folder / f"begun.{training.rank}").write_text(json.dumps(begun), encoding="utf-8")
        first = training.done
        while training.done < STEPS:
            training.step()
            if training.done % SAVED_EVERY == 0 and training.done < STEPS:
                training.save()
            if training.rank == given.kill and training.done - first == KILLED_AFTER:
                time.sleep(0.02)  # so that the device is in the middle of them
                os.kill(os.getpid(), signal.SIGKILL)
        training.save_result(folder, "harvested")
        while training.any_says(job.state not in ("finished", "failed")):
            training.step()
        if job.state != "finished":
            raise NotRun(f"the side job of rank {training.rank} has {job.state}")


def launched(given, folder, what, *options):
    """The exit code, the seconds, and where each rank began. `what` says it to who waits."""
    began = time.monotonic()
    command = [*sys.argv, "--folder", str(folder), *map(str, options)]
    code = schedules.launch(command, count=given.ranks, limit=LIMIT_S_EACH)
    seconds = round(time.monotonic() - began, 1)
    print(f"{what}: exit {code} after {seconds} s", file=sys.stderr, flush=True)
    begun = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("begun.*"))]
    return {"exit": code, "seconds": seconds, "begun": begun}


def equal_tensors(folder, rank):
    first, second = (torch.load(folder / f"{name}.rank{rank}.pt") for name in ("plain", "harvested"))
    return len(first) == len(second) and all(map(torch.equal, first, second))


def equal_results(given, folder, rank):
    result = folder / f"run.{rank}"
    command = [f"{given.build}/bin/lull", "run", "--device", str(rank), "--task", job_of(given, rank, result)]
    subprocess.run(command, check=True, timeout=LIMIT_S_EACH, stdout=subprocess.DEVNULL)
    return result.read_bytes() == (folder / f"harvested.{rank}").read_bytes()


def compared(given, folder):
    runs = [launched(given, folder, "without Lull")]
    for number in range(given.kills):
        rank = (2 * number + 1) % given.ranks
        runs.append({"killed": rank, **launched(given, folder, f"rank {rank} killed", "--kill", rank)})
    runs.append(launched(given, folder, "to the end", "--kill", given.ranks))  # no rank
    if runs[0]["exit"] or runs[-1]["exit"] or not all(run["exit"] == 128 + signal.SIGKILL for run in runs[1:-1]):
        raise NotRun(f"{runs}")
    with concurrent.futures.ThreadPoolExecutor(given.ranks) as at_once:
        side_work_equal = list(at_once.map(lambda rank: equal_results(given, folder, rank), range(given.ranks)))
    return {
        "schedule": given.schedule,
        "rank_count": given.ranks,
        "steps": STEPS,
        "trainings": runs,
        "training_equal": [equal_tensors(folder, rank) for rank in range(given.ranks)],
        "side_work_equal": side_work_equal,
    }


def measure(
    build,
    ranks: at_least(2) = 4,
    size: one_of(SIZES) = "gpt",
    schedule: one_of(schedules.SCHEDULES) = "1f1b",
    kills: at_least(1, 2) = 1,
    sweeps=8000,
    folder="",
    kill: int = None,
):
    """`folder`, `kill`: of a rank."""
    given = types.SimpleNamespace(**locals())
    if "RANK" in os.environ:
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        return plain(given) if kill is None else harvested(given)
    with tempfile.TemporaryDirectory(prefix="lull-") as made:
        row = compared(given, pathlib.Path(made))
    found = {"size": SIZES[size], "rows": [once(["lab", "killed_rank"], row)]}
    is_equal = all((*row["training_equal"], *row["side_work_equal"]))
    return found | ({} if is_equal else {"failures": ["not equal"]})
