# SPDX-License-Identifier: Apache-2.0
"""job_schema_test.py PROGRAM ROOT: the published schema of job documents takes what `lull submit` takes."""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import fastjsonschema
except ImportError:
    print("NOT RUN: there is no fastjsonschema here: scripts/python.sh --install tests")
    sys.exit(77)

ID = "1m8p2dfdje4xd7qgvza8"
COMPUTE = {"task": "compute", "options": {"items": 8}}
# What differs from {"schema": "lull.job/1", "run": COMPUTE}, and whether it may.
CASES = [
    (True, {}),
    (True, {"run": {"task": "compute"}, "name": "a b", "user": "u", "priority": -1000, "attempts": 100}),
    (True, {"run": {"task": "compute", "folder": "/tmp", "options": {"items": "8"}}}),
    (True, {"run": {"python": "a/b.py:f", "options": {"x": 1.5, "out": "o"}, "results": ["out"]}}),
    (True, {"run": {"python": "a.b:f"}}),
    (True, {"run": {"task": "./lib.so:t", "options": {"out": "o"}, "results": ["out"]}}),
    (True, {"run": {"command": ["ls", "", "-l"]}}),
    (True, {"deadline": "2026-12-01T10:00:00Z", "at_most": {"wall": "2h"}, "memory": "4GiB"}),
    (True, {"at_most": {"wall": "1.5min"}, "labels": {"a": "b"}, "after": {"jobs": [ID], "if": "any"}}),
    (True, {"array": {"seed": [1, "2", 0.5]}, "run": {"task": "compute", "options": {"items": 8}}}),
    (False, {"schema": "lull.job/2"}),
    (False, {"run": {}}),
    (False, {"run": {"task": "compute", "command": ["ls"]}}),
    (False, {"run": {"task": "compute", "folder": "here"}}),
    (False, {"run": {"task": "compute", "option": {}}}),
    (False, {"run": {"task": "compute", "options": {"items": True}}}),
    (False, {"run": {"task": "compute", "options": {"items": None}}}),
    (False, {"run": {"python": "a.py"}}),
    (False, {"run": {"python": "a.py:"}}),
    (False, {"run": {"python": ":f"}}),
    (False, {"run": {"python": "a:f", "options": {"a=b": 1}}}),
    (False, {"run": {"python": "a:f", "results": "out"}}),
    (False, {"run": {"command": []}}),
    (False, {"run": {"command": "ls"}}),
    (False, {"run": {"command": ["ls"], "options": {}}}),
    (False, {"name": ""}),
    (False, {"name": "a\nb"}),
    (False, {"name": 3}),
    (False, {"priority": 1001}),
    (False, {"priority": 1.5}),
    (False, {"attempts": 0}),
    (False, {"deadline": "tomorrow"}),
    (False, {"at_most": {"wall": 3}}),
    (False, {"at_most": {"walls": "3s"}}),
    (False, {"memory": 4}),
    (False, {"after": {"jobs": []}}),
    (False, {"after": {"jobs": ["x"]}}),
    (False, {"after": {"jobs": [ID], "if": "failed"}}),
    (False, {"labels": {"a": 1}}),
    (False, {"array": {}}),
    (False, {"array": {"seed": []}}),
    (False, {"array": {"seed": [True]}}),
    (False, {"unknown": 1}),
]


def main(program, root):
    schema = json.loads(pathlib.Path(root, "data/schemas/lull.job-1.json").read_text())
    valid = fastjsonschema.compile(schema)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        queue = ["--queue", f"spool:{folder}/queue"]
        subprocess.run([program, "queue", "init", *queue], check=True, timeout=60, capture_output=True)
        for may, change in CASES:
            document = {"schema": "lull.job/1", "run": COMPUTE} | change
            path = pathlib.Path(folder, "job.json")
            path.write_text(json.dumps(document))
            taken = subprocess.run([program, "submit", *queue, path], capture_output=True, text=True, timeout=60)
            try:
                valid(document)
                by_schema = True
            except fastjsonschema.JsonSchemaException:
                by_schema = False
            if (taken.returncode == 0, by_schema) != (may, may):
                said = f"the program {taken.returncode == 0} ({taken.stderr.strip()}), the schema {by_schema}"
                wrong.append(f"{change}: expected {may}, {said}")
    print("\n".join(wrong) or f"{len(CASES)} documents, nothing found")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
