# SPDX-License-Identifier: Apache-2.0
"""How scripts/docs.sh has Sphinx make pages of the tree's Markdown files, which stay where they are. Their order is
here, since GitHub would show Sphinx's directives as text."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "apps/python"))

project = "Lull"
release = re.search(r"project\(lull VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
html_title = f"Lull {release}"
html_theme = "furo"
html_static_path = html_css_files = ["pages.css"]
html_copy_source = html_show_copyright = html_use_index = html_domain_indices = False
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 6
nitpicky = True  # a name in a docstring's signature that is nowhere is a warning, too; of these no inventory is fetched
nitpick_ignore_regex = [("py:class", r"(collections|contextlib|ctypes|datetime|os|pathlib)\..*")]
nitpick_ignore_regex += [("py:class", r"lull\.queue_agent\..*")]  # of a session's own
nitpick_ignore_regex += [("py:class", r"JobFields")]  # what a job document holds
nitpick_ignore_regex += [("py:class", r"lull\.stalls\..*")]  # a type variable, and what is only iterated
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # "…" stands for code that is left out
autodoc_member_order = "bysource"
root_doc = "README"
include_patterns = ["*.md", "apps/python/*.md", "docs/*.md", "docs/decisions/*.md", "docs/recipes/*.md"]
include_patterns += ["docs/site/*.rst", "bench/lab/*.md"]
exclude_patterns = ["build*", ".git"]

CHAPTERS = ["docs/[1-9]*-*", "docs/figures", "docs/notebook"]
REFERENCE = ["The Python package <apps/python/README>", "C, C++ and Python <docs/site/reference>"]
PROJECT = ["Chapters and decisions <docs/README>", "CHANGELOG", "CONTRIBUTING", "RELEASING", "SECURITY"]
PROJECT += ["bench/lab/README", "bench/lab/SECTIONS"]


def add_next_pages(_, page, source):
    """Says which pages follow a page; a decision that docs/README.md does not list follows none, which is a warning."""
    following = {}
    if page == root_doc:
        following = {"Chapters": CHAPTERS, "Reference": REFERENCE, "Project": PROJECT}
    elif page == "docs/README":
        following = {name.title(): re.findall(rf"\(({name}/.*)\.md\)", source[0]) for name in ("recipes", "decisions")}
    for caption, pages in following.items():
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", *pages, "```", ""])


def setup(app):
    app.connect("source-read", add_next_pages)
