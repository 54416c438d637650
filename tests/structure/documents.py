# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT: holds README.md, docs/*.md and docs/decisions/*.md to the records, the examples and the files and
headings that they link to.

Figures are links to their records (figures.py). In a line that names its record, too, each number of the cell before
is one; but not in decisions and in the notebook, which tell of what is in no record, too. Code (C++, C, Python, CMake)
stands after the example that it is a piece of: <!-- from docs/examples/1_first_bubble.cpp -->. A decision is a page
that is read at once: it has at most 60 lines of 120 columns."""

import pathlib
import re
import sys
import textwrap

import figures
import plots
import tree

OTHERS = ("CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "apps/python/README.md")  # only their links are followed
LONGEST_DECISION = 60  # lines of 120 columns; what was tried goes to docs/notebook.md
COLUMNS = 120
LONGEST_VERSION = 60  # lines of the CHANGELOG
RECORD_LINK = re.compile(r"\[[^\]]*\]\([^)]*results/\w+\.json\)")
SNIPPET = re.compile(r"(?:<!-- from (\S+) -->\n)?\n?```(?:cpp|c|python|cmake)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
NO_RECORD = re.compile(r"\bno records?\b(?! holds)")
INLINE_LINK = re.compile(r"\[([^\[\]]*)\]\([^)]*\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
REGION = re.compile(r"\s*// \[/?\w+\]$")  # names a part of an example


def figures_of(page, name, text, tells_of_records_alone):
    for line_number, wrong in figures.faults(page, text):
        yield f"{name}:{line_number}: {wrong}"
    for file, picture in plots.plots_of(page):
        if not file.is_file() or file.read_text(encoding="utf-8") != picture:
            yield f"{name}: {file.name} does not show the table: scripts/docs.sh figures draws it"
    for line_number, line in enumerate(text.split("\n"), start=1):
        if tells_of_records_alone and (link := RECORD_LINK.search(line)):
            place = f"{name}:{line_number}: "
            cell = line[: link.start()].rstrip(" |").rsplit("|", 1)[-1]
            if stray := re.search(r"\d[\d.,]*", figures.USE.sub("", cell)):
                yield f"{place}{stray.group()}: is no link to its record"
            if not figures.USE.search(line):
                yield f"{place}links to a record, but no figure of it does"


def lines_shown(text):
    """How many lines a reader sees: long ones wrap but in tables; links are their text, blanks and keys are nothing."""
    text = figures.USE.sub(r"\1", INLINE_LINK.sub(r"\1", figures.DEFINITION.sub("", text)))
    return sum(1 if line.startswith("|") else -(-len(line) // COLUMNS) for line in text.split("\n") if line.strip())


def form_of(name, text, is_decision):
    if is_decision and (lines := lines_shown(text)) > LONGEST_DECISION:
        yield f"{name}: {lines} lines: a decision has {LONGEST_DECISION} at most; docs/notebook.md takes what was tried"
    for found in NO_RECORD.finditer(text):
        yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: a figure of no record: leave it out, or record it"


def versions_of(root):
    """Versions of the CHANGELOG that nobody reads to their end."""
    file = pathlib.Path(root, "CHANGELOG.md")
    for version in re.split(r"(?m)^(?=## )", file.read_text(encoding="utf-8"))[1:] if file.is_file() else ():
        if (lines := version.count("\n")) > LONGEST_VERSION:
            yield f"CHANGELOG.md: {version.splitlines()[0][3:]}: {lines} lines, a version has {LONGEST_VERSION} at most"


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
    findings, checked = [*versions_of(root)], 0
    held = figures.pages(root)
    others = [pathlib.Path(root, name) for name in OTHERS]
    for folder in ("graph", "tasks"):
        others += sorted(pathlib.Path(root, folder).rglob("README.md"))
    for path in [*others, *held]:
        if path.is_file():
            text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
            findings += links_of(path, name, text)
            checked += len(LINK.findall(text))
            if path in others:
                continue
            checked += len(figures.USE.findall(text)) + len(SNIPPET.findall(text))
            is_decision = path.parent.name == "decisions"
            findings += form_of(name, text, is_decision)
            told = not is_decision and path.name != "notebook.md"
            findings += [*figures_of(path, name, text, told), *snippets_of(root, name, text)]
    return findings, checked


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
