# SPDX-License-Identifier: Apache-2.0
"""plots.py: draws the tables of docs/figures.md, as `scripts/docs.sh figures` does.

Each table is followed by its plot, ![caption](figures/NAME.svg). A row is a row there, and a column of figures a
colour; two figures in a cell are the ends of a bar. Nothing is drawn that the table does not say."""

import html
import json
import math
import pathlib
import re
import sys

import figures

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import draw_timeline  # noqa: E402

PLOT = re.compile(r"((?:^\|.*\n)+)\n!\[([^\]]*)\]\((figures/\w+\.svg)\)$", re.MULTILINE)
WIDTH, LEFT, RIGHT, TOP, ROW, DOT = 860, 300, 40, 62, 24, 5
COLORS = ("#2f6690", "#e07b39", "#3a9b72", "#8a63c6")
INK, GRID = "#222222", "#dddddd"
MAX_TICKS = 7


def numbers_of(cell):
    return [float(text.replace(",", "").replace("\u2212", "-")) for text, _ in figures.USE.findall(cell)]


def rows_of(table):
    """The header's cells, and of each row its label and the figures of each further cell."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.strip().split("\n")]
    return cells[0], [(row[0], [numbers_of(cell) for cell in row[1:]]) for row in cells[2:]]


def ticks_of(low, high):
    steps = (base * 10.0**power for power in range(-4, 7) for base in (1, 2, 5))
    step = next(each for each in steps if (high - low) / each <= MAX_TICKS)
    return [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def text(x, y, words, anchor="start", size=13):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def drawn(caption, table):
    header, rows = rows_of(table)
    values = [value for _, cells in rows for cell in cells for value in cell]
    low, high = min(0, *values), max(values) * 1.05

    def x(value):
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    bottom = TOP + len(rows) * ROW
    parts = [text(16, 22, caption, size=15)]
    for tick in ticks_of(low, high):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{bottom}" stroke="{GRID}"/>')
        parts.append(text(x(tick), bottom + 18, f"{tick:,g}", "middle", 11))
    columns = [at for at in range(len(header) - 1) if any(cells[at] for _, cells in rows)]
    place = LEFT
    for color, at in zip(COLORS, columns):
        parts.append(f'<circle cx="{place}" cy="{TOP - 19}" r="{DOT}" fill="{color}"/>')
        parts.append(text(place + 10, TOP - 15, header[at + 1], size=12))
        place += 30 + 7 * len(header[at + 1])
    for row, (label, cells) in enumerate(rows):
        y = TOP + row * ROW + ROW / 2
        parts.append(text(LEFT - 12, y + 4, label, "end", 12))
        for color, at in zip(COLORS, columns):
            for value in cells[at]:
                parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="{DOT}" fill="{color}"/>')
            if len(cells[at]) == 2:
                begin, end = sorted(x(value) for value in cells[at])
                parts.append(f'<rect x="{begin:.1f}" y="{y - 2}" width="{end - begin:.1f}" height="4" fill="{color}"/>')
    height = bottom + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" fill="{INK}"><rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def plots_of(page):
    """The plots that a page shows: the file, and what should be in it."""
    for table, caption, file in PLOT.findall(page.read_text(encoding="utf-8")):
        yield page.parent / file, drawn(caption, table)
    record = page.parent / "docs/results/timeline.json"
    if page.name == "README.md" and record.is_file():
        yield page.parent / "docs/timeline.svg", draw_timeline.draw(json.loads(record.read_bytes())["rows"][0]["drawn"])
