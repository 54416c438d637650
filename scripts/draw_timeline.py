#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws one iteration of a stage without and with side work, from what `lull harvest` wrote:

    scripts/draw_timeline.py build/demo/harvest.trace.json build/demo/report.json build/demo/timeline.svg

Of the iterations with side work it is the one that used the median share of its idle time. Perfetto shows the whole
trace."""

import argparse
import html
import json
import sys

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 960, 150, 20, 34, 14, 64
FORWARD, BACKWARD, IDLE, INK = "#9db4c8", "#5f7f9c", "#f3f3f3", "#222222"
TASKS = ("#e07b39", "#3a9b72", "#8a63c6", "#c9a227", "#c2487b")  # in the order in which they appear
STEPS_US = [base * 10**power for power in range(7) for base in (1, 2, 5)]
MAX_TICKS = 10
WHO = ("alone", "with side work")
SPANS = ("training", "bubbles", "workers")


def threads_of(events):
    return {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}


def spans_of(events, tid):
    return [event for event in events if event["tid"] == tid and event["ph"] == "X"]


def within(spans, window):
    """The parts of spans inside an iteration, from its beginning: (begin, end, name)."""
    begin, end = window["ts"], window["ts"] + window["dur"]
    parts = [(max(one["ts"], begin), min(one["ts"] + one["dur"], end), one["name"]) for one in spans]
    return [(low - begin, high - begin, name) for low, high, name in parts if low < high]


def used_share(window, bubbles, workers):
    """The share of an iteration's idle time in which workers were there."""
    end = window["ts"] + window["dur"]
    idle = [bubble for bubble in bubbles if window["ts"] <= bubble["ts"] < end]
    used = sum(high - low for bubble in idle for low, high, _ in within(workers, bubble))
    return used / sum(bubble["dur"] for bubble in idle) if idle else 0.0


def median_iteration(windows, shares):
    return sorted(range(len(windows)), key=lambda at: (round(shares[at], 3), windows[at]["dur"]))[len(windows) // 2]


def cost(training):
    """The slowdown in words: nothing that the interval does not show."""
    low, high = training.get("ci95_pct") or (None, None)
    if low is None:
        return f"training {training['slowdown_pct']:+.2g} %"
    interval = f"95 % interval {low:+.2g} to {high:+.2g} %"
    if low <= 0 <= high:
        return f"no measurable slowdown of training ({interval})"
    return f"training took {abs(training['slowdown_pct']):.2g} % {'longer' if low > 0 else 'less'} ({interval})"


def time_text(us):
    return "0" if us == 0 else f"{us / 1e6:g} s" if us >= 1e6 else f"{us / 1e3:g} ms" if us >= 1e3 else f"{us:g} µs"


class Drawing:
    def __init__(self, longest_us):
        self._scale = (WIDTH - LEFT - RIGHT) / longest_us
        self._parts = []

    def x(self, us):
        return LEFT + us * self._scale

    def bar(self, row, span, color, inset=0):
        begin, end, name = span
        y, width = TOP + row * (BAR + GAP) + inset, max((end - begin) * self._scale, 0.5)
        self._parts.append(
            f'<rect x="{self.x(begin):.1f}" y="{y}" width="{width:.1f}" height="{BAR - 2 * inset}" fill="{color}" '
            f'stroke="white" stroke-width="0.5"><title>{html.escape(name)}, {time_text(end - begin)}</title></rect>'
        )

    def text(self, x, y, words, anchor="start", size=13):
        self._parts.append(
            f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'
        )

    def axis(self, longest_us, y):
        step = next((each for each in STEPS_US if longest_us / each <= MAX_TICKS), STEPS_US[-1])
        for at in range(int(longest_us // step) + 1):
            x = self.x(at * step)
            self._parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 5}" stroke="{INK}"/>')
            self.text(x, y + 19, time_text(at * step), "middle", 11)

    def legend(self, colors, y):
        x = LEFT
        for name, color in colors:
            self._parts.append(f'<rect x="{x}" y="{y - 11}" width="14" height="12" fill="{color}" stroke="#999"/>')
            self.text(x + 19, y, name, size=12)
            x += 34 + 7.5 * len(name)

    def svg(self, height):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="sans-serif" fill="{INK}"><rect width="{WIDTH}" height="{height}" fill="white"/>'
            + "\n".join(self._parts)
            + "</svg>\n"
        )


def chosen(trace, report):
    """What is drawn of a trace and a report: spans in us from the iteration's beginning, and what stands above."""
    events = trace["traceEvents"]
    tids = {name: tid for tid, name in threads_of(events).items()}
    iterations = {who: spans_of(events, tids[f"{who}: iterations"]) for who in WHO}
    if not all(iterations.values()):
        raise ValueError("the trace holds no iteration of each kind")
    bubbles, workers = (spans_of(events, tids[f"with side work: {what}"]) for what in ("bubbles", "workers"))
    shares = [used_share(window, bubbles, workers) for window in iterations["with side work"]]
    median = median_iteration(iterations["with side work"], shares)
    rows = {}
    for who, there in iterations.items():
        window = there[min(median, len(there) - 1)]
        rows[who] = {"us": window["dur"]}
        for what in SPANS:
            track = tids.get(f"{who}: {what}")
            rows[who][what] = within(spans_of(events, track), window) if track is not None else []
    gpu = report["machine"].get("gpu") or {}
    clock = "times of CPU threads" if report["time"] == "cpu" else gpu.get("name") or report["executor"]
    return {"used_share": shares[median], "cost": cost(report["training"]), "clock": clock, "rows": rows}


def draw(what):
    rows = what["rows"]
    longest_us = max(row["us"] for row in rows.values())
    drawing, colors = Drawing(longest_us), {}
    title = f"An iteration of a pipeline stage: the one of median use of its idle time, {what['used_share']:.0%}"
    drawing.text(LEFT, 24, title, size=16)
    drawing.text(LEFT, 46, f"{what['cost']}; {what['clock']}", size=13)
    for row, (who, spans) in enumerate(rows.items()):
        drawing.text(LEFT - 10, TOP + row * (BAR + GAP) + BAR / 2 + 4, who, "end")
        for span in spans["bubbles"]:
            drawing.bar(row, span, IDLE)
        for span in spans["training"]:
            drawing.bar(row, span, FORWARD if span[2].startswith("forward") else BACKWARD)
        for span in spans["workers"]:
            drawing.bar(row, span, colors.setdefault(span[2], TASKS[len(colors) % len(TASKS)]), 6)
    bottom = TOP + 2 * (BAR + GAP)
    drawing.axis(longest_us, bottom)
    names = [("forward", FORWARD), ("backward", BACKWARD), ("idle", IDLE), *colors.items()]
    drawing.legend(names, bottom + 46)
    return drawing.svg(bottom + 62)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="file of lull harvest --trace")
    parser.add_argument("report", help="file of lull harvest --report")
    parser.add_argument("picture", help="SVG to write")
    given = parser.parse_args()
    try:
        with open(given.trace, encoding="utf-8") as trace, open(given.report, encoding="utf-8") as report:
            picture = draw(chosen(json.load(trace), json.load(report)))
        with open(given.picture, "w", encoding="utf-8") as file:
            file.write(picture)
    except (OSError, ValueError, KeyError) as why:
        sys.exit(f"draw_timeline.py: {given.trace}, {given.report}: {why!r}")


if __name__ == "__main__":
    main()
