# SPDX-License-Identifier: Apache-2.0
"""slurm_test.py PROGRAM ROOT: the scripts of docs/recipes/ in a Slurm of one node, on CPU threads. Exit code 77 where
Slurm's programs are missing."""

import pathlib
import re
import sys

from recipe import await_that, own_queue, python_environment
from slurm_cluster import PACKAGES, SlurmCluster, missing_programs

ENDLESS = "mlp:epochs=100000,hidden=64"
SHORT = "mlp:epochs=1,hidden=32"


def agents_on_idle_nodes_save_their_jobs_which_go_on_in_the_next_allocation(slurm, queue, recipes):
    script = [recipes / "idle.sbatch", "--executor", "threads"]
    short, endless = queue.submit(SHORT), queue.submit(ENDLESS)
    first = slurm.submit("--ntasks-per-node=2", *script)
    queue.await_state(short, "done")
    queue.await_state(endless, "running")
    await_that(lambda: queue.checkpoint(endless), "its first checkpoint")
    slurm.ask("scancel", first)
    assert slurm.end(first)[0] == "CANCELLED"
    queue.await_state(endless, "saved")
    # Slurm tells the agents and their programs at the same time.
    told = ("its agent was stopped", "its program was asked to stop")
    assert queue.job(endless)["reason"] in told, queue.job(endless)

    saved = queue.checkpoint(endless)
    second = slurm.submit("--ntasks-per-node=1", *script)
    queue.await_state(endless, "running")
    await_that(lambda: queue.checkpoint(endless) not in (b"", saved), "its next checkpoint")
    slurm.ask("scancel", "--signal=TERM", second)  # as Slurm does by itself before the time is over
    assert slurm.end(second) == ("COMPLETED", "0:0"), slurm.end(second)
    queue.await_state(endless, "saved")
    assert "resumed from" in queue.ask("logs", endless), queue.ask("logs", endless)
    queue.ask("cancel", endless)


def agents_beside_the_ranks_of_a_training_end_with_it(slurm, queue, recipes):
    before = set(pathlib.Path("/tmp").glob("lull-*"))
    switch = slurm.folder / "kill"
    jobs = [queue.submit(SHORT) for _ in range(2)]
    training = [sys.executable, recipes / "train.py", "--steps", "1000000", "--kill-switch", switch]
    number = slurm.submit("--ntasks-per-node=2", recipes / "training.sbatch", "--executor", "threads", "--", *training)
    for job in jobs:
        queue.await_state(job, "done")
    endless = queue.submit(ENDLESS)
    queue.await_state(endless, "running")
    offers = queue.ask("agents")
    for rank in range(2):
        assert re.search(rf"in the bubbles at unix:/tmp/lull-{number}-\d+/rank{rank}\s", offers), offers
    switch.touch()
    assert slurm.end(number) == ("FAILED", "3:0"), "the code of the training"
    queue.await_state(endless, "saved")
    assert queue.job(endless)["reason"] == "its agent was stopped", queue.job(endless)
    assert "unix:" not in queue.ask("agents"), queue.ask("agents")
    assert not [*set(pathlib.Path("/tmp").glob(f"lull-{number}-*")) - before], "the sockets' folder"
    queue.ask("cancel", endless)


def main(program, root):
    if missing := missing_programs():
        print(f"NOT RUN: there is no {', no '.join(missing)}: apt-get install --no-install-recommends {PACKAGES}")
        sys.exit(77)
    recipes = pathlib.Path(root, "docs/recipes").resolve()
    with own_queue(program) as queue:
        folder = queue.folder / "slurm"
        folder.mkdir()
        slurm = SlurmCluster(folder, {**queue.environment, **python_environment(root)})
        try:
            with slurm:
                agents_on_idle_nodes_save_their_jobs_which_go_on_in_the_next_allocation(slurm, queue, recipes)
                agents_beside_the_ranks_of_a_training_end_with_it(slurm, queue, recipes)
        except BaseException:
            print(slurm.logs(), queue.ask("jobs", "--all"), sep="\n")
            raise


if __name__ == "__main__":
    main(*sys.argv[1:])
