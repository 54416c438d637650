#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Lull with what else could run a captured PyTorch step beside training, in one process and by one trainer.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/compare_side_work.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --model resnet18 --rounds 3 --table out/compare.md
    … --mps              the row of MPS: the same program as a client of a daemon that it starts and stops
    … --xsched DIR       the row of XSched, installed there

The trainer is that of measure_stage.py, on a stream of high priority. Rows:

  nothing             the trainer against itself
  low_priority        replays without pause on a stream of the lowest priority
  host_gated_step     a host thread watches a word that the trainer's stream sets, and launches a step at a time
  host_gated_segment  … a segment at a time
  planned             at the opening, the segments that fit into the site's previous bubble, as PipeFill does
  green_split         replays without pause in a green context of some SMs; the trainer has all
  lull, lull_without_hint, lull_functor
  other_process       replays without pause in another process, time-sliced; mps: under MPS; xsched: under XSched

A scope measures one row, with groups of steps with and without side work by turns; rounds of all rows alternate. One
JSON object a scope on standard output, then one a row over its scopes; the table on standard error."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
import time

from compared_table import bound_of, plain_steps, quantiles, table
from side_process import SERVERS, again_under, serve

BEGAN = time.monotonic()
ROW_NAMES = (
    *("nothing", "low_priority", "host_gated_step", "host_gated_segment", "planned", "green_split"),
    *("lull", "lull_without_hint", "lull_functor", "other_process", "mps", "xsched"),
)
MEANS = ("wall_share", "memory_mib", "cpu_ms_a_step")


def say(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", file=sys.stderr, flush=True)


def printed(row):
    print(json.dumps(row), flush=True)


def scope_of(comparison, rows, name):
    """One scope, and its drains apart; a row that fails says why."""
    try:
        found = {"row": name, **rows[name](comparison)}
    except Exception as why:  # the others go on
        say(f"{name}: not run: {why}")
        return {"row": name, "not_run": f"{type(why).__name__}: {why}"}, []
    drains = found.pop("drains_us", None) or []
    say(f"{name}: {found['slowdown_percent']:+.2f} %, of idle {found.get('harvest') or 0:.2f}")
    return found | {"drain_us": quantiles(drains)}, drains


def whole_row(name, scopes, drains, summed_up):
    """Of all scopes that ran."""
    ran = [scope for scope in scopes if "not_run" not in scope]
    if not ran:
        return scopes[0]
    row = {"row": name, "scopes_run": len(ran), **summed_up(ran), "drain_us": quantiles(drains)}
    row |= {key: statistics.fmean(scope[key] for scope in ran) for key in MEANS if all(key in one for one in ran)}
    if bound := bound_of(ran):
        row["drain_bound_us"] = bound
    if len(ran) < len(scopes):
        row["failed"] = scopes[-1]["not_run"]
    return row | {key: ran[0][key] for key in ("no_drain",) if key in ran[0]}


def measure(given):
    from measure_stage import slowdown, summed_up
    from side_rows import ROWS, Comparison

    say("makes the trainer and the side step")
    comparison = Comparison(given)
    title = f"Side step: {given.model}, {comparison.plain_ms:.2f} ms; {comparison.step_mib:.0f} MiB of weights"
    say(f"{title}; a step of the trainer is idle for {comparison.trainer.idle_ms:.1f} ms")
    scopes, drains = {name: [] for name in given.rows}, {name: [] for name in given.rows}
    try:
        for index in range(given.rounds):
            for name in given.rows:
                if any("not_run" in scope for scope in scopes[name]):
                    continue
                scope, its_drains = scope_of(comparison, ROWS, name)
                scopes[name].append(scope)
                drains[name] += its_drains
                printed({"scope": index, **scope})
    finally:
        comparison.close()
    rows = [whole_row(name, scopes[name], drains[name], summed_up) for name in given.rows]
    nothing = next((row for row in rows if row["row"] == "nothing"), {})
    rows = [row | plain_steps(row, nothing, slowdown) for row in rows]
    for row in rows:
        printed({"rounds": given.rounds, **row})
    say_table(rows, given, title)


def say_table(rows, given, title):
    text = table(rows, title)
    print(f"\n{text}", file=sys.stderr, flush=True)
    if given.table:
        path = pathlib.Path(given.table)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", help="bench/libstage_wait.so")
    parser.add_argument("--runner", help="bench/libside_runner.so; default: beside that of --wait")
    parser.add_argument("--model", default="resnet18", help="resnet18, resnet50, vgg19 or bert")
    parser.add_argument("--rows", help=f"list with commas; default: {', '.join(ROW_NAMES)}")
    parser.add_argument("--rounds", type=int, default=1, help="scopes a row")
    parser.add_argument("--seconds", type=float, default=2.5, help="of training in a scope")
    parser.add_argument("--segment", type=float, default=1e-4, help="seconds; of Lull, and of the others' cut")
    parser.add_argument("--segments", type=int, default=0, help="of the host's rows; 0: cut as Lull cuts")
    parser.add_argument("--rooms", type=int, help="groups of SMs that Lull's workers keep off; default: Lull chooses")
    parser.add_argument("--green-sms", type=int, default=32, help="of the green context")
    parser.add_argument("--stream", choices=("high", "own", "legacy"), default="high", help="of the trainer")
    parser.add_argument("--mps", action="store_true", help="run as clients of an MPS daemon; rows: nothing, mps")
    parser.add_argument("--mps-percent", type=int, default=25, help="active threads of the side process")
    parser.add_argument("--xsched", metavar="DIR", help="run under XSched, installed in DIR; rows: nothing, xsched")
    parser.add_argument("--table", metavar="FILE", help="write the table there, too")
    parser.add_argument("--limit", type=int, default=480, help="seconds after which the process ends")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--under", choices=SERVERS, help=argparse.SUPPRESS)
    for name, value in (("layers", 6), ("batch", 3), ("tokens", 1024), ("width", 2048)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{name} of the trainer's stage")
    given = parser.parse_args(arguments)
    given.xsched = given.xsched and os.path.abspath(given.xsched)
    if given.rounds < 1 or given.limit < 1 or given.segments < 0 or given.segments == 1:
        parser.error("rounds and limit are at least 1; segments is 0 or at least 2")
    if given.mps and given.xsched:
        parser.error("--mps and --xsched are separate runs")
    if not given.child and not given.wait:
        parser.error("--wait is needed")
    if not given.child:
        given.runner = given.runner or pathlib.Path(given.wait).with_name("libside_runner.so")
        server = "mps" if given.mps else "xsched" if given.xsched else None
        given.rows = given.rows.split(",") if given.rows else ["nothing", server] if server else list(ROW_NAMES)
        if unknown := set(given.rows) - set(ROW_NAMES):
            parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    return given


def main():
    given = parse(None)
    server = "mps" if given.mps else "xsched" if given.xsched else None
    if server and not (given.under or given.child):
        try:
            sys.exit(again_under(server, given, sys.argv))
        except Exception as why:
            row = {"row": server, "not_run": f"{type(why).__name__}: {why}"}
            printed(row)
            say_table([row], given, f"Side step: {given.model}")
            return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process where the interpreter waits for a GPU that hangs
    signal.alarm(given.limit)
    if given.child:
        serve(given.model)
        return
    try:
        import torch
    except ImportError as why:
        sys.exit(f"compare_side_work.py: NOT RUN: {why}")
    if not torch.cuda.is_available():
        sys.exit("compare_side_work.py: NOT RUN: torch finds no GPU")
    with torch.cuda.stream(stream_of(torch, given.stream)):
        measure(given)


def stream_of(torch, kind):
    """The trainer's. By default a stream has the lowest priority: nothing could be below it."""
    if kind == "legacy":
        return torch.cuda.default_stream()
    return torch.cuda.Stream(priority=torch.cuda.Stream.priority_range()[1] if kind == "high" else 0)


if __name__ == "__main__":
    main()
