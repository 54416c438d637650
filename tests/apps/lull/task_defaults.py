# SPDX-License-Identifier: Apache-2.0
"""How each task is asked for with its defaults: only what it cannot do without is given, and what makes it short."""

import pathlib
import re
import subprocess

SHORT = {
    "pagerank": "sweeps=3",
    "bfs": "source=0",
    "components": "top=1",
    "sssp": "source=0",
    "triangles": "top=3",
    "kcore": "uniform=8",
    "betweenness": "samples=2",
    "graph_sgd": "users=100,items=40,count=2000,epochs=2",
    "images": "in={folder}/pictures,out={folder}/results,width=32",
    "mlp": "hidden=16,epochs=1,model={folder}/model.safetensors",
    "classify": "model={folder}/model.safetensors,out={folder}/answers.txt",  # after mlp, which writes it
    "product": "rows=64,columns=64,depth=64",
    "compute": "items=64,rounds=2",
    "streaming": "items=8,rounds=2",
}


def requests(listing, folder, picture):
    """One request for each task of the listing, in an order in which each finds what it needs."""
    known = set(re.findall(r"^(\w+):", listing, re.MULTILINE))
    assert known == set(SHORT), f"say in task_defaults.py how to ask for {sorted(known ^ set(SHORT))}"
    pictures = pathlib.Path(folder, "pictures")
    pictures.mkdir()
    (pictures / "one.png").write_bytes(pathlib.Path(picture).read_bytes())
    return [f"{name}:{options.format(folder=folder)}" for name, options in SHORT.items()]


def run_program(program, folder, picture, environment):
    """Runs each task's defaults on CPU threads through a program."""
    listing = subprocess.run([program, "tasks"], env=environment, check=True, capture_output=True, text=True).stdout
    for task in requests(listing, folder, picture):
        command = [program, "run", "--executor", "threads", "--task", task]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 0 and "finished" in done.stdout, (task, done)
