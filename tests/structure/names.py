# SPDX-License-Identifier: Apache-2.0
"""names.py ROOT: names that mean something else in the glossary or in the field, and sentences that have to be read
twice.

Names are those of files, and of types, members and variables in C++ and CUDA; sentences are in comments, messages,
documents and scripts."""

import re

import figures
import tree

NAMES = {
    r"keeper_?": "dispatcher",
    r"serving": "feeder_thread",
    r"surroundings|startup": "environment",
    r"room_plan": "sm_filter",
    r"remains": "orphans",
    r"landing(_policy)?": "closing, close_policy",
    r"worker_site": "worker_params",
    r"visiting|on_device(?!\()": "device_guard",
    r"last_look": "exit_look",
    r"(open|close)_(gate|edge)_again": "open_captured_gate, close_captured_gate",
    r"a?lone(_\w+)?": "solo",
    r"plain_work": "always_on",
    r"asked_task|files_apart|conclusion": "job_spec, path_conflicts, finish",
    r"catalogue": "registry",
    r"tile_board|tile_feeder": "operand_buffer, tile_producer",
    r"claiming_team": "streaming_team",
    r"(most|longest|largest)_\w+": "max_…",
    r"fewest_\w+": "min_…",
    r"bearings": "known_phase",
    r"standing(_kinds)?": "placed, armed_worker",
    r"told_as": "report_index",
    r"tells_": "opening_line_",
    r"leave_(alone|behind)\w*": "detach, leak, keep_orphans",
    r"max_goodbye": "max_…, with what is waited for",
}
NAME = re.compile(r"(?<![\w.>])(" + "|".join(NAMES) + r")\b")
FILE = re.compile(
    r"keeper|serving|surroundings|startup|standing|room_plan|ranges|alone|lone_\w+|plain_work|asked_task|files_apart"
    r"|conclusion|catalogue|claiming_team|submitted|remains|landing|visiting|on_device|bearings|stay|highest|lanes"
)
SENTENCE = re.compile(
    r"\b(anew|of ours|is had|nobody (asks|looks)|no more than|whoever|gone on with|one behind the other|in peace"
    r"|who (has|is|asks|looks|comes|ends|feeds|finds|claims|loses|takes)|he (has|is|then|may|must|can)"
    r"|(after|for|stays?|waits?) so long|(job|phase|task) at hand|stands twice)\b",
    re.IGNORECASE,
)
# In documents alone, outside code and keys.
IN_DOCUMENTS = re.compile(
    r"\b((any|every|no|some)body|any more|at hand|said of|behind|before so long|so long before"
    r"|(is|are|was|were) had|would make way|the more \w+ the more|is given at most|never will be|will be, but|far tamer"
    r"|told as|what for|thereby)\b",
    re.IGNORECASE,
)
# In comments of folders that are free of these. A node of a graph may be `behind` another in code, not in a sentence.
IN_COMMENTS = re.compile(r"//.*\b(behind|ahead of|anybody|any more|in vain|said of)\b", re.IGNORECASE)
CLEAN = (
    *("device/", "host/", "tasks/", "graph/", "apps/", "bench/"),
    *("tests/device/", "tests/host/", "tests/tasks/", "tests/support/"),
)
TEXTS = tree.CODE | {".c", ".py", ".md", ".sh", ".cmake"}
HISTORY = ("docs/results/", "CHANGELOG.md")
THIS = "tests/structure/"  # where the words stand that are looked for


def instead(word):
    return next(better for pattern, better in NAMES.items() if re.fullmatch(pattern, word))


def sentences(name, phrases, text):
    for found in phrases.finditer(text):
        number = text.count("\n", 0, found.start()) + 1
        yield f"{name}:{number}: '{found.group()}': say it in a sentence that names who or what acts"


def check(root):
    findings, checked = [], 0
    for name in tree.files(root):
        if name.suffix not in TEXTS or str(name).startswith((*HISTORY, THIS)):
            continue
        checked += 1
        if name.suffix in tree.CODE:
            if FILE.fullmatch(name.stem):
                findings.append(f"{name}: a file of this name says something else than it holds: see names.py")
            for number, line in enumerate(tree.code_lines(root, name), start=1):
                if line.lstrip().startswith("#"):
                    continue
                findings += [
                    f"{name}:{number}: {word.group()}: the glossary says {instead(word.group(1))}"
                    for word in NAME.finditer(line)
                ]
        whole = "\n".join(tree.lines(root, name))
        findings += sentences(name, SENTENCE, whole)
        if name.suffix == ".md":
            prose = figures.DEFINITION.sub("", figures.USE.sub(r"\1", figures.without_code(whole)))
            findings += sentences(name, IN_DOCUMENTS, prose)
        elif name.suffix in tree.CODE and str(name).startswith(CLEAN):
            findings += sentences(name, IN_COMMENTS, whole)
    return findings, checked


if __name__ == "__main__":
    import sys

    tree.report(*check(sys.argv[1]))
