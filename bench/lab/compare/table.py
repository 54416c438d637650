# SPDX-License-Identifier: Apache-2.0
"""What the program `compare` says of its rows, as text."""

from lab.numbers import slowdown

LEGEND = """
- slower: a step of the trainer with this side work against one without, mean over scopes with its 95 % interval, or
  with that of one scope's pairs; worst: the slowest scope.
- plain step: a step of the trainer in this row's scopes while their side work is not on, against one in the scopes of
  row nothing of the same rounds, with its 95 % interval over rounds. Threads, contexts and memory of a row's scope are
  there with side work and without, so `slower` leaves out what they cost; it is here.
- of idle: side steps against plain replays of the same step in as much idle time of the trainer; of wall: in as much
  time, for work that is always on. Of lull_functor: items of its own task, against long bubbles without training.
- drain: from the close of a bubble to the end of side work, by the device's clock; of bubbles that had side work.
  ≤: Lull's conductor sees a close only when the piece of the graph that runs has ended, and the close has no time stamp
  of its own. So these are the times of the pieces that bubbles closed on, from job.result(): how long each takes where
  no training runs beside it, without the conductor's own exit (after_sight_us in the JSON). Of several scopes, the
  longest. Of lull_functor: from the moment when the first block saw the close.
- memory: of the captured step, its segments and what runs them, without weights and optimizer; of another process:
  all of it.
- CPU: of all threads, of the other process too, a step of the trainer, more than without side work.
"""
COLUMNS = ("row", "slower", "worst", "plain step", "of idle", "of wall", "drain p50 / p99 / max", "memory", "CPU")


def _text(value, form, unit=""):
    return "–" if value is None else f"{value:{form}}{unit}"


def _percent(row, key):
    """With its interval: that of one scope's pairs, where there is only one."""
    text = _text(row.get(key), "+.2f", " %")
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    if low is None and len(row.get("scopes", ())) == 1:
        low, high = (row["scopes"][0].get(f"{key}_{end}") for end in ("low", "high"))
    return text if low is None else f"{text} ({low:+.2f} to {high:+.2f})"


def _drain(row):
    drain, bound = row.get("drain_us"), row.get("drain_bound_us")
    if bound is not None and bound["count"] == 0:
        return "no bubble closed on a piece"
    times = drain or bound
    if times is None:
        return row.get("no_drain", "–")
    return ("" if drain else "≤ ") + " / ".join(f"{times[key]:.0f}" for key in ("p50", "p99", "max")) + " µs"


def plain_steps(row, nothing):
    """What the column `plain step` says, for two rows whose scopes alternated."""
    pairs = list(zip(nothing.get("scopes", ()), row.get("scopes", ())))
    if row is nothing or not pairs:
        return {}
    times = ([scope["step_ms_none"] for scope in scopes] for scopes in zip(*pairs))
    return slowdown(*times, name="plain_step_percent")


def bound_of(scopes):
    """Of several scopes' pieces that bubbles closed on; None where a scope has none told. A quantile of all is at most
    the greatest of the scopes' own."""
    bounds = [scope.get("drain_bound_us") for scope in scopes]
    if not bounds or None in bounds:
        return None
    times = [bound for bound in bounds if bound["count"]]
    greatest = {key: max(bound[key] for bound in times) for key in ("p50", "p99", "max")} if times else {}
    return {"count": sum(bound["count"] for bound in bounds), **greatest}


def cells(row):
    if "not_run" in row:
        return [row["row"], f"not run: {' '.join(row['not_run'].split())}"] + [""] * (len(COLUMNS) - 2)
    failed = f" ({row['scopes_run']} scopes, then: {' '.join(row['failed'].split())})" if "failed" in row else ""
    return [
        row["row"] + failed,
        _percent(row, "slowdown_percent"),
        _text(row.get("worst_slowdown_percent"), "+.2f", " %"),
        _percent(row, "plain_step_percent"),
        _text(row.get("harvest"), ".2f"),
        _text(row.get("wall_share"), ".2f"),
        _drain(row),
        _text(row.get("memory_mib"), ".0f", " MiB"),
        _text(row.get("cpu_ms_a_step"), "+.1f", " ms"),
    ]


def table(rows, title):
    """Markdown."""
    lines = [f"| {' | '.join(line)} |" for line in (COLUMNS, ["---"] * len(COLUMNS), *map(cells, rows))]
    return "\n".join([title, "", *lines, LEGEND])
