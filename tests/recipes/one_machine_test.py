# SPDX-License-Identifier: Apache-2.0
"""one_machine_test.py PROGRAM ROOT: does what docs/recipes/one-machine.md says, word for word: `sh` is run, and `text`
is in what it prints, where … stands for anything. As root by a new user, else with an empty home."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIMIT_S = 240


def new_user(stack, home):
    """Its name, where the system makes one."""
    name = f"lull-{os.getpid()}"
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        return None
    made = subprocess.run(["useradd", "--no-create-home", "--home-dir", home, name], timeout=60, check=False)
    if made.returncode:
        return None
    stack.callback(subprocess.run, ["userdel", name], timeout=60, check=False)
    shutil.chown(home, name, name)
    return name


def matches(expected, line):
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), line.strip())


def faults(blocks, said):
    """Of each block of text, the first line that is not in what the commands before it print, in order."""
    for index, (language, text) in enumerate(blocks):
        if language != "text":
            continue
        lines = iter(said[index - 1].splitlines())
        for expected in text.splitlines():
            if not any(matches(expected, line) for line in lines):
                yield f"'{expected}' is not printed by\n{blocks[index - 1][1]}but\n{said[index - 1]}"
                break


def main(program, root):
    page = pathlib.Path(root, "docs/recipes/one-machine.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    script = "".join(f"echo '== {i}'\n{text}" for i, (kind, text) in enumerate(blocks) if kind == "sh")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lull-recipe-")))
        folder.chmod(0o755)
        programs, home = folder / "bin", folder / "home"
        programs.mkdir()
        home.mkdir(mode=0o700)
        shutil.copy(program, programs / "lull")  # where a new user may read it
        user = new_user(stack, home)
        environment = {"PATH": f"{programs}:{os.defpath}", "HOME": str(home), "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=home,
            env=environment,
            user=user,
            group=user,
            extra_groups=[] if user else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        owner = (home / "ranks.csv").stat().st_uid if (home / "ranks.csv").exists() else None
    print(f"by {user or 'this user'}:\n{done.stdout}", flush=True)
    parts = dict(re.findall(r"^== (\d+)\n(.*?)(?=^== \d+\n|\Z)", done.stdout, re.DOTALL | re.MULTILINE))
    said = [parts.get(str(i), "") for i in range(len(blocks))]
    found = [f"exit code {done.returncode}"] if done.returncode else [*faults(blocks, said)]
    if user and owner in (None, os.geteuid()):
        found.append(f"the result's owner is {owner}")
    if [kind for kind, _ in blocks] != ["sh", "text"] * 3:
        found.append("the page has other blocks than three of commands, each with what it prints")
    sys.exit("\n".join(found) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
