#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a training that is killed in the middle of a step: the training begins again from its last checkpoint, and
the side jobs of all ranks go on from theirs. Writes docs/results/killed_rank.json.

    scripts/killed_rank.py --results docs/results [--ranks 4] [--size gpt] [--schedule 1f1b] [--kills 1]

A pipeline is trained twice on as many GPUs: without Lull and without a kill; and beside a side job a rank, killed and
begun again. That one goes on until its steps are done and all side jobs are over. Its losses and weights must be those
of the other, and the results of its side jobs those of `lull run`, to the bit. The training keeps a checkpoint of its
own every few steps, as trainers do; Lull keeps those of the side jobs.

LULL_LIBRARY names the C library where the package is not installed, --build where `lull` is."""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parent),
    str(pathlib.Path(__file__).resolve().parents[1] / "apps/python"),
]

import measured  # noqa: E402
import torch_pipeline  # noqa: E402
from measure_torch import SIZES  # noqa: E402

STEPS = 30
SAVED_EVERY = 10  # steps; a checkpoint of all ranks has 20 GB
KILLED_AFTER = 13  # steps of a process, the last of which are enqueued and not yet done
CHECKPOINT_EVERY_S = 0.2  # of side jobs
LIMIT_S = 150  # of each training, and of a side job by itself


class Training:
    """One rank's part of it. A checkpoint is this rank's weights, optimizer and losses, and the number of steps."""

    def __init__(self, given):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.given = torch, dist, given
        self.rank = int(os.environ["RANK"])
        device = torch.device("cuda", self.rank)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
        self.pipeline = torch_pipeline.Pipeline(given.schedule, device, **SIZES[given.size])
        self.steps, self.losses = 0, []
        self._file = pathlib.Path(given.folder, f"training.rank{self.rank}.pt")
        if self._file.exists():
            self._load()

    def _load(self):
        saved = self.torch.load(self._file)
        for parameter, weight in zip(self.pipeline.parameters, saved["weights"]):
            parameter.data.copy_(weight)
        self.pipeline.optimizer.load_state_dict(saved["optimizer"])
        self.steps, self.losses = saved["steps"], saved["losses"]

    def save(self):
        """A rank's file takes its place when those of all are written."""
        self.torch.cuda.synchronize()
        made = {
            "weights": [parameter.detach() for parameter in self.pipeline.parameters],
            "optimizer": self.pipeline.optimizer.state_dict(),
            "steps": self.steps,
            "losses": self.losses,
        }
        written = self._file.with_suffix(".new")
        self.torch.save(made, written)
        self.dist.barrier()
        self.torch.cuda.synchronize()
        written.replace(self._file)
        self.dist.barrier()
        self.torch.cuda.synchronize()

    def step(self):
        self.losses += [loss.detach() for loss in self.pipeline.step()]
        self.steps += 1

    def all(self, here):
        """Whether it is so on every rank."""
        word = self.torch.tensor([1 if here else 0], device="cuda")
        self.dist.all_reduce(word, self.dist.ReduceOp.MIN)
        return bool(word.item())

    def result(self):
        self.torch.cuda.synchronize()
        return [each.cpu() for each in (*self.losses, *self.pipeline.parameters)]


def job_of(given, rank, result):
    """A job as `lull tasks` lists them; each rank has another graph."""
    return f"pagerank:kronecker=20,sweeps={given.sweeps},tolerance=1e-30,seed={rank + 1},out={result}"


def plain(given):
    training = Training(given)
    while training.steps < STEPS:
        training.step()
    training.torch.save(training.result(), pathlib.Path(given.folder, f"plain.rank{training.rank}.pt"))


def harvested(given):
    """To the end of the steps and of all side jobs, or to the kill. Steps behind the last are bubbles for the jobs."""
    import lull

    training = Training(given)
    folder = pathlib.Path(given.folder)
    job_asked = job_of(given, training.rank, folder / f"harvested.{training.rank}")
    with lull.harvest(job_asked, checkpoint=folder / "side", checkpoint_every=CHECKPOINT_EVERY_S, rooms=4) as side:
        job = side.jobs[0]
        begun = {"rank": training.rank, "steps": training.steps, "side_work_phases": job.status()["phases"]}
        (folder / f"begun.{training.rank}").write_text(json.dumps(begun), encoding="utf-8")
        first = training.steps
        while training.steps < STEPS:
            training.step()
            if training.steps % SAVED_EVERY == 0 and training.steps < STEPS:
                training.save()
            if training.rank == given.kill and training.steps - first == KILLED_AFTER:
                time.sleep(0.02)  # so that the device is in the middle of them
                os.kill(os.getpid(), signal.SIGKILL)
        training.torch.save(training.result(), folder / f"harvested.rank{training.rank}.pt")
        while not training.all(job.state in ("finished", "failed")):
            training.step()
        if job.state != "finished":
            sys.exit(f"killed_rank.py: the side job of rank {training.rank} has {job.state}")


def rank_main(given):
    import torch

    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    if given.kill is None:
        plain(given)
    else:
        harvested(given)


def launched(given, folder, what, *more):
    """The exit code, the seconds, and where each rank began. `what` says it to who waits."""
    began = time.monotonic()
    command = [*sys.argv, "--folder", str(folder), *map(str, more)]
    code = torch_pipeline.launch(command, count=given.ranks, limit=LIMIT_S)
    seconds = round(time.monotonic() - began, 1)
    print(f"killed_rank: {what}: exit {code} after {seconds} s", flush=True)
    begun = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("begun.*"))]
    return {"exit": code, "seconds": seconds, "begun": begun}


def equal_tensors(one, other):
    import torch

    first, second = (torch.load(file) for file in (one, other))
    return len(first) == len(second) and all(map(torch.equal, first, second))


def equal_results(given, folder, rank):
    result = folder / f"run.{rank}"
    command = [f"{given.build}/bin/lull", "run", "--device", str(rank), "--task", job_of(given, rank, result)]
    subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
    return result.read_bytes() == (folder / f"harvested.{rank}").read_bytes()


def compared(given, folder):
    runs = [launched(given, folder, "without Lull")]
    for number in range(given.kills):
        rank = (2 * number + 1) % given.ranks
        runs.append({"killed": rank, **launched(given, folder, f"rank {rank} killed", "--kill", rank)})
    runs.append(launched(given, folder, "to the end", "--kill", -1))
    if runs[0]["exit"] or runs[-1]["exit"] or not all(run["exit"] == 128 + signal.SIGKILL for run in runs[1:-1]):
        sys.exit(f"killed_rank.py: NOT RUN: {runs}")
    with concurrent.futures.ThreadPoolExecutor(given.ranks) as at_once:
        side_work_equal = list(at_once.map(lambda rank: equal_results(given, folder, rank), range(given.ranks)))
    return {
        "schedule": given.schedule,
        "rank_count": given.ranks,
        "steps": STEPS,
        "trainings": runs,
        "training_equal": [
            equal_tensors(folder / f"plain.rank{rank}.pt", folder / f"harvested.rank{rank}.pt")
            for rank in range(given.ranks)
        ],
        "side_work_equal": side_work_equal,
    }


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", required=True)
    parser.add_argument("--build", default="build/gpu")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--size", choices=SIZES, default="gpt")
    parser.add_argument("--schedule", choices=torch_pipeline.SCHEDULES, default="1f1b")
    parser.add_argument("--kills", type=int, choices=(1, 2), default=1, help="a third would come behind the last step")
    parser.add_argument("--sweeps", type=int, default=8000, help="of each side job")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--kill", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    given = parse()
    if "RANK" in os.environ:
        rank_main(given)
        return
    made = {
        "schema": "lull.record/1",
        "section": "killed_rank",
        "date": datetime.date.today().isoformat(),
        "commit": measured.commit(),
        "machine": measured.machine(),
        "before": measured.condition(),
        "unit": "as named",
        "size": SIZES[given.size],
    }
    with tempfile.TemporaryDirectory(prefix="lull-") as folder:
        row = compared(given, pathlib.Path(folder))
    made |= {"rows": [measured.once(sys.argv[:1], row)], "after": measured.condition()}
    file = pathlib.Path(given.results, "killed_rank.json")
    measured.write_whole(file, json.dumps(made, indent=1) + "\n")
    print(f"killed_rank: {file}")
    if not all((*row["training_equal"], *row["side_work_equal"])):
        sys.exit("killed_rank.py: not equal")


if __name__ == "__main__":
    main()
