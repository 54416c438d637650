#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what harvesting costs a step of a real PyTorch stage on one GPU, and what it brings, scope after scope in
one process.

    LULL_LIBRARY=build/gpu/apps/c/liblull.so PYTHONPATH=apps/python python3 scripts/measure_stage.py \\
        --wait build/gpu/bin/bench/libstage_wait.so --connections 8 --tasks compute --foreign on

A GPT stage (bf16, SDPA, fused AdamW) trains as stage 0 of 4 in 1F1B with 8 micro-batches. Where it would wait for a
peer it waits by the clock on the wall, inside a bubble. A scope is one `with lull.harvest(…)`. In each, groups of
steps with bubbles and without take turns (ABBA); a slowdown is the mean of the pairs' log ratios with its 95 %
interval. One scope says nothing: whether a worker that waits on the device slows the trainer differs from scope to
scope. `harvest` is items done in bubbles against items that the task does in as much time of long bubbles without
training, on the SMs that workers may use. One JSON object on standard output."""

import argparse
import json
import math
import os
import signal
import statistics
import sys
import time

from stage_trainer import GROUP, WAIT, Trainer, no_bubble

TASKS = {  # none of them ends within a scope of this script
    "compute": "compute:items=65536,rounds=1000000000",
    "streaming": "streaming:items=16384,rounds=32768",
    "mlp": "mlp:hidden=1024,batch=512,epochs=100000",
    "pagerank": "pagerank:kronecker=22,sweeps=1000000,tolerance=1e-30",
    "product": "product:rows=4096,columns=4096,depth=4096,rounds=1000000000",
}
JOBS = {"streaming": 8}  # of a task, in turn where a scope is longer: a job has at most 32,768 rounds
WARM_UP = 2  # groups, each after one without bubbles: a trainer's pauses are known, too
QUARTETS = 3  # of groups, with and without, at a time
ALONE_WARM_UP, ALONE, ALONE_MS = 10, 12, 12  # long bubbles; leases of workers launched at open grow with the first ones
NOT_ARMED = "default"  # --armed-ahead: Lull chooses


def student_t975(degrees):
    """Below which Student's distribution has 97.5 % of its mass: exactly for 1 and 2 degrees of freedom, and from 3 up
    by Fisher's expansion, within 1 %."""
    if degrees <= 2:
        return {1: math.tan(0.475 * math.pi), 2: 0.95 / math.sqrt(2 * 0.975 * 0.025)}[degrees]
    z = 1.959964
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def interval(logs):
    """Mean and half-width of its 95 % interval; infinite for one."""
    if len(logs) < 2:
        return logs[0], math.inf
    return statistics.fmean(logs), student_t975(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))


def slowdown(plain, lull, name="slowdown_percent"):
    """Of times in pairs."""
    mean, half = interval([math.log(one / other) for one, other in zip(lull, plain)])
    found = {name: 100 * math.expm1(mean)}
    if math.isfinite(half):
        found |= {f"{name}_low": 100 * math.expm1(mean - half), f"{name}_high": 100 * math.expm1(mean + half)}
    return found


def sites_of(report):
    """Those of training, and the one of long bubbles without it, or None."""
    sites = [site for gate in report["gates"] for site in gate["sites"]]
    return [site for site in sites if site["site"] != "alone"], next(
        (site for site in sites if site["site"] == "alone"), None
    )


def speed_alone(before, after):
    """Items a millisecond in the long bubbles between two reports; None where there were none, or leases cut them."""
    sites = [sites_of(report)[1] for report in (before, after)]
    if not all(site and site["side_work"] for site in sites):
        return None
    items, leases = (sites[1]["side_work"][key] - sites[0]["side_work"][key] for key in ("items", "lease_exits"))
    return items / (sites[1]["total_ms"] - sites[0]["total_ms"]) if items > 0 and leases == 0 else None


def harvested(report, asked_ms, speed):
    """What was done in so many milliseconds of training's bubbles, and against what the task does in as many alone."""
    sites = sites_of(report)[0]
    work = [site["side_work"] for site in sites if site["side_work"]]
    found = {
        "bubbles_told": sum(site["bubbles"] for site in sites),
        "idle_ms": asked_ms,
        "items": sum(each["items"] for each in work),
        "lease_exits": sum(each["lease_exits"] for each in work),
    }
    return found | ({"harvest": found["items"] / speed / asked_ms} if speed else {})


def harvested_between(before, after):
    """What two reports say of training's bubbles between them, as differences."""
    was, now = (harvested(report, 0, None) for report in (before, after))
    return {key: now[key] - was[key] for key in ("bubbles_told", "items", "lease_exits")}


def waited(before, after):
    """How long workers stood on the device before training's bubbles opened between two reports, a bubble."""
    work = [[site["side_work"] for site in sites_of(report)[0] if site["side_work"]] for report in (before, after)]
    bubbles, ms = (
        sum(each[key] for each in work[1]) - sum(each[key] for each in work[0]) for key in ("bubbles", "waited_ms")
    )
    return {"waited_ms_a_bubble": ms / bubbles} if bubbles else {}


def summed_up(scopes):
    """Over scopes: the interval is of their mean; `worst` is the slowest of them with its own."""
    row = slowdown([one["step_ms_none"] for one in scopes], [one["step_ms_worker"] for one in scopes])
    worst = max(scopes, key=lambda one: one["slowdown_percent"])
    row |= {f"worst_{key}": worst[key] for key in worst if key.startswith("slowdown_percent")}
    row["step_ms_none"] = statistics.fmean(one["step_ms_none"] for one in scopes)
    harvests = [one["harvest"] for one in scopes if "harvest" in one]
    if len(harvests) == len(scopes):
        row |= {"harvest": statistics.fmean(harvests), "least_harvest": min(harvests)}
    if all("lease_exits" in one for one in scopes):  # 0 would say that somebody counted
        row["lease_exits"] = sum(one["lease_exits"] for one in scopes)
    row["scopes"] = scopes
    return row


def report_of(side):
    time.sleep(0.1)  # until all records are read
    return json.loads(side.report("json"))


def jobs_of(task):
    """Enough for a scope of a thousand steps; a scope of this script takes one."""
    return [TASKS.get(task, task)] * JOBS.get(task, 1)


def refuse_if_ended(side):
    """What had no job left did less than it could have."""
    states = [job.state for job in side.jobs]
    if "failed" in states or not any(state in ("queued", "placed") for state in states):
        sys.exit(f"the jobs ended before the measurement did: {', '.join(states)}; give more in TASKS or JOBS")


def long_bubbles(torch, lull, trainer, side, count):
    """The report after so many of them, one by one: what a site learns from a bubble is for the next."""
    for _ in range(count):
        with lull.bubble("alone"):
            trainer.wait(ALONE_MS)
        torch.cuda.synchronize()
        time.sleep(0.004)
    return report_of(side)


def warm_up(trainer, kind):
    trainer.groups([kind, no_bubble] * WARM_UP)


def in_turns(trainer, kind, seconds):
    """Milliseconds a step of groups without anything and of groups of that kind, by turns."""
    plain, other = [], []
    until = time.monotonic() + seconds
    while not plain or time.monotonic() < until:
        times = trainer.groups([no_bubble, kind, kind, no_bubble] * QUARTETS)
        plain += times[0::4] + times[3::4]
        other += times[1::4] + times[2::4]
    return plain, other


def compared(plain, other):
    steps = {"step_ms_none": statistics.geometric_mean(plain), "step_ms_worker": statistics.geometric_mean(other)}
    return {**slowdown(plain, other), "pairs": len(plain), **steps}


def measure_scope(torch, lull, trainer, task, armed_ahead, processors, seconds):
    if task == WAIT:
        warm_up(trainer, WAIT)
        return compared(*in_turns(trainer, WAIT, seconds))
    more = {} if armed_ahead is None else {"armed_ahead": armed_ahead}
    with lull.harvest([TASKS.get(task, task)], processors=processors, **more) as side:
        if side.mode != "on":
            sys.exit(f"measure_stage.py: NOT RUN: Lull is {side.mode}: {side.why_off}")
        warm_up(trainer, lull.bubble)
        warm = report_of(side)
        plain, with_lull = in_turns(trainer, lull.bubble, seconds)
        trained, counts = report_of(side), side.counts()  # of training alone
        reports = [long_bubbles(torch, lull, trainer, side, count) for count in (ALONE_WARM_UP, ALONE)]
        refuse_if_ended(side)
    steps = GROUP * (WARM_UP + len(with_lull))
    return {
        **compared(plain, with_lull),
        **harvested(reports[1], steps * trainer.idle_ms, speed_alone(*reports)),
        **waited(warm, trained),
        "counts": counts,
    }


def measure(torch, lull, given):
    trainer = Trainer(torch, given)
    plans = [(task, ahead, foreign) for task in given.tasks for ahead in given.armed_ahead for foreign in given.foreign]
    scopes = {plan: [] for plan in plans}
    for index in range(given.scopes):
        for plan in plans:
            task, ahead, trainer.foreign.on = plan
            scopes[plan].append(measure_scope(torch, lull, trainer, task, ahead, given.processors, given.seconds))
            said = scopes[plan][-1]
            print(
                f"scope {index}, {plan}: {said['slowdown_percent']:+.2f} %, "
                f"harvest {said.get('harvest', math.nan):.3f}",
                file=sys.stderr,
                flush=True,
            )
    step_ms = statistics.fmean(one["step_ms_none"] for each in scopes.values() for one in each)
    return {
        "name": "measure_stage",
        "connections": given.connections,
        "stream": given.stream,
        "processors": given.processors,
        "size": {key: getattr(given, key) for key in ("layers", "batch", "tokens", "width")},
        "torch": torch.__version__,
        "forward_ms": trainer.forward_ms,
        "backward_ms": trainer.backward_ms,
        "idle_share": trainer.idle_ms / step_ms,
        "rows": [
            {"task": task, "armed_ahead_s": ahead, "foreign": foreign, **summed_up(scopes[task, ahead, foreign])}
            for task, ahead, foreign in plans
        ],
    }


def ahead_of(text):
    """`default`, or seconds."""
    return None if text == NOT_ARMED else float(text)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", required=True, help="libstage_wait.so, which the build makes")
    parser.add_argument(
        "--tasks",
        type=lambda text: text.split("+"),
        default=["compute"],
        help=f"side tasks, joined by +: {', '.join(TASKS)}, or as lull tasks lists them; or {WAIT}: no side work, "
        "a pending wait of the program's own",
    )
    parser.add_argument("--scopes", type=int, default=6, help="of each plan")
    parser.add_argument("--seconds", type=float, default=0, help="of pairs a scope; six pairs at a time")
    parser.add_argument(
        "--armed-ahead",
        type=lambda text: [ahead_of(each) for each in text.split(",")],
        default=[None],
        help="how long before its bubble a worker may be enqueued: seconds or `default`, a list with commas; "
        "one plan each",
    )
    parser.add_argument(
        "--foreign",
        choices=("off", "on", "both"),
        default="off",
        help="another stream of the program always has a wait pending",
    )
    parser.add_argument(
        "--processors", type=int, default=0, help="SMs for workers at the most; 0: all that are not kept off"
    )
    parser.add_argument("--connections", type=int, default=0, help="CUDA_DEVICE_MAX_CONNECTIONS; 0: as it is")
    parser.add_argument("--stream", choices=("legacy", "own"), default="legacy", help="of the trainer")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=3, help="sequences of a micro-batch")
    parser.add_argument("--tokens", type=int, default=1024, help="of a sequence")
    parser.add_argument("--width", type=int, default=2048, help="of the stage; a multiple of 128")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which the process ends")
    given = parser.parse_args(arguments)
    given.foreign = {"off": [False], "on": [True], "both": [False, True]}[given.foreign]
    if given.scopes < 1 or given.limit < 1 or not 0 <= given.connections <= 32 or given.processors < 0:
        parser.error("scopes and limit are at least 1, connections 0 to 32, processors at least 0")
    return given


def main():
    given = parse(None)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process where the interpreter waits for a GPU that hangs
    signal.alarm(given.limit)
    if given.connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(given.connections)  # before CUDA starts
    try:
        import lull
        import torch
    except ImportError as why:
        sys.exit(f"measure_stage.py: NOT RUN: {why}")
    if not torch.cuda.is_available():
        sys.exit("measure_stage.py: NOT RUN: torch finds no GPU")
    stream = torch.cuda.default_stream() if given.stream == "legacy" else torch.cuda.Stream()
    with torch.cuda.stream(stream):
        print(json.dumps(measure(torch, lull, given)), flush=True)


if __name__ == "__main__":
    main()
