# SPDX-License-Identifier: Apache-2.0
"""ray_test.py PROGRAM ROOT [cluster]: docs/recipes/ray_agents.py on CPU threads. What needs Ray is run with `cluster`,
in a real Ray of this machine; exit code 77 where Ray is not installed."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
NEEDS_RAY = sys.argv[3:] == ["cluster"]
sys.path.insert(0, str(ROOT / "docs/recipes"))
if NEEDS_RAY:
    try:
        import ray
    except ImportError as missing:
        print(f"NOT RUN: {missing}; pip install ray, 270 MB, and -DPython3_EXECUTABLE= that Python")
        sys.exit(77)

import ray_agents
from recipe import await_that, own_queue

THREADS = ("--executor", "threads")
SHORT = "mlp:epochs=1,hidden=32"
ENDLESS = "mlp:epochs=100000,hidden=64"
HOLDS_AN_AGENT = """
import sys, time
import ray_agents
held = ray_agents.Agent(sys.argv[1], ("--executor", "threads"))
time.sleep(600)
"""


class recipe(unittest.TestCase):
    def setUp(self):
        self.queue = self.enterContext(own_queue(PROGRAM))
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(self.queue.environment, PYTHONPATH=str(ROOT / "docs/recipes"))
        self.address = os.environ.pop("LULL_QUEUE")  # it is given as the recipe gives it

    def await_no_agent(self):
        await_that(lambda: len(self.queue.ask("agents").splitlines()) == 1, "the agents' end")

    def submit_and_await(self):
        short, endless = self.queue.submit(SHORT), self.queue.submit(ENDLESS)
        self.queue.await_state(short, "done")
        self.queue.await_state(endless, "running")
        return endless


@unittest.skipIf(NEEDS_RAY, "without Ray")
class agents(recipe):
    def test_one_does_jobs_and_saves_what_it_has_when_it_is_stopped(self):
        with ray_agents.Agent(self.address, THREADS) as agent:
            endless = self.submit_and_await()
            self.assertIsNone(agent.code())
        self.assertEqual(agent.code(), 130)
        self.queue.await_state(endless, "saved")

    def test_one_whose_process_is_killed_saves_what_it_has(self):
        holder = subprocess.Popen([sys.executable, "-B", "-c", HOLDS_AN_AGENT, self.address], stdin=subprocess.DEVNULL)
        self.addCleanup(holder.wait, 60)
        self.addCleanup(holder.kill)
        endless = self.submit_and_await()
        holder.kill()
        self.queue.await_state(endless, "saved")
        self.assertEqual(self.queue.job(endless)["reason"], "its agent was stopped")
        self.await_no_agent()


@unittest.skipUnless(NEEDS_RAY, "with Ray")
class cluster(recipe):
    def setUp(self):
        super().setUp()
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"  # Ray believes that they are there
        ray.init(num_cpus=1, num_gpus=2, include_dashboard=False, log_to_driver=False)
        self.addCleanup(ray.shutdown)

    def test_the_programs_actors_do_jobs_and_save_them_when_it_is_asked_to_end(self):
        command = [sys.executable, "-B", ROOT / "docs/recipes/ray_agents.py", self.address, *THREADS]
        address = ray.get_runtime_context().gcs_address
        program = subprocess.Popen(command, env={**os.environ, "RAY_ADDRESS": address}, stdin=subprocess.DEVNULL)
        self.addCleanup(program.wait, 60)
        self.addCleanup(program.kill)
        endless = [self.submit_and_await(), self.queue.submit(ENDLESS)]
        self.queue.await_state(endless[1], "running")  # a second agent, for the second GPU
        program.terminate()
        for job in endless:
            self.queue.await_state(job, "saved")
            self.assertEqual(self.queue.job(job)["reason"], "its agent was stopped")
        self.assertEqual(program.wait(60), 0)
        self.await_no_agent()

    def test_what_an_actor_had_that_is_killed_goes_on_elsewhere(self):
        (first, second) = ray_agents.start(self.address, THREADS)
        ray.get([first.code.remote(), second.code.remote()])
        endless = self.submit_and_await()
        for actor in (first, second):  # as with its node: Ray kills its agent, too
            ray.kill(actor)
        actors = ray_agents.start(self.address, THREADS)
        await_that(lambda: self.queue.job(endless)["attempts"] == 2, "another attempt, after the lease")
        self.queue.await_state(endless, "running")
        ray_agents.stop(actors)


if __name__ == "__main__":
    signal.alarm(280)  # a wait inside Ray has no limit of its own
    unittest.main(argv=sys.argv[:1], verbosity=2)
