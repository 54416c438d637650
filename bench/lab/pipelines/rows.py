# SPDX-License-Identifier: Apache-2.0
"""What the program `pipeline` makes of its scopes: a record's rows."""

import statistics

from lab.numbers import slowdown
from lab.record import bounded, once
from lab.reports import sites_of, work_of


def says_something(rank):
    """Side work did run, and nothing differs; all that is no number would be alike."""
    return rank["equal"] and rank["finite"] and rank["mode"] == "on" and rank["launches"] > 0


def between(before, after):
    """Of training's bubbles between two reports; the sites are those of the whole scope."""
    was, now = (sites_of(report)[0] for report in (before, after))
    found = {
        name: sum(site[key] for site in now) - sum(site[key] for site in was)
        for name, key in (("bubbles", "bubbles"), ("idle_ms", "total_ms"))
    }
    leases = [work_of(report, "lease_exits")["lease_exits"] for report in (before, after)]
    sites = {site["site"]: [site["bubbles"], site["p50_us"], site["p99_us"]] for site in now}
    return {**found, "lease_exits": leases[1] - leases[0], "sites": sites}


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


def over_scopes(scopes):
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


def row_of(given, schedule, work, scopes):
    command = ["lab", "pipeline", "--size", given.size, "--schedules", schedule, "--work", work]
    for name in ("straggler", "reserved_groups", "min_bubble"):
        command += [f"--{name.replace('_', '-')}", str(getattr(given, name))] if getattr(given, name) else []
    row = {"schedule": schedule, "work": work, "rank_count": given.ranks, "straggler_ms": given.straggler}
    row |= {"reserved_groups": given.reserved_groups} if given.reserved_groups else {}
    if work == "equal":
        return {**row, **once(command, scopes[0])}
    if "done" in scopes[0]["ranks"][0]:
        usual = usual_speeds(scopes)
        for one in scopes:
            own = [each["done_per_ms_alone"] for each in one["ranks"]]
            with_harvest(one, one["ranks"], [speed or other for speed, other in zip(own, usual)])
    return {**row, **bounded(command, *(over_scopes(scopes[half::2] or scopes) for half in (0, 1)))}


def rows_of(given, schedule, found):
    """Of the works that have scopes enough for two halves."""
    enough = {work: scopes for work, scopes in found.items() if len(scopes) >= (1 if work == "equal" else 2)}
    return [row_of(given, schedule, work, scopes) for work, scopes in enough.items()]
