# SPDX-License-Identifier: Apache-2.0
"""Lull in real PyTorch pipelines on several GPUs, a rank each: torch.distributed.pipelining, Megatron core, DeepSpeed.

One pipeline a schedule. A scope is one `with lull.harvest(…)`, or lull.observe for `observe`. In each, groups of steps
with Lull and with torch as it was take turns; a step is as long as the slowest rank's. `first` and `second` of a record
are every other scope, so they alternate.

--work, joined by +, is a task of work.py, a task as `lull tasks` lists them, or a model whose training step is side
work: resnet18, resnet50, vgg19, bert. `harvest`: what was done in bubbles against what is done in as much time of long
bubbles without training, on the SMs that workers may use; of a model, in as much time of plain replays on the whole
GPU.
`known_share`: of the bubbles that were opened, those whose length is known, so that they count there: a bubble that no
worker came to is none of them. `saved_percent`: the share of the training's GPU time that the side work would take by
itself, less the slowdown: FreeRide's cost savings (arXiv:2409.06941) with one price for all GPUs. `equal`: 200 steps
whose losses and weights must be equal to the bit, and no other figures.

  --schedules   with commas: torch's gpipe, 1f1b, interleaved and zero_bubble; or megatron, megatron_interleaved and
                deepspeed
  --scopes      of each row; at least 2        --seconds     of groups a scope; twelve groups at a time
  --reserved-groups       groups of SMs kept off         --min-bubble  microseconds; 0: Lull's default
  --straggler   in one step of each group the last rank comes so many milliseconds late
  --limit       seconds for all"""

import faulthandler
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import traceback
import types

from lab import NotRun, lull
from lab.options import all_of, at_least, listed, one_of
from lab.pipelines import rows as rows_of_scopes
from lab.pipelines import schedules as torch_schedules
from lab.pipelines import trainers
from lab.pipelines.rank import Rank, work_of
from lab.process import write_whole

SIZES = {  # with these the GPUs set the pace, not the hosts; with bf16 the GPUs' power limit does
    "bf16": {"width": 8192, "layers": 4, "rows": 3072, "microbatches": 4, "dtype": "bfloat16"},
    "fp32": {"width": 4096, "layers": 4, "rows": 2048, "microbatches": 4, "dtype": "float32"},
    # 3.6 billion weights in a GPT's blocks, as FreeRide's middle model has, for four ranks
    "gpt": {"width": 3072, "layers": 32, "rows": 1, "tokens": 1024, "microbatches": 4, "dtype": "bfloat16"},
}
ROWS_OF_TRAINERS = {"bf16": 2048, "fp32": 512}  # Megatron's and DeepSpeed's; the rest is as above
TORCHS = tuple(torch_schedules.SCHEDULES)
MARGIN_S = 40  # of the limit, left for a round of scopes to come to its end
LAST_WORDS_S = 5


def say(what, scope, seconds):
    text = f"{scope['slowdown_percent']:+.2f} %, harvest {scope.get('harvest', math.nan):.3f}, {seconds:.1f} s"
    for key in ("held_up", "groups_added"):
        text += f", {key} {count}" if (count := sum(each["counts"][key] for each in scope["ranks"])) else ""
    print(f"{what}: {text}", file=sys.stderr, flush=True)


def rank_main(given, rank):
    faulthandler.dump_traceback_later(max(given.limit - LAST_WORDS_S, 1))  # where a rank that hangs stands
    try:
        of_rank(given, rank)
    except BaseException:  # teardown would wait for the peers' exchanges, and they for this rank
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def of_rank(given, rank):
    works = {name: work_of(name) for name in given.work if name != "equal"}
    rows = []
    for schedule in given.schedules:
        found = {name: [] for name in given.work}
        if "equal" in found:
            found["equal"].append(rank.equal(schedule))
        rank.train(schedule)
        for index in range(given.scopes):
            for name, work in works.items():
                began = time.perf_counter()
                found[name].append(rank.scope(work, given.seconds))
                if rank.rank == 0:
                    say(f"scope {index}, {schedule}, {name}", found[name][-1], time.perf_counter() - began)
            if rank.rank == 0:  # what follows may not come to its end
                write_whole(given.rows, json.dumps(rows + rows_of_scopes.rows_of(given, schedule, found)))
            if rank.slowest([time.perf_counter() - rank.began])[0] > given.limit - MARGIN_S:
                break
        rows += rows_of_scopes.rows_of(given, schedule, found)
    rank.dist.barrier()
    rank.dist.destroy_process_group()


def size_of(given):
    of_trainers = set(given.schedules) <= set(trainers.SCHEDULES)
    return SIZES[given.size] | ({"rows": ROWS_OF_TRAINERS[given.size]} if of_trainers else {})


def refuse(given, size):
    for schedule in given.schedules:
        per_rank = torch_schedules.SCHEDULES.get(schedule, (None, 1))[1]
        if size["layers"] % (given.ranks * per_rank):
            raise NotRun(
                f"{size['layers']} layers cannot be shared out over {given.ranks} ranks in schedule {schedule}"
            )


def measure(
    build,
    ranks: at_least(2) = 2,
    size: one_of(SIZES) = "bf16",
    schedules: all_of(",", (*TORCHS, *trainers.SCHEDULES)) = TORCHS,
    work: listed("+") = ("observe", "compute", "streaming", "mlp"),
    scopes: at_least(2) = 12,
    seconds=0.0,
    reserved_groups=0,
    min_bubble=0,
    straggler=0.0,
    limit=570.0,
    rows="",
):
    given = types.SimpleNamespace(**locals())
    size = size_of(given)
    refuse(given, size)
    if "RANK" in os.environ:
        options = {"reserved_groups": reserved_groups} if reserved_groups else {}
        options |= {"tuning": lull.Tuning(min_bubble=min_bubble / 1e6)} if min_bubble else {}
        rank_main(given, Rank(size, straggler, options))
        return None
    with tempfile.TemporaryDirectory(prefix="lull-") as folder:
        file = pathlib.Path(folder, "rows.json")
        code = torch_schedules.launch([*sys.argv, "--rows", str(file)], count=ranks, limit=limit)
        if not file.exists():
            raise NotRun(f"exit {code}")
        found = {"size": size, "rows": json.loads(file.read_text(encoding="utf-8"))}
    return found | ({"failures": [f"exit {code}: only the schedules before that are in the record"]} if code else {})
