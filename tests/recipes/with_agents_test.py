# SPDX-License-Identifier: Apache-2.0
"""with_agents_test.py PROGRAM ROOT: docs/recipes/with_agents.sh beside real trainers that share their bubbles, on CPU
threads. torchrun starts the ranks where it is installed, else scripts/ranks.py."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from recipe import await_that, own_queue, python_environment

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
RECIPES = ROOT / "docs/recipes"
SHORT = "mlp:epochs=1,hidden=32"
ENDLESS = "mlp:epochs=100000,hidden=64"
RANKS = [sys.executable, ROOT / "scripts/ranks.py", "--limit", "100", "2"]
TORCHRUN = ["torchrun", "--nproc-per-node", "2", "--no-python"]
TRAIN = [*(TORCHRUN if shutil.which("torchrun") else RANKS), sys.executable, RECIPES / "train.py"]


def processes_with(text):
    """Those whose command line or environment has it."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(text.encode() in (folder / name).read_bytes() for name in ("cmdline", "environ")):
                found.append(int(folder.name))
    return found


class with_agents(unittest.TestCase):
    def setUp(self):
        self.queue = self.enterContext(own_queue(PROGRAM))
        self.temporary = self.queue.folder / "temporary"  # only this test's processes have it in their environment
        self.temporary.mkdir()
        self.environment = {**self.queue.environment, **python_environment(ROOT), "TMPDIR": str(self.temporary)}
        self.switch = self.queue.work / "kill"
        self.said = self.enterContext(tempfile.TemporaryFile())
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for process in processes_with(f"TMPDIR={self.temporary}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        print(self.said_so_far().decode(errors="replace"), flush=True)

    def said_so_far(self):
        return os.pread(self.said.fileno(), 1 << 20, 0)

    def begin(self, *training, ranks="2", **changes):
        """Begins it as a terminal does: in a process group of its own."""
        command = [RECIPES / "with_agents.sh", ranks, "--executor", "threads", "--", *training]
        return subprocess.Popen(
            command,
            env={**self.environment, **changes},
            cwd=self.queue.work,
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=self.said,
            start_new_session=True,
        )

    def end_of(self, begun):
        """Its exit code; nothing that it has started is left."""
        code = begun.wait(60)
        self.assertEqual(processes_with(f"TMPDIR={self.temporary}"), [])
        self.assertEqual(list(self.temporary.iterdir()), [], "the sockets' folder")
        self.assertNotIn("unix:", self.queue.ask("agents"))
        return code

    def begin_endless(self):
        begun = self.begin(*TRAIN, "--steps", "1000000", "--kill-switch", self.switch)
        jobs = [self.queue.submit(ENDLESS) for _ in range(2)]
        for job in jobs:
            self.queue.await_state(job, "running")
        return begun, jobs

    def assert_saved(self, jobs):
        for job in jobs:
            found = self.queue.job(job)
            self.assertEqual((found["state"], found["reason"]), ("saved", "its agent was stopped"))

    def test_jobs_are_done_in_the_bubbles_of_two_ranks_and_the_code_is_the_trainings(self):
        jobs = [self.queue.submit(SHORT) for _ in range(2)]
        begun = self.begin(*TRAIN, "--steps", "1000000", "--kill-switch", self.switch)
        for job in jobs:
            self.queue.await_state(job, "done")
            self.assertIn("lull work", self.queue.ask("logs", job), "an attached worker did it")
        offers = self.queue.ask("agents")
        for rank in range(2):
            self.assertRegex(offers, rf"in the bubbles at unix:{self.temporary}/\S+/rank{rank}")
        self.switch.touch()
        self.assertEqual(self.end_of(begun), 1 if "torchrun" in TRAIN else 3)

    def test_agents_end_with_the_training_and_save_what_they_have(self):
        begun, jobs = self.begin_endless()
        self.switch.touch()
        self.end_of(begun)
        self.assert_saved(jobs)

    def test_ctrl_c_stops_all(self):
        begun, jobs = self.begin_endless()
        os.killpg(begun.pid, signal.SIGINT)
        self.assertNotEqual(self.end_of(begun), 0)
        self.assert_saved(jobs)

    def test_sigterm_stops_all(self):
        begun, jobs = self.begin_endless()
        begun.terminate()
        self.assertNotEqual(self.end_of(begun), 0)
        self.assert_saved(jobs)

    def test_if_it_is_killed_the_training_goes_on_without_agents(self):
        begun, jobs = self.begin_endless()
        begun.kill()
        begun.wait(60)
        for job in jobs:
            self.queue.await_state(job, "saved")
        await_that(lambda: "unix:" not in self.queue.ask("agents"), "the agents' end")
        self.assertNotEqual(processes_with(f"TMPDIR={self.temporary}"), [], "the ranks")

    def test_a_training_does_not_need_its_agents(self):
        for changes in ({"LULL_QUEUE": "spool:/nowhere"}, {"PATH": os.environ["PATH"]}):
            self.assertEqual(self.end_of(self.begin("sh", "-c", "exit 7", **changes)), 7)

    def test_an_agent_says_once_why_it_cannot_attach_and_does_not_blame_the_queue(self):
        (self.temporary / "file").touch()
        job = self.queue.submit(SHORT)
        command = ["lull", "agent", "--executor", "threads", "--attach", f"unix:{self.temporary}/file/socket"]
        agent = subprocess.Popen(command, env=self.environment, cwd=self.queue.work, stderr=self.said)
        beats = self.queue.folder / "queue/agents"
        await_that(lambda: b"/file/socket cannot be used" in self.said_so_far(), "the reason")
        seen = [file.read_bytes() for file in beats.iterdir()]
        await_that(lambda: [file.read_bytes() for file in beats.iterdir()] != seen, "a beat, several looks later")
        self.assertEqual(self.said_so_far().count(b"cannot be used"), 1)
        self.assertNotIn(b"the queue cannot be used", self.said_so_far())
        self.assertEqual(self.queue.job(job)["state"], "queued")
        agent.terminate()
        self.assertEqual(agent.wait(60), 130)

    def test_what_is_asked_wrongly_is_told(self):
        for ranks, training in (("none", ["true"]), ("0", ["true"]), ("2", [])):
            self.assertEqual(self.end_of(self.begin(*training, ranks=ranks)), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
