# SPDX-License-Identifier: Apache-2.0
"""Agents of a queue in a Ray cluster, one for each GPU that nothing else uses.

    python3 ray_agents.py spool:/shared/queue [AGENT OPTION…]

SIGINT and SIGTERM have them save their jobs, and end it. Ray counts their GPUs as taken. `Agent` needs no Ray: a worker
of a training starts one beside itself."""

import os
import signal
import subprocess
import sys
import time

STOPS_WITHIN_S = 75  # an agent's own limit is 30 and the queue's lease


class Agent:
    """`lull agent` as a process. If this one dies, the system asks the agent to stop, and it saves its jobs; but Ray
    kills what an actor has started with the actor, and then the jobs go on from their last checkpoints."""

    def __init__(self, queue: str, options: tuple[str, ...] = ()) -> None:
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "lull", "agent", *options],
            env={**os.environ, "LULL_QUEUE": queue},  # not in arguments, which others can read
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def code(self) -> int | None:
        """None while it works; else its exit code."""
        return self._process.poll()

    def stop(self) -> int:
        """Has it save its jobs and end. Returns its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def start(queue: str, options: tuple[str, ...] = ()) -> list:
    """An actor for each GPU of each node, or one for a node without. Each is made where its GPU is free."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actors = []
    for node in ray.nodes():
        gpus = int(node["Resources"].get("GPU", 0)) if node["Alive"] else 0
        for _ in range(max(gpus, 1) if node["Alive"] else 0):
            made = ray.remote(Agent).options(
                num_cpus=0,
                num_gpus=min(gpus, 1),  # Ray shows the agent this GPU and no other: it is device 0
                max_restarts=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            actors.append(made.remote(queue, options))
    return actors


def stop(actors: list) -> list[int]:
    """Their exit codes: 130 of one that was asked to stop."""
    import ray

    return ray.get([each.stop.remote() for each in actors])


def main(queue: str, *options: str) -> None:
    import ray

    ray.init()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    actors = start(queue, options)
    try:
        while True:
            time.sleep(60)
    except KeyboardInterrupt:
        stop(actors)


if __name__ == "__main__":
    main(*sys.argv[1:])
