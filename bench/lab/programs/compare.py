# SPDX-License-Identifier: Apache-2.0
"""Lull and what else could run a captured PyTorch step beside training, in one process and by one trainer.

The trainer is the stage of the program `stage`, on a stream of high priority. Rows, a list with commas:

  nothing             the trainer against itself
  low_priority        replays without pause on a stream of the lowest priority
  host_gated_step     a host thread watches a word that the trainer's stream sets, and launches a step at a time
  host_gated_segment  … a segment at a time
  planned             at the opening, the segments that fit into the site's previous bubble, as PipeFill does
  green_split         replays without pause in a green context of some SMs (--green-sms); the trainer has all
  lull, lull_without_hint, lull_functor
  other_process       replays without pause in another process, time-sliced; mps: under MPS; xsched: under XSched

A scope measures one row, with groups of steps with and without side work by turns; rounds of all rows alternate. One
JSON object a scope on standard output, then one a row over its scopes; chapter 8 of docs/ says what is compared.
`plain_step_percent`: a step of the trainer in this row's scopes while their side work is not on, against one in those
of row nothing: threads, contexts and memory of a row's scope are there with side work and without.

  --server mps              this program as a client of a daemon that it starts and stops; rows: nothing, mps
  --xsched FOLDER           … of XSched, installed in that folder; rows: nothing, xsched
  --segment                 seconds, of Lull and of the others' cut"""

import json
import os
import statistics
import sys
import time
import types

from lab import on_gpu, torch
from lab.compare import servers
from lab.compare.rows import ROWS, Comparison
from lab.numbers import quantiles, slowdown
from lab.options import all_of, count, one_of
from lab.trainer import Size, stream_of
from lab.treatment import over_scopes

BEGAN = time.monotonic()
MEANS = ("wall_share", "memory_mib", "cpu_ms_a_step")


def say(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", file=sys.stderr, flush=True)


def printed(row):
    print(json.dumps(row), flush=True)


def scope_of(comparison, name):
    """One scope, and its drains apart; a row that fails says why."""
    try:
        found = {"row": name, **ROWS[name](comparison)}
    except Exception as why:  # the others go on
        say(f"{name}: not run: {why}")
        return {"row": name, "not_run": f"{type(why).__name__}: {why}"}, []
    drains = found.pop("drains_us", None) or []
    say(f"{name}: {found['slowdown_percent']:+.2f} %, of idle {found.get('harvest') or 0:.2f}")
    return found | {"drain_us": quantiles(drains)}, drains


def whole_row(name, scopes, drains):
    """Of all scopes that ran."""
    ran = [scope for scope in scopes if "not_run" not in scope]
    if not ran:
        return scopes[0]
    row = {"row": name, "scopes_run": len(ran), **over_scopes(ran), "drain_us": quantiles(drains)}
    row |= {key: statistics.fmean(scope[key] for scope in ran) for key in MEANS if all(key in one for one in ran)}
    if bound := bound_of(ran):
        row["drain_bound_us"] = bound
    if len(ran) < len(scopes):
        row["failed"] = scopes[-1]["not_run"]
    return row | {key: ran[0][key] for key in ("no_drain",) if key in ran[0]}


def bound_of(scopes):
    """Of several scopes' pieces that bubbles closed on; None where a scope has none told. A quantile of all is at most
    the greatest of the scopes' own."""
    bounds = [scope.get("drain_bound_us") for scope in scopes]
    if not bounds or None in bounds:
        return None
    times = [bound for bound in bounds if bound["count"]]
    greatest = {key: max(bound[key] for bound in times) for key in ("p50", "p99", "max")} if times else {}
    return {"count": sum(bound["count"] for bound in bounds), **greatest}


def plain_steps(row, nothing):
    """For two rows whose scopes alternated."""
    pairs = list(zip(nothing.get("scopes", ()), row.get("scopes", ())))
    if row is nothing or not pairs:
        return {}
    times = ([scope["step_ms_none"] for scope in scopes] for scopes in zip(*pairs))
    return slowdown(*times, name="plain_step_percent")


def compare(given):
    say("makes the trainer and the side step")
    comparison = Comparison(given)
    say(f"{given.model}: {comparison.plain_ms:.2f} ms a step, {comparison.step_mib:.0f} MiB of weights")
    say(f"a step of the trainer is idle for {comparison.trainer.idle_ms:.1f} ms")
    scopes, drains = {name: [] for name in given.rows}, {name: [] for name in given.rows}
    try:
        for index in range(given.rounds):
            for name in given.rows:
                if any("not_run" in scope for scope in scopes[name]):
                    continue
                scope, its_drains = scope_of(comparison, name)
                scopes[name].append(scope)
                drains[name] += its_drains
                printed({"scope": index, **scope})
    finally:
        comparison.close()
    rows = [whole_row(name, scopes[name], drains[name]) for name in given.rows]
    nothing = next((row for row in rows if row["row"] == "nothing"), {})
    for row in rows:
        printed({"rounds": given.rounds, **row, **plain_steps(row, nothing)})


def measure(
    build,
    model="resnet18",
    rows: all_of(",", ROWS) = None,
    rounds: count = 1,
    seconds=2.5,
    segment=1e-4,
    reserved_groups: int = None,
    green_sms=32,
    stream: one_of(("high", "own", "legacy")) = "high",
    server: one_of(servers.SERVERS) = None,
    mps_percent=25,
    xsched: os.path.abspath = None,
    limit: count = 480,
    size=Size(),
):
    server = server or ("xsched" if xsched else None)
    given = types.SimpleNamespace(**locals())
    given.rows = rows or (["nothing", server] if server else list(ROWS))
    if server and os.environ.get(servers.UNDER) != server:
        try:
            sys.exit(servers.again_under(given))
        except Exception as why:
            return printed({"row": server, "not_run": f"{type(why).__name__}: {why}"})
    on_gpu(limit)
    with torch.cuda.stream(stream_of(stream)):
        compare(given)
