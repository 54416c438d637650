# SPDX-License-Identifier: Apache-2.0
"""The laboratory's pipelines over gloo, with bubbles of CPU threads: that it comes to its end, and that its figures fit
together. Their values mean nothing. Exit code 77: there is no torch here."""

import json
import math
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / folder) for folder in ("bench", "apps/python", "tests/apps/python")]

import gloo_ranks  # noqa: E402
import lull  # noqa: E402
from lab import __main__ as command_line  # noqa: E402
from lab.pipelines import rank, rows, schedules  # noqa: E402
from lab.programs import pipeline  # noqa: E402

SKIPPED = 77
SIZES = {
    "small": {"width": 32, "layers": 4, "rows": 8, "microbatches": 4},
    "gpt": {"width": 128, "layers": 4, "rows": 1, "tokens": 8, "microbatches": 4},
}


class Mark:
    def __init__(self):
        self._at = time.perf_counter()

    def elapsed_time(self, other):
        return 1e3 * (other._at - self._at)


class GlooRank(rank.Rank):
    def set_up(self):
        import torch

        self.device = torch.device("cpu")
        torch.set_num_threads(1)
        self.dist.init_process_group("gloo")
        self._stream, _ = gloo_ranks.take_for_cuda(torch)
        torch.cuda.synchronize = self.synchronize
        lull.session.pointer_of = lambda stream: self._stream.__index__()
        for name in ("harvest", "observe"):
            made = getattr(lull, name)
            setattr(lull, name, lambda *tasks, made=made, **more: made(*tasks, executor="threads", **more))

    def synchronize(self):
        self._stream.synchronize()

    def wait(self, ms):
        self._stream.sleep(ms / 1e3)

    def mark(self):
        self.synchronize()
        return Mark()


def opened_of(half):
    return sum(rank["counts"]["opened"] for rank in half["ranks"])


def problems_of(row):
    if row["work"] == "equal":
        return [] if row["first"]["equal"] else ["losses or weights differ"]
    found = []
    for half in (row["first"], row["second"]):
        if half["scopes"] != 1 or len(half["ranks"]) != 2 or not math.isfinite(half["slowdown_percent"]):
            found.append("it has not one scope of two ranks")
        if any(rank["bubbles"] <= 0 or not 0 < rank["idle_ms"] for rank in half["ranks"]) or half["idle_share"] <= 0:
            found.append("a rank had no bubbles")
        if half["known_share"] != sum(rank["bubbles"] for rank in half["ranks"]) / opened_of(half):
            found.append("bubbles whose length is not known are not told")
        if row["work"] != "observe":
            work_ms = sum(rank["done"] / rank["done_per_ms_alone"] for rank in half["ranks"])
            gpu_ms = sum(rank["idle_ms"] for rank in half["ranks"]) / half["idle_share"]
            if not math.isclose(half["harvest"], work_ms / (gpu_ms * half["idle_share"])) or work_ms <= 0:
                found.append("the harvest is not what was done")
            if not math.isclose(half["saved_percent"], 100 * work_ms / gpu_ms - half["slowdown_percent"]):
                found.append("what is saved is not what was done without what was lost")
    return found


def speeds_test():
    """A speed that is missing in one scope is that of the others; the rest keep their own."""
    scopes = [{"idle_ms": 10, "ranks": [{"done": 60, "done_per_ms_alone": speed}]} for speed in (10, None, 20)]
    usual = rows.usual_speeds(scopes)
    if usual != [15] or rows.usual_speeds(scopes[1:2]) != [None]:
        sys.exit(f"usual speeds: {usual}")
    rows.with_harvest(scopes[1], scopes[1]["ranks"], usual)
    if scopes[1].get("harvest") != 0.4 or "harvest" in scopes[0]:
        sys.exit(f"harvest: {scopes}")


def main():
    try:
        import torch  # noqa: F401
    except ImportError as why:
        print(f"not run: {why}")
        sys.exit(SKIPPED)
    speeds_test()
    pipeline.SIZES.update(SIZES)
    if "RANK" in os.environ:
        pipeline.Rank = GlooRank
        command_line.main(["pipeline", *sys.argv[1:]])
        return
    failed = []
    with tempfile.TemporaryDirectory(prefix="lull-") as folder:
        for size, chosen, straggler in (("small", "1f1b,zero_bubble", 0), ("gpt", "gpipe", 2)):
            options = ["--size", size, "--schedules", chosen, "--scopes", "2"]
            file = pathlib.Path(folder, f"{size}.json")
            options += ["--work", "observe+compute+equal", "--straggler", str(straggler), "--rows", str(file)]
            if schedules.launch([__file__, *options], limit=200) != 0:
                sys.exit(f"{size} failed")
            found = json.loads(file.read_text(encoding="utf-8"))
            if len(found) != 3 * len(chosen.split(",")):
                failed.append(f"{size}: {len(found)} rows")
            failed += [f"{size}, {row['schedule']}, {row['work']}: {why}" for row in found for why in problems_of(row)]
    sys.exit("\n".join(failed) if failed else 0)


if __name__ == "__main__":
    main()
