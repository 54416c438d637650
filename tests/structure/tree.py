# SPDX-License-Identifier: Apache-2.0
"""What the checks of the tree share: which files belong to it, and C++ text without comments and strings."""

import pathlib
import re
import subprocess
import sys

CODE = {".hpp", ".cpp", ".cuh", ".cu", ".h"}


def files(root):
    """Paths relative to `root`: the tracked files, or all but builds where there is no git (an unpacked archive)."""
    root = pathlib.Path(root)
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={root.resolve()}", "-C", str(root), "ls-files", "-z"],
        capture_output=True,
        check=False,
    )
    if (root / ".git").exists() and listing.returncode == 0:
        names = [pathlib.Path(name) for name in listing.stdout.decode().split("\0") if name]
        return sorted(name for name in names if (root / name).is_file())
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(name for name in names if not name.parts[0].startswith(("build", ".git")))


def code(root):
    return [name for name in files(root) if name.suffix in CODE]


def lines(root, name):
    return (pathlib.Path(root) / name).read_text(encoding="utf-8", errors="replace").splitlines()


_NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'(?!\w)', re.DOTALL
)


def code_lines(root, name):
    """The lines of a C++ file with comments and literals blanked, so that line numbers stay."""
    text = "\n".join(lines(root, name))
    return _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text).split("\n")


def report(findings, checked):
    """Prints what was found and ends the program; a check that looked at nothing has failed, too."""
    for finding in findings:
        print(finding)
    if not checked:
        print("nothing was checked: is this the root of the tree?")
    sys.exit(1 if findings or not checked else 0)
