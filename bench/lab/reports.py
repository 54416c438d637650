# SPDX-License-Identifier: Apache-2.0
"""What bubble reports, and results of graphs' jobs, say of side work."""

import json
import re
import time

from lab import NotRun, lull, torch

ALONE_WARM_UP, ALONE, ALONE_MS = 10, 12, 12  # long bubbles; leases of workers launched at open grow with the first ones
_NONE = re.compile(r"^no bubble closed while it ran$", re.MULTILINE)
_SOME = re.compile(
    r"^(\d+) bubbles closed while it ran, and waited at most for what was under way: "
    r"p50 ([\d.]+) us, p99 ([\d.]+) us, max ([\d.]+) us;",
    re.MULTILINE,
)


def report_of(side):
    time.sleep(0.1)  # until all records are read
    return json.loads(side.report("json"))


def sites_of(report):
    """Those of training, and the one of long bubbles without it, or None."""
    sites = [site for gate in report["gates"] for site in gate["sites"]]
    long = next((site for site in sites if site["site"] == "alone"), None)
    return [site for site in sites if site["site"] != "alone"], long


def work_of(report, *keys):
    """Sums over training's sites of what side work did there."""
    work = [site["side_work"] for site in sites_of(report)[0] if site["side_work"]]
    return {key: sum(each[key] for each in work) for key in keys}


def harvested(report):
    """Of training's bubbles."""
    return {
        "bubbles_told": sum(site["bubbles"] for site in sites_of(report)[0]),
        **work_of(report, "items", "lease_exits"),
    }


def more(before, after):
    return {key: after[key] - before[key] for key in after}


def harvested_between(before, after):
    return more(harvested(before), harvested(after))


def waited(before, after):
    """How long workers stood on the device before training's bubbles opened between two reports, a bubble."""
    told = more(*(work_of(report, "bubbles", "waited_ms") for report in (before, after)))
    return {"waited_ms_a_bubble": told["waited_ms"] / told["bubbles"]} if told["bubbles"] else {}


def speed_alone(before, after):
    """Items a millisecond in the long bubbles between two reports; None where there were none, or leases cut them."""
    sites = [sites_of(report)[1] for report in (before, after)]
    if not all(site and site["side_work"] for site in sites):
        return None
    items, leases = (sites[1]["side_work"][key] - sites[0]["side_work"][key] for key in ("items", "lease_exits"))
    return items / (sites[1]["total_ms"] - sites[0]["total_ms"]) if items > 0 and leases == 0 else None


def long_bubbles(trainer, side, count):
    """The report after so many of them, one by one: what a site learns from a bubble is for the next."""
    for _ in range(count):
        with lull.bubble("alone"):
            trainer.wait(ALONE_MS)
        torch.cuda.synchronize()
        time.sleep(0.004)
    return report_of(side)


def speed_in_long_bubbles(trainer, side):
    """Items a millisecond, and the last report."""
    reports = [long_bubbles(trainer, side, count) for count in (ALONE_WARM_UP, ALONE)]
    return speed_alone(*reports), reports[1]


def refuse_if_ended(side):
    """What had no job left did less than it could have."""
    states = [job.state for job in side.jobs]
    if "failed" in states or not any(state in ("queued", "placed") for state in states):
        raise NotRun(f"the jobs ended before the measurement did: {', '.join(states)}; give more in work.py")


def nodes_and_segments(result):
    """How a graph was cut."""
    return tuple(map(int, re.match(r"(\d+) nodes in (\d+) segments", result).groups()))


def closed_pieces(result):
    """How many bubbles closed on a piece, and how long these pieces take where no training runs beside them, in µs.
    Raises ValueError for a text that says neither that nor that there were none."""
    if found := _SOME.search(result):
        count, *times = found.groups()
        return {"count": int(count), **dict(zip(("p50", "p99", "max"), map(float, times)))}
    if _NONE.search(result):
        return {"count": 0}
    raise ValueError(f"the job's result does not say what bubbles closed on: {result!r}")
