# SPDX-License-Identifier: Apache-2.0
"""A job of a queue that is a Python function: side work, and what is made of its result. Run it, and it submits itself
for two graphs and starts an agent, on CPU threads."""

import json
import pathlib
import subprocess
import sys
import tempfile

from lull import program


def best(graph: str, out: pathlib.Path, checkpoint_folder: pathlib.Path, count: int = 10):
    ranks = checkpoint_folder / "ranks.tsv"
    yield f"pagerank:{graph},out={ranks}"
    rows = [line.split("\t") for line in ranks.read_text().splitlines()]
    rows.sort(key=lambda row: -float(row[1]))
    out.write_text(json.dumps({vertex: float(rank) for vertex, rank in rows[:count]}))


def main():
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder, "best.py")  # which no other user can change
        code.write_text(pathlib.Path(__file__).read_text())
        code.chmod(0o600)
        job = pathlib.Path(folder, "job.json")
        options = {"graph": "${graph}", "out": f"{folder}/best-${{graph}}.json", "count": 3}
        job.write_text(
            json.dumps(
                {
                    "schema": "lull.job/1",
                    "run": {"python": "best.py:best", "options": options, "results": ["out"]},
                    "array": {"graph": ["kronecker=8", "grid=20"]},
                }
            )
        )
        queue = ["--queue", f"spool:{folder}/queue"]
        allow = ["--allow", folder, "--python", sys.executable]
        for command in (
            ["queue", "init"],
            ["submit", str(job)],
            ["agent", "--executor", "threads", "--until-empty", *allow],
            ["jobs", "--all"],
        ):
            subprocess.run([program.path(), *command, *queue], check=True, cwd=folder, timeout=120)
        found = [json.loads(each.read_text()) for each in sorted(pathlib.Path(folder).glob("best-*.json"))]
        print(*found, sep="\n")
        return [len(each) for each in found] == [3, 3]


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
