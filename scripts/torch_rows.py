# SPDX-License-Identifier: Apache-2.0
"""What measure_torch.py makes of its scopes: a record's rows, and its name."""

import pathlib
import statistics
import sys

import measured
from measure_stage import sites_of, slowdown


def says_something(rank):
    """Side work did run, and nothing differs; all that is no number would be alike."""
    return rank["equal"] and rank["finite"] and rank["mode"] == "on" and rank["launches"] > 0


def between(before, after):
    """Of training's bubbles between two reports; the sites are those of the whole scope."""
    sites = [sites_of(report)[0] for report in (before, after)]
    bubbles, idle_ms = (
        sum(s[key] for s in sites[1]) - sum(s[key] for s in sites[0]) for key in ("bubbles", "total_ms")
    )
    leases = [sum(s["side_work"]["lease_exits"] for s in each if s["side_work"]) for each in sites]
    return {
        "bubbles": bubbles,
        "idle_ms": idle_ms,
        "lease_exits": leases[1] - leases[0],
        "sites": {site["site"]: [site["bubbles"], site["p50_us"], site["p99_us"]] for site in sites[1]},
    }


def over_ranks(ranks, steps):
    found = {"steps": steps, "idle_ms": sum(each["idle_ms"] for each in ranks)}
    if "done" in ranks[0]:
        found["lease_exits"] = sum(each["lease_exits"] for each in ranks)
        with_harvest(found, ranks, [each["done_per_ms_alone"] for each in ranks])
    return found


def with_harvest(scope, ranks, speeds):
    """How long the work would take by itself at these speeds; none without one of them."""
    if all(speeds):
        scope["work_ms"] = sum(each["done"] / speed for each, speed in zip(ranks, speeds))
        scope["harvest"] = scope["work_ms"] / scope["idle_ms"]


def usual_speeds(scopes):
    """Of each rank the median of its scopes: in one of them leases may have cut the long bubbles."""
    told = [[each["done_per_ms_alone"] for each in ranks] for ranks in zip(*(one["ranks"] for one in scopes))]
    known = [[speed for speed in speeds if speed] for speeds in told]
    return [statistics.median(speeds) if speeds else None for speeds in known]


def summed_up(scopes):
    """Of one half of a row's scopes: the interval is of their mean."""
    plain, lull = ([one[key] for one in scopes] for key in ("step_ms_none", "step_ms_worker"))
    row = {"scopes": len(scopes), "step_ms_none": sum(plain) / len(plain), **slowdown(plain, lull)}
    row["worst_slowdown_percent"] = max(one["slowdown_percent"] for one in scopes)
    gpu_ms = sum(one["steps"] * one["step_ms_none"] * len(one["ranks"]) for one in scopes)
    row["idle_share"] = sum(one["idle_ms"] for one in scopes) / gpu_ms
    ranks = [rank for one in scopes for rank in one["ranks"]]
    opened = sum(rank["counts"]["opened"] for rank in ranks)
    row["known_share"] = sum(rank["bubbles"] for rank in ranks) / opened if opened else None
    if "lease_exits" in scopes[0]:
        row["lease_exits"] = sum(one["lease_exits"] for one in scopes)
    if all("work_ms" in one for one in scopes):
        work_ms = sum(one["work_ms"] for one in scopes)
        row["harvest"] = work_ms / sum(one["idle_ms"] for one in scopes)
        row["least_harvest"] = min(one["harvest"] for one in scopes)
        row["saved_percent"] = 100 * work_ms / gpu_ms - row["slowdown_percent"]
    row["ranks"] = scopes[-1]["ranks"]  # of the last one
    return row


def row_of(given, schedule, name, scopes):
    command = [pathlib.Path(sys.argv[0]).name, "--size", given.size, "--schedules", schedule, "--work", name]
    command += ["--straggler", str(given.straggler)] if given.straggler else []
    command += ["--rooms", str(given.rooms)] if given.rooms else []
    command += ["--min-bubble", str(given.min_bubble)] if given.min_bubble else []
    row = {"schedule": schedule, "work": name, "rank_count": given.ranks, "straggler_ms": given.straggler}
    row |= {"rooms": given.rooms} if given.rooms else {}
    if name == "equal":
        return {**row, **measured.once(command, scopes[0])}
    if "done" in scopes[0]["ranks"][0]:
        usual = usual_speeds(scopes)
        for one in scopes:
            own = [each["done_per_ms_alone"] for each in one["ranks"]]
            with_harvest(one, one["ranks"], [speed or other for speed, other in zip(own, usual)])
    halves = [measured.alone_with_bounds(summed_up(scopes[half::2] or scopes)) for half in (0, 1)]
    spread = {"first": halves[0][1], "second": halves[1][1]}
    return {**row, **measured.paired(command, halves[0][0], halves[1][0], interval=spread)}


def rows_of(given, schedule, found):
    """Of the works that have scopes enough for two halves."""
    enough = {name: scopes for name, scopes in found.items() if len(scopes) >= (1 if name == "equal" else 2)}
    return [row_of(given, schedule, name, scopes) for name, scopes in enough.items()]


def section_of(trained, given, schedules):
    """What is not as usual is in the name: so the records of one schedule after the other stay beside each other."""
    parts = [trained, given.size]
    parts += [f"{given.ranks}_ranks"] if given.ranks != 2 else []
    parts += given.schedules if given.schedules != list(schedules) else []
    parts += ["straggler"] if given.straggler else []
    parts += [f"{given.min_bubble}us"] if given.min_bubble else []
    return "_".join(parts)
