# SPDX-License-Identifier: Apache-2.0
"""Records: what a section's file in docs/results holds, and the rows that it is made of.

Every figure is measured twice by the same program, one process a run: `first` and `second`, whose difference stands
beside them as `noise`. `interval` holds, for each figure of which samples are known, the 95 % interval of its median
by order statistics. What could not run is recorded as not run, with the reason; nothing is ever filled in, and a
record that has figures is not replaced by one that has none."""

import datetime
import json
import pathlib
import statistics
import time

from lab.machine import commit, condition, machine
from lab.numbers import median_interval
from lab.process import LAB, not_run, of_lab, read_json, read_outcome, shell, write_whole


class Record:
    """Begins before a section is measured, and is written after it."""

    def __init__(self, section, unit, path):
        self._began, self.path = time.monotonic(), pathlib.Path(path)
        today = datetime.date.today().isoformat()
        self.made = {"schema": "lull.record/1", "section": section, "date": today, "commit": commit()}
        self.made |= {"machine": machine(), "before": condition(), "unit": unit}

    @staticmethod
    def read(path):
        """{} where there is none."""
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def write(self, found):
        """`found`: rows, or a dict of them and of what else the record holds. Returns what came of it, in words."""
        name = self.made["section"]
        self.made |= found if isinstance(found, dict) else {"rows": found}
        self.made |= {"after": condition(), "took_s": round(time.monotonic() - self._began)}
        if reason := why_empty(self.made):
            self.made["not_run"] = reason
            if "rows" in (old := self.read(self.path)) and "not_run" not in old:
                return f"{name}: NOT RUN, {self.path} is left as it was: {reason}"
        write_whole(self.path, json.dumps(self.made, indent=1) + "\n")
        return f"{name}: NOT RUN: {reason}" if reason else f"{name}: {self.path}, {self.made['took_s']} s"


def why_empty(record):
    """The reason if no row of a record has a figure. A row that was measured once has no `second`."""
    runs = [row[key] for row in record["rows"] for key in ("first", "second") if key in row]
    reasons = [run.get("not_run") for run in runs]
    if not reasons:
        return "no row has a run"
    return reasons[0] if all(reasons) else None


def difference(first, second):
    """Of all numbers that both have, as deep as they go."""
    if isinstance(first, dict) and isinstance(second, dict):
        inner = {key: difference(first[key], second[key]) for key in first if key in second}
        return {key: value for key, value in inner.items() if value is not None} or None
    plain = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (first, second))
    return abs(first - second) if plain else None


def as_text(command):
    """As it is typed, without paths of this machine."""
    if LAB in command:  # as of_lab makes it
        at = command.index(LAB)
        command = ["lab", command[at + 1], *command[at + 4 :]]
    return " ".join([pathlib.Path(command[0]).name, *command[1:]])


def once(command, first):
    """Of an outcome, which has no noise."""
    return {"command": as_text(command), "first": first, "condition": condition()}


def paired(command, first, second, **more):
    told = {"command": as_text(command), "first": first, "second": second, "noise": difference(first, second)}
    return {**told, **more, "condition": condition()}


def split_bounds(run):
    """Figures of one run, and the intervals that it states itself: `x_low` and `x_high` beside `x`."""
    spread = {key: [run[f"{key}_low"], run[f"{key}_high"]] for key in run if {f"{key}_low", f"{key}_high"} <= set(run)}
    bounds = {f"{key}_{end}" for key in spread for end in ("low", "high")}
    return {key: value for key, value in run.items() if key not in bounds}, spread


def bounded(command, first, second, **more):
    """The same, of runs that state intervals."""
    (first, spread), (second, again) = split_bounds(first), split_bounds(second)
    return paired(command, first, second, interval={"first": spread, "second": again}, **more)


def twice(command, limit, read=read_json, row=paired):
    """A program's row: two runs, a process each."""
    return row(command, *(read(shell(command, limit)) for _ in range(2)))


def without(names, row):
    """The row's other values."""
    return {key: value for key, value in row.items() if key not in names}


def of_each(names, command, limit, read=read_json, row=paired):
    """A row for each row of two runs. `names`: what tells them apart, with spaces between. Where a run has none, its
    rows say why."""
    names, first, second = names.split(), *(read(shell(command, limit)) for _ in range(2))
    found = next((run["rows"] for run in (first, second) if "rows" in run), None)
    if found is None:
        return [paired(command, first, second)]
    rows = []
    for at, one in enumerate(found):
        figures = [without(names, run["rows"][at]) if "rows" in run else run for run in (first, second)]
        rows.append({**{name: one[name] for name in names}, **row(command, *figures)})
    return rows


def outcomes(name, command, limit, read=read_json):
    """A row for each row of one run, which tells its own interval or has no noise."""
    said = read(shell(command, limit))
    if "rows" not in said:
        return [once(command, said)]
    return [{name: row[name], **once(command, without([name], row))} for row in said["rows"]]


def lab_rows(build, words, limit):
    """The rows that a program of this laboratory makes itself, and what else its record holds."""
    command = of_lab(build, words)
    said = without(["torch"], read_outcome(shell(command, limit)))
    return said if "rows" in said else [once(command, said)]


STANDARD = {"family_index", "per_family_instance_index", "repetition_index", "repetitions", "threads", "iterations"}


def summed_up(rows):
    """One run of a bench: its own figures where it ran once, else the medians of its repetitions."""
    runs = [{k: v for k, v in row.items() if isinstance(v, (int, float)) and k not in STANDARD} for row in rows]
    if len(runs) == 1:
        return split_bounds(runs[0])
    samples = {key: [run[key] for run in runs] for key in runs[0]}
    spread = {key: median_interval(values) for key, values in samples.items()}
    return {"n": len(runs), **{key: statistics.median(values) for key, values in samples.items()}}, spread


def bench(build, name, limit=120):
    """A benchmark named PROGRAM/…, with its arguments if any: command, figures, intervals."""
    plan, *arguments = name.split()
    program = f"{build}/bin/bench/{plan.split('/')[0]}"
    command = [program, f"--benchmark_filter=^{plan}", "--benchmark_format=json", *arguments]
    done = shell(command, limit)
    try:
        rows = [row for row in json.loads(done.stdout)["benchmarks"] if row.get("run_type") != "aggregate"]
    except (ValueError, KeyError):
        rows = []
    if done.returncode != 0 or not rows:
        return command, not_run(done), {}
    failed = next((row.get("error_message", "failed") for row in rows if row.get("error_occurred")), None)
    if failed is not None:
        return command, {"not_run": failed}, {}
    if len(names := {row["name"] for row in rows}) > 1:
        return command, {"not_run": f"{plan} is the name of several benches: {', '.join(sorted(names))}"}, {}
    return command, *summed_up(rows)


def benches(build, names, limit=120):
    """A row for each benchmark."""
    rows = []
    for name in names:
        (command, first, spread), (_, second, again) = (bench(build, name, limit) for _ in range(2))
        called = name.replace("/iterations:", "").replace(" --", "/").rstrip("/")
        row = paired(command, first, second, interval={"first": spread, "second": again})
        rows.append({"name": called, **row})
    return rows
