# SPDX-License-Identifier: Apache-2.0
"""commands.py PROGRAM ROOT: the commands of the documents are such as the program takes.

A command `lull …` in a document names a command of the program, and options that its help has. A task that is written
with options, in a command or in Python, has these options."""

import json
import pathlib
import re
import shlex
import subprocess
import sys

CODE = re.compile(r"^```[^\n]*\n(.*?)^```|`([^`\n]+)`", re.S | re.M)
COMMAND = re.compile(r"^(?:\S*/)?lull((?: .*)?)$", re.M)
FLAG = re.compile(r"(?<!\S)--[a-z][a-z-]*")
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "docs/recipes/*.md",
    "docs/examples/*/README.md",
    "apps/python/README.md",
)


def words_of(command):
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # an example in words, with an apostrophe
        return command.split()


def faults_of_command(command, helps):
    words = words_of(command)
    names = [word for word in words if not word.startswith("-")]
    name = next((name for count in (2, 1) if (name := " ".join(names[:count])) in helps), "")
    if not name and names and words[0] == names[0]:
        yield f"lull {names[0]}: there is no such command"
        return
    for flag in FLAG.findall(" ".join(words)):
        if flag not in FLAG.findall(helps[name].replace(",", " ")):
            yield f"lull {name} has no option {flag}"


def faults_of_tasks(text, tasks):
    for name, options in tasks.items():
        for spec in re.findall(rf"\b{name}:((?:[a-z_]+=[^,\s\"'`]*,?)+)", text):
            for option in re.findall(r"(?:^|,)([a-z_]+)=", spec):
                if option not in options:
                    yield f"task {name} has no option {option}"


def check(root, helps, tasks):
    """What is wrong, and how many commands were looked at."""
    found, checked = [], 0
    for path in sorted(path for each in DOCUMENTS for path in pathlib.Path(root).glob(each)):
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(root)
        for code in ("".join(either) for either in CODE.findall(text)):
            for command in COMMAND.findall(code.replace("\\\n", " ")):
                checked += 1
                found += [f"{where}: {fault}" for fault in faults_of_command(command, helps)]
            found += [f"{where}: {fault}" for fault in faults_of_tasks(code, tasks)]
    return found, checked


def said_by(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def names_in(text):
    return re.findall(r"^ {2}([a-z]+) ", text.partition("Subcommands:")[2], re.M)


def main(program, root):
    overview = said_by(program, "--help")
    helps = {"": overview}
    for name in names_in(overview):
        helps[name] = said_by(program, name, "--help")
        for part in names_in(helps[name]):
            helps[f"{name} {part}"] = said_by(program, name, part, "--help")
    listed = json.loads(said_by(program, "tasks", "--json"))["tasks"]
    of_a_job = {"priority"}
    tasks = {task["name"]: of_a_job | {option["name"] for option in task["options"]} for task in listed}
    found, checked = check(root, helps, tasks)
    print("\n".join(found) or f"{checked} commands, nothing found")
    sys.exit(bool(found) or not checked)


if __name__ == "__main__":
    main(*sys.argv[1:])
