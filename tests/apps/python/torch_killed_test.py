# SPDX-License-Identifier: Apache-2.0
"""A rank of a real torch training is killed in the middle of a step, three times. Training and side work start again
from what each rank has saved, and end with the losses, the weights and the side results of a training that was never
interrupted. On two GPUs over NCCL where there are two; else over gloo, as gloo_ranks.py says. Exit code 77: there is no
torch here."""

import importlib
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("bench", "apps/python")]

import gloo_ranks  # noqa: E402
import lull  # noqa: E402
from lab.pipelines import schedules  # noqa: E402

OWN_PROCESS = "it starts ranks and kills one"
BESIDE = "without a GPU a rank it uses none"
SKIPPED = 77
RANKS = 2
KILLS = 3
STEPS = 60
KEPT = 3  # saved steps; ranks are at most one apart
LIMIT_S = 120
SMALL = {"width": 32, "layers": 4, "rows": 8, "microbatches": 6}


class Saved:
    """What one rank has saved of its training: a file for each of the last steps."""

    def __init__(self, torch, folder):
        self._torch, self._folder = torch, folder
        self._name = f"rank{torch.distributed.get_rank()}"

    def save(self, step, pipeline, losses):
        path = self._folder / f"{self._name}.{step}.pt"
        self._torch.save({"weights": pipeline.parameters, "losses": losses}, path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
        (self._folder / f"{self._name}.{step - KEPT}.pt").unlink(missing_ok=True)

    def restore(self, pipeline):
        """The last step that all ranks have, and the losses until then."""
        steps = [int(re.search(r"\.(\d+)\.pt", each.name)[1]) for each in self._folder.glob(f"{self._name}.*.pt")]
        common = [None] * RANKS
        self._torch.distributed.all_gather_object(common, max(steps, default=0))
        if min(common) == 0:
            return 0, []
        found = self._torch.load(self._folder / f"{self._name}.{min(common)}.pt")
        with self._torch.no_grad():
            for weight, saved in zip(pipeline.parameters, found["weights"]):
                weight.copy_(saved)
        return min(common), found["losses"]


def set_up(torch):
    """Where it trains, what the side tasks run on, and a function that places a bubble of some milliseconds."""
    if torch.cuda.is_available() and torch.cuda.device_count() >= RANKS:
        device = torch.device("cuda", int(os.environ["RANK"]))
        torch.cuda.set_device(device)
        torch.distributed.init_process_group("nccl", device_id=device)

        def rest():
            with lull.bubble("rest"):
                torch.cuda._sleep(4_000_000)
            torch.cuda.synchronize()

        return device, "cuda", rest
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    stream, _ = gloo_ranks.take_for_cuda(torch)

    def rest():
        with lull.bubble("rest", stream):
            stream.sleep(0.002)
        stream.synchronize()

    return torch.device("cpu"), "threads", rest


def rank_main(folder, kill_at):
    import torch

    torch.use_deterministic_algorithms(True)
    device, executor, rest = set_up(torch)
    importlib.import_module("torch.distributed.pipelining")
    rank = torch.distributed.get_rank()
    pipeline = schedules.Pipeline("1f1b", device, **SMALL)
    saved = Saved(torch, folder)
    first, losses = saved.restore(pipeline)
    task = f"mlp:hidden=64,epochs=60,losses={folder}/side.{rank}.csv"
    with lull.harvest(
        task, executor=executor, checkpoint=folder / "side", tuning=lull.Tuning(checkpoint_every=0.02)
    ) as side:
        print(
            f"rank {rank} begins at step {first}, its side work with {side.jobs[0].status()['items']} items", flush=True
        )
        for step in range(first + 1, STEPS + 1):
            if step == first + kill_at and rank == 1:
                threading.Timer(0.001, os.kill, (os.getpid(), signal.SIGKILL)).start()
            losses += [loss.detach().cpu() for loss in pipeline.step()]
            saved.save(step, pipeline, losses)
        while side.jobs[0].state not in ("finished", "failed"):
            rest()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def train(folder, kill_at):
    """Whether it came to its end."""
    folder.mkdir(exist_ok=True)
    return schedules.launch([__file__, str(folder), str(kill_at)], count=RANKS, limit=LIMIT_S) == 0


def differences(torch, whole, killed):
    for rank in range(RANKS):
        name = f"rank{rank}.{STEPS}.pt"
        one, other = (torch.load(folder / name, map_location="cpu") for folder in (whole, killed))
        for what in ("losses", "weights"):
            if len(one[what]) != len(other[what]) or not all(map(torch.equal, one[what], other[what])):
                yield f"{what} of rank {rank}"
        results = [(folder / f"side.{rank}.csv").read_bytes() for folder in (whole, killed)]
        if results[0] != results[1] or not results[0]:
            yield f"results of the side work of rank {rank}"


def main():
    try:
        import torch
    except ImportError as why:
        print(f"not run: {why}")
        sys.exit(SKIPPED)
    if len(sys.argv) == 3:
        rank_main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
        return
    chosen = random.Random(5)
    with tempfile.TemporaryDirectory(prefix="lull-") as folder:
        whole, killed = pathlib.Path(folder, "whole"), pathlib.Path(folder, "killed")
        if not train(whole, 0):
            sys.exit("the training that nobody interrupts failed")
        for _ in range(KILLS):
            if train(killed, 3 + chosen.randrange(10)):
                sys.exit("no rank was killed")
            if not list((killed).glob("side.rank*/*")):
                sys.exit("no side work was saved")
        if not train(killed, 0):
            sys.exit("the training that goes on failed")
        wrong = list(differences(torch, whole, killed))
    sys.exit(f"not as in a training that nobody interrupts: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
