# SPDX-License-Identifier: Apache-2.0
"""Sections of record.py about what the bubbles of a replayed schedule bring: a function a section."""

import pathlib

from measured import lull, paired

HARVEST = [(longest, mode) for longest in ("10ms", "1ms", "100us") for mode in ("lull", "naive")]


# Forward times that make the longest bubble of 1F1B, stage 0 of 4 with 8 micro-batches, about as long as named: after
# its warm-up stage 0 waits 6 forward times for its first backward.
SEGMENT = {"10ms": "1667us", "1ms": "167us", "200us": "33us", "100us": "17us", "50us": "8us"}


def in_bubbles(longest, *more):
    """A harvest's arguments."""
    return [
        "harvest",
        "--executor",
        "cuda",
        "--schedule",
        "1f1b",
        "--stages",
        "4",
        "--microbatches",
        "8",
        "--stage",
        "0",
        "--segment",
        SEGMENT[longest],
        *more,
    ]


def harvest(build):
    """n is `training.pairs` of a report, its interval `training.ci95_pct`."""
    rows = []
    for longest, mode in HARVEST:
        arguments = in_bubbles(
            longest, "--mode", mode, "--pairs", "5", "--task", "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30"
        )
        first, second = lull(build, arguments, 200), lull(build, arguments, 200)
        rows.append({"longest_bubble": longest, "mode": mode, **paired(["lull", *arguments], first, second)})
    return rows


TASKS = {
    "pagerank": "pagerank:kronecker=22,sweeps=2000,tolerance=1e-30",
    "mlp": "mlp:hidden=1024,batch=512,epochs=1000",
    "product": "product:rows=1024,columns=1024,depth=1024,count=64,rounds=2000",
    "compute": "compute:rounds=5000",
    "streaming": "streaming:rounds=3000",
}


def tasks(build):
    """Every task in the bubbles of one schedule, the longest about 1 ms; n and interval as in `harvest`."""
    rows = []
    for name, task in TASKS.items():
        arguments = in_bubbles("1ms", "--pairs", "5", "--iterations", "100", "--task", task)
        first, second = lull(build, arguments, 100), lull(build, arguments, 100)
        rows.append({"task": name, **paired(["lull", *arguments], first, second)})
    return rows


SHORT = {
    "handed back": "product:rows=4096,columns=4096,depth=4096,rounds=3000",
    "saved": "product:rows=4096,columns=4096,depth=4096,rounds=3000,leave=saved",
    "drained": "product:rows=4096,columns=4096,depth=4096,rounds=3000,leave=behind",
}


def short_bubbles(build):
    """Three ways to leave a tile where bubbles are hardly longer than one: a tile of depth 4,096 takes 50 us; n and
    interval as in `harvest`."""
    rows = []
    for longest in ("50us", "100us", "200us"):
        for how, task in SHORT.items():
            arguments = in_bubbles(longest, "--pairs", "3", "--iterations", "60", "--task", task)
            first, second = lull(build, arguments, 60), lull(build, arguments, 60)
            rows.append({"longest_bubble": longest, "how": how, **paired(["lull", *arguments], first, second)})
    return rows


def pictures(build):
    """Pictures of a folder in the bubbles, and the task that takes over where none is decoded yet; n and interval as
    in `harvest`."""
    folder = pathlib.Path(f"{build}/pictures")
    (folder / "in").mkdir(parents=True, exist_ok=True)
    photograph = pathlib.Path(__file__).parent.parent / "data" / "chelsea.png"
    for i in range(300):
        (folder / "in" / f"{i:03}.png").write_bytes(photograph.read_bytes())
    rows = []
    for beside in ([], ["--task", TASKS["compute"]]):
        arguments = in_bubbles(
            "1ms",
            "--pairs",
            "3",
            "--iterations",
            "100",
            "--task",
            f"images:in={folder}/in,out={folder}/out,width=1920,priority=1",
            *beside,
        )
        first, second = lull(build, arguments, 100), lull(build, arguments, 100)
        rows.append({"beside": beside[1:], **paired(["lull", *arguments], first, second)})
    return rows
