# SPDX-License-Identifier: Apache-2.0
"""write_figures.py ROOT: writes the records' values into the documents, and draws their plots again."""

import pathlib
import sys

import figures
import plots


def write(root, file, text):
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"figures: {file.relative_to(root)} changed")


def main(root):
    for page in figures.pages(root):
        try:
            write(root, page, figures.rewritten(page, page.read_text(encoding="utf-8")))
        except ValueError as why:
            sys.exit(f"write_figures.py: {page}: {why}")
        for file, picture in plots.plots_of(page):
            write(root, file, picture)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
