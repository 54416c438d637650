# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT: holds README.md, docs/*.md and docs/decisions/*.md to the records, the examples and the files and
headings that they link to.

A figure is followed by the place that it comes from, in a comment that renders nothing:

    4.1<!-- results/yield.json mean drain_p50 name=yield_latency/task:compute/behind:burst_264 --> µs

that is mean, min, max, first or second of that figure over both timings of all rows of docs/results/yield.json whose
fields are as named ('so' where there are blanks), rounded as it is written. A line that links to a record has a
place behind each number of the cell before the link; but not in decisions, which tell of what is in no record, too.
Code (C++, C, Python, CMake) stands behind the example that it is a piece of: <!-- from
docs/examples/1_first_bubble.cpp -->."""

import json
import pathlib
import re
import shlex
import statistics
import sys
import textwrap

import tree

FIGURE = re.compile(
    r"([+\-\u2212]?\d[\d,]*(?:\.\d+)?)<!-- (results/\S+\.json) (\w+) ('[^']*'|\S+)((?: \S+=(?:'[^']*'|\S+))*) -->"
)
COMMENT = re.compile(r"<!--.*?-->")
RECORD_LINK = re.compile(r"\[[^\]]*\]\([^)]*results/\w+\.json\)")
SNIPPET = re.compile(r"(?:<!-- from (\S+) -->\n)?\n?```(?:cpp|c|python|cmake)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
REGION = re.compile(r"\s*// \[/?\w+\]$")  # names a part of an example
OVER = {
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
    "second": lambda values: values[1],
}


def inside(row, path):
    """The numbers that stand there. A name may have dots of its own."""
    if not path:
        found = row if isinstance(row, list) else [row]
        yield from (value for value in found if isinstance(value, (int, float)))
    elif isinstance(row, dict):
        for name, value in row.items():
            if path == name or path.startswith(f"{name}."):
                yield from inside(value, path[len(name) + 1 :])


def values_of(record, path, fields):
    """The figure in each matching row: in its timings, or in the row where those have rows of their own."""
    for row in record["rows"]:
        if all(str(row.get(key)) == value for key, value in fields):
            for run in (row.get("first"), row.get("second"), row):
                yield from inside(run, path)


def check_figure(root, text, record, over, path, fields):
    """What is wrong with one figure, or nothing."""
    file = pathlib.Path(root, "docs", record)
    if not file.is_file():
        return f"there is no {record}"
    if over not in OVER:
        return f"{over} is not one of {', '.join(OVER)}"
    found = list(
        values_of(
            json.loads(file.read_text(encoding="utf-8")),
            path.strip("'"),
            [field.split("=", 1) for field in shlex.split(fields)],
        )
    )
    if not found:
        return f"{record} has no {path} where{fields}"
    value = OVER[over](found)
    plain = text.replace(",", "").replace("\u2212", "-")
    half = 0.5 * 10 ** -len(plain.partition(".")[2])
    return None if abs(float(plain) - value) <= half * 1.000001 else f"{record} says {value:.6g}"


def figures_of(root, name, text, tells_of_records_alone):
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{name}:{line_number}: "
        for figure in FIGURE.finditer(line):
            if wrong := check_figure(root, *figure.groups()):
                yield f"{place}{figure.group(1)}: {wrong}"
        rest = FIGURE.sub("", line)
        if "results/" in "".join(COMMENT.findall(rest)):
            yield f"{place}a place of a figure that cannot be read, or no number before it"
        if tells_of_records_alone and (link := RECORD_LINK.search(rest)):
            cell = rest[: link.start()].rstrip(" |").rsplit("|", 1)[-1]
            if stray := re.search(r"\d[\d.,]*", COMMENT.sub("", cell)):
                yield f"{place}{stray.group()}: does not name its place in the record"
            if rest == line:
                yield f"{place}links to a record, but no figure names its place in it"


def snippets_of(root, name, text):
    for found in SNIPPET.finditer(text):
        place = f"{name}:{text.count(chr(10), 0, found.start(2))}: "
        example, code = found.groups()
        if not example or not pathlib.Path(root, example).is_file():
            yield f"{place}C++ without an example that it is a piece of ({example})"
            continue
        shown = textwrap.dedent(code).strip("\n").split("\n")
        whole = [line for line in tree.lines(root, example) if not REGION.fullmatch(line)]
        pieces = (textwrap.dedent("\n".join(whole[at : at + len(shown)])) for at in range(len(whole)))
        if "\n".join(shown) not in pieces:
            yield f"{place}is no piece of {example}"


def anchors_of(path):
    """Of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_of(path, name, text):
    for found in LINK.finditer(text):
        file, anchor = found.groups()
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: leads nowhere: {found.group()[2:-1]}"


def check(root):
    findings, checked = [], 0
    decisions = sorted(pathlib.Path(root, "docs", "decisions").glob("*.md"))
    chapters = sorted(pathlib.Path(root, "docs").glob("*.md"))
    others = [pathlib.Path(root, name) for name in ("README.md", "CONTRIBUTING.md", "apps/python/README.md")]
    for path in [*others, *chapters, *decisions]:
        if path.is_file():
            text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
            findings += links_of(path, name, text)
            checked += len(LINK.findall(text))
            if path in others[1:]:  # their code is told as it is typed
                continue
            checked += len(FIGURE.findall(text)) + len(SNIPPET.findall(text))
            findings += [*figures_of(root, name, text, path not in decisions), *snippets_of(root, name, text)]
    return findings, checked


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
