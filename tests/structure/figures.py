# SPDX-License-Identifier: Apache-2.0
"""figures.py: what the figures in the documents mean, and which are wrong.

A figure in a document is a link to its record, by a key of the page. The end of the page says what a key means:

    The last block is out [4.1][drain_p50] µs after the close.

    [drain_p50]: results/yield.json "mean drain_p50 name=yield_latency/task:compute/behind:burst_264"

That is mean, min, max, first or second of `drain_p50` over both timings of all rows of the record whose fields are as
named ('so' where there are blanks), rounded as it is written."""

import json
import pathlib
import re
import shlex
import statistics

USE = re.compile(r"\[([^\[\]]*)\]\[([^\[\]]+)\]")
NUMBER = re.compile(r"[+\-\u2212]?\d[\d,]*(\.\d+)?")
DEFINITION = re.compile(r"^\[([^\[\]]+)\]: (\S+)(?: \"(.*)\")?$", re.MULTILINE)
MEANING = re.compile(r"(\w+) ('[^']*'|\S+)((?: \S+=(?:'[^']*'|\S+))*)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
OVER = {
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
    "second": lambda values: values[1],
}


def pages(root):
    """The documents that are held to the records."""
    root = pathlib.Path(root)
    folders = ("docs", "docs/decisions", "docs/recipes")
    found = [root / "README.md", *(page for folder in folders for page in sorted(root.glob(f"{folder}/*.md")))]
    return [page for page in found if page.is_file()]


def without_code(text):
    """The text with code blanked, so that places in it stay."""
    return CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


RENAMED = {"ratio_without_rooms": "ratio_excluding_reserved"}  # since schema lull.report/2


def inside(row, path):
    """The numbers at a path. A name may have dots of its own."""
    if not path:
        found = row if isinstance(row, list) else [row]
        yield from (value for value in found if isinstance(value, (int, float)))
    elif isinstance(row, dict):
        for told, value in row.items():
            name = RENAMED.get(told, told)
            if path == name or path.startswith(f"{name}."):
                yield from inside(value, path[len(name) + 1 :])


def values_of(record, path, fields):
    """The figure in each matching row: in its timings, or in the row where those have rows of their own."""
    for row in record["rows"]:
        if all(str(row.get(key)) == value for key, value in fields):
            for run in (row.get("first"), row.get("second"), row):
                yield from inside(run, path)


def value_of(page, file, meaning):
    """What a record says. Raises ValueError where it says nothing."""
    record = pathlib.Path(page.parent, file)
    if not record.is_file():
        raise ValueError(f"there is no record {file}")
    found = MEANING.fullmatch(meaning or "")
    if not found:
        raise ValueError(f'{file} "{meaning}" does not say which value')
    over, path, fields = found.groups()
    if over not in OVER:
        raise ValueError(f"{over} is not one of {', '.join(OVER)}")
    wanted = [field.split("=", 1) for field in shlex.split(fields)]
    values = list(values_of(json.loads(record.read_text(encoding="utf-8")), path.strip("'"), wanted))
    if not values:
        raise ValueError(f"{file} has no {path} where{fields}")
    return OVER[over](values)


def rounded(value, like):
    """The value, written as another one is."""
    digits = len(like.partition(".")[2])
    sign = "+" if like.startswith("+") else ""
    return f"{value:{sign},.{digits}f}".replace("-", "\u2212")


def agrees(text, value):
    plain = text.replace(",", "").replace("\u2212", "-")
    half = 0.5 * 10 ** -len(plain.partition(".")[2])
    return abs(float(plain) - value) <= half * 1.000001


def faults(page, text):
    """What is wrong with the figures of a page, each with its line."""
    text = without_code(text)
    meanings, used, values = {}, set(), {}

    def place(found):
        return text.count("\n", 0, found.start()) + 1

    for found in DEFINITION.finditer(text):
        key, file, meaning = found.groups()
        if key.lower() in meanings:
            yield place(found), f"[{key}] is defined twice"
        meanings[key.lower()] = (found, file, meaning)
    for found in USE.finditer(text):
        number, key = found.groups()
        if key.lower() not in meanings:
            yield place(found), f"[{key}] is not defined at the end of the page"
            continue
        used.add(key.lower())
        _, file, meaning = meanings[key.lower()]
        if not NUMBER.fullmatch(number) or meaning is None:
            continue
        try:
            values.setdefault(key.lower(), value_of(page, file, meaning))
            if not agrees(number, values[key.lower()]):
                yield place(found), f"{number} [{key}]: {file} says {values[key.lower()]:.6g}"
        except ValueError as why:
            yield place(found), f"{number} [{key}]: {why}"
    for key in meanings.keys() - used:
        yield place(meanings[key][0]), f"[{key}] is used nowhere"


def rewritten(page, text):
    """The page with each figure as its record says. Figures without a value stay as they are."""
    meanings = {key.lower(): (file, meaning) for key, file, meaning in DEFINITION.findall(text)}
    plain, parts, end = without_code(text), [], 0
    for found in USE.finditer(plain):
        number, key = found.groups()
        file, meaning = meanings.get(key.lower(), (None, None))
        if not NUMBER.fullmatch(number) or meaning is None:
            continue
        value = value_of(page, file, meaning)
        if not agrees(number, value):
            parts += [text[end : found.start(1)], rounded(value, number)]
            end = found.end(1)
    return "".join([*parts, text[end:]])
