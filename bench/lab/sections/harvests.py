# SPDX-License-Identifier: Apache-2.0
"""Sections about what the bubbles of a schedule that `lull harvest` replays bring. n is `training.pairs` of a report,
its interval `training.ci95_pct`."""

import json
import pathlib
import sys
import tempfile

from lab import ROOT
from lab.process import run_lull
from lab.record import paired
from lab.section import section

sys.path.append(f"{ROOT}/scripts")
import draw_timeline  # noqa: E402

# Forward times that make the longest bubble of 1F1B, stage 0 of 4 with 8 micro-batches, about as long as named: after
# its warm-up stage 0 waits 6 forward times for its first backward.
SEGMENT = {"10ms": "1667us", "1ms": "167us", "200us": "33us", "100us": "17us", "50us": "8us"}
TASKS = {
    "pagerank": "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30",
    "mlp": "mlp:hidden=1024,batch=512,epochs=1000",
    "product": "product:rows=1024,columns=1024,depth=1024,count=64,rounds=2000",
    "compute": "compute:rounds=5000",
    "streaming": "streaming:rounds=3000",
}
LEAVES = {"handed back": "", "saved": ",leave=saved", "drained": ",leave=behind"}


def in_bubbles(build, longest, words, tasks, limit):
    """A harvest's row."""
    arguments = "harvest --executor cuda --schedule 1f1b --stages 4 --microbatches 8 --stage 0 --segment".split()
    arguments += [SEGMENT[longest], *words.split(), *(word for task in tasks for word in ("--task", task))]
    return paired(["lull", *arguments], *(run_lull(build, arguments, limit) for _ in range(2)))


@section("harvest", None, seconds=112)
def harvest(build):
    """PageRank in bubbles of three lengths, and always on."""
    rows = []
    for longest in ("10ms", "1ms", "100us"):
        for mode in ("lull", "naive"):
            row = in_bubbles(build, longest, f"--mode {mode} --pairs 5", [TASKS["pagerank"]], 200)
            rows.append({"longest_bubble": longest, "mode": mode, **row})
    return rows


@section("lengths", None, seconds=110, each=TASKS)
def lengths(build, task):
    """A task in bubbles of five lengths, with options as they are: whether what it costs is worth it, and what the cap
    makes of it. Each run begins without knowledge of the task."""
    rows = []
    for longest, iterations in {"10ms": 60, "1ms": 150, "200us": 500, "100us": 800, "50us": 1_000}.items():
        row = in_bubbles(build, longest, f"--mode lull --pairs 5 --iterations {iterations}", [TASKS[task]], 200)
        rows.append({"longest_bubble": longest, **row})
    return rows


@section("timeline", None, seconds=40)
def timeline(build):
    """PageRank in a replayed stage, and the iteration of it that README's picture shows."""
    words = ["harvest", "--task", TASKS["pagerank"]]
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "harvest.trace.json"
        runs = [run_lull(build, [*words, "--trace", str(trace)], 200) for _ in range(2)]
        row = paired(["lull", *words], *runs)
        if report := runs[1].get("report"):
            row["drawn"] = draw_timeline.chosen(json.loads(trace.read_text(encoding="utf-8")), report)
        return [row]


@section("tasks", None, seconds=100)
def tasks(build):
    """Every task in the bubbles of one schedule, the longest about 1 ms."""
    return [
        {"task": name, **in_bubbles(build, "1ms", "--pairs 5 --iterations 100", [task], 100)}
        for name, task in TASKS.items()
    ]


@section("short_bubbles", None, seconds=100)
def short_bubbles(build):
    """Three ways to leave a tile where bubbles are hardly longer than one: a tile of depth 4,096 takes 50 us."""
    rows = []
    for longest in ("50us", "100us", "200us"):
        for how, leave in LEAVES.items():
            task = f"product:rows=4096,columns=4096,depth=4096,rounds=3000{leave}"
            row = in_bubbles(build, longest, "--pairs 3 --iterations 60", [task], 60)
            rows.append({"longest_bubble": longest, "how": how, **row})
    return rows


@section("pictures", None, seconds=60)
def pictures(build):
    """Pictures of a folder in the bubbles, and the task that takes over where none is decoded yet."""
    folder = pathlib.Path(f"{build}/pictures")
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for i in range(300):
        (folder / "in" / f"{i:03}.png").write_bytes((ROOT / "data/chelsea.png").read_bytes())
    images, rows = f"images:in={folder}/in,out={folder}/out,width=1920,priority=1", []
    for beside in ([], [TASKS["compute"]]):
        row = in_bubbles(build, "1ms", "--pairs 3 --iterations 100", [images, *beside], 100)
        rows.append({"beside": beside, **row})
    return rows
