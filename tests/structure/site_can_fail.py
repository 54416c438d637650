# SPDX-License-Identifier: Apache-2.0
"""site_can_fail.py ROOT: scripts/docs.sh fails where a link or a name leads nowhere, and says which.

It builds the site of a copy of the tree that has one fault of each kind. Exits with 77 where the tools are missing."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import tree

OF_THE_SITE = ("apps/python/", "device/", "docs/", "graph/", "host/", "scripts/", "tasks/", "tests/structure/")
FAULTS = [  # a file, what is added to it, and what must be said
    ("README.md", "[a](docs/0-nowhere.md)", "docs/0-nowhere.md"),
    ("CHANGELOG.md", "[a](docs/6-limits.md#nowhere)", "'nowhere'"),
    ("SECURITY.md", "<http://example.org>", "SECURITY.html: http://example.org: no https address"),
    ("docs/decisions/unlisted.md", "# A decision", "unlisted.md: WARNING: document isn't included in any toctree"),
    ("docs/site/reference.rst", ":py:func:`lull.nothing`", "py:func reference target not found: lull.nothing"),
    (
        "docs/site/reference.rst",
        "`a <../../api/nothing.html>`__",
        "../../api/nothing.html: leads to no file of the site",
    ),
    ("host/error.hpp", "/// \\ref nowhere_at_all\nint a;", "nowhere_at_all"),
    ("host/lull.h", "/** \\param b is none */\nint lull_a(int a);", "argument 'b'"),
]


def check(root):
    """What the build of a faulty copy of the tree did not say, or None where no site can be built."""
    with tempfile.TemporaryDirectory() as copy:
        for name in tree.files(root):
            if str(name).startswith(OF_THE_SITE) or len(name.parts) == 1:
                pathlib.Path(copy, name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path(root, name), pathlib.Path(copy, name))
        for name, text, _ in FAULTS:
            with pathlib.Path(copy, name).open("a", encoding="utf-8") as file:
                file.write(f"\n{text}\n")
        done = subprocess.run([f"{copy}/scripts/docs.sh"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode == 77:
        print(said)
        return None
    missing = [f"{name}: not found: {text!r}" for name, text, expected in FAULTS if expected not in said]
    if missing:
        print(said)
    return missing if done.returncode == 1 else [f"docs.sh ends with {done.returncode}, not 1"]


if __name__ == "__main__":
    found = check(sys.argv[1])
    if found is None:
        sys.exit(77)
    tree.report(found, len(FAULTS))
