# SPDX-License-Identifier: Apache-2.0
"""Jobs of a queue that are Python functions or tasks of libraries, run by agents in processes of their own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lull
from any_bubble import ANY_BUBBLE
from lull import entry, program

LIMIT_S = 120
EVALUATE = """
import pathlib

def evaluate(checkpoint: pathlib.Path, out: str, items: int = 64):
    job = yield f"compute:items={items},rounds=20"
    pathlib.Path(out).write_text(checkpoint.read_text() + str(job.status()["items"]))

def one(items: int):
    return f"compute:items={items}"

def raises():
    yield "compute"
    raise ValueError("no such layer")

def saves(out: str, checkpoint_folder: pathlib.Path):
    begun = checkpoint_folder / "begun"
    if begun.exists():
        pathlib.Path(out).write_text("went on")
        return
    begun.write_text("")
    yield "compute:items=1000000,rounds=1000000000"

def gives_a_number():
    yield 3
"""


class Entry(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.code = self.folder / "code"
        self.code.mkdir(0o755)
        self.write("evaluate.py", EVALUATE)
        (self.folder / "step-100.pt").write_text("step 100: ")
        self.queue = f"spool:{self.folder}/queue"
        self.lull("queue", "init", "--lease", "2s")

    def write(self, name, text):
        (self.code / name).write_text(text)
        (self.code / name).chmod(0o644)

    def lull(self, *arguments, code=0):
        done = subprocess.run(
            [program.path(), *arguments, "--queue", self.queue],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def submitted(self, python, options=None, results=(), **more):
        run = {"python": python, "options": options or {}, "results": list(results)}
        document = self.folder / "job.json"
        document.write_text(json.dumps({"schema": "lull.job/1", "run": run, "attempts": 2} | more))
        return self.lull("submit", str(document)).strip()

    def agent(self, *arguments):
        command = [program.path(), "agent", "--queue", self.queue, "--executor", "threads", *arguments]
        started = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(started.stderr.close)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def worked_off(self, *arguments):
        """What the agent says; all that it may run is over then."""
        return self.agent("--until-empty", "--allow", str(self.code), *arguments).communicate(timeout=LIMIT_S)[1]

    def job(self, job):
        return next(each for each in json.loads(self.lull("jobs", "--all", "--json")) if each["id"] == job)

    def assert_refused(self, job, why):
        self.worked_off()
        now = self.job(job)
        self.assertEqual((now["state"], now["attempts"]), ("refused", 1), now)
        self.assertRegex(now["reason"], why)

    def test_a_function_gives_work_and_writes_its_result(self):
        job = self.submitted(
            "code/evaluate.py:evaluate", {"checkpoint": "step-100.pt", "out": "loss.txt", "items": 100}, ["out"]
        )
        module = self.submitted("evaluate:one", {"items": 8})
        self.worked_off()
        self.assertEqual([self.job(each)["state"] for each in (job, module)], ["done", "done"])
        self.assertEqual((self.folder / "loss.txt").read_text(), "step 100: 2000")
        self.assertEqual([each.name for each in self.folder.glob("*attempt*")], [])

    def test_it_is_submitted_from_python(self):
        queue = lull.Queue(self.queue)
        jobs = queue.submit(
            python="evaluate:evaluate",
            options={"checkpoint": pathlib.Path("step-100.pt"), "out": "loss-${items}.txt", "items": "${items}"},
            results=["out"],
            folder=self.folder,
            array={"items": [1, 2]},
        )
        self.worked_off()
        self.assertEqual([job.result_files() for job in jobs], [[self.folder / f"loss-{i}.txt"] for i in (1, 2)])
        self.assertEqual((self.folder / "loss-2.txt").read_text(), "step 100: 40")

    def test_it_works_in_the_bubbles_of_a_trainer(self):
        job = self.submitted("evaluate:evaluate", {"checkpoint": "step-100.pt", "out": "loss.txt"}, ["out"])
        address = f"unix:{self.folder}/socket"
        stream = lull.ThreadsStream()
        self.addCleanup(stream.close)
        with lull.harvest(share=address, executor="threads", bracket_waits=False, tuning=ANY_BUBBLE) as side:
            beside = ["--until-empty", "--allow", str(self.code), "--attach", address]
            self.agent(*beside).communicate(timeout=LIMIT_S)
            self.assertEqual(self.job(job)["state"], "queued", "it has run nowhere without a trainer")
            agent = self.agent(*beside, "--allow-untested")
            deadline = time.monotonic() + LIMIT_S
            while agent.poll() is None and time.monotonic() < deadline:
                with lull.bubble("step", stream):
                    stream.sleep(0.001)
                stream.synchronize()
            self.assertGreater(side.counts()["opened"], 0)
        self.assertEqual(agent.wait(LIMIT_S), 0)
        self.assertEqual(self.job(job)["state"], "done")
        self.assertEqual((self.folder / "loss.txt").read_text(), "step 100: 1280")

    def test_a_first_attempt_may_be_stopped_after_a_time(self):
        job = self.submitted("evaluate:saves", {"out": "out.txt"}, ["out"])
        tries = self.agent("--allow", str(self.code), "--try-for", "1s")
        deadline = time.monotonic() + LIMIT_S
        while self.job(job)["attempts"] < 2 and time.monotonic() < deadline:  # the second is not stopped, and ends
            time.sleep(0.05)
        tries.send_signal(signal.SIGINT)
        self.assertEqual(tries.wait(LIMIT_S), 130)
        self.assertIn("it ran for as long as it is tried for", self.lull("show", job))

    def test_code_is_imported_when_cuda_may_start(self):
        self.write("early.py", "import os\nassert os.environ['CUDA_MPS_CLIENT_PRIORITY'] == '1'\ndef f(): pass\n")
        started = [sys.executable, "-m", "lull.entry", "--attach", f"unix:{self.folder}/none", "--executor", "threads"]
        started += ["--checkpoint", str(self.folder / "saved"), str(self.code / "early.py") + ":f"]
        done = subprocess.run(started, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, entry.NOT_ATTACHED, done.stderr)

    def test_a_stopped_agents_job_goes_on_from_its_checkpoint_folder(self):
        job = self.submitted("evaluate:saves", {"out": "out.txt"}, ["out"])
        agent = self.agent("--allow", str(self.code))
        deadline = time.monotonic() + LIMIT_S
        while not list(self.folder.glob("queue/**/begun")) and time.monotonic() < deadline:
            time.sleep(0.01)
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.wait(LIMIT_S), 130)
        self.assertEqual(self.job(job)["state"], "saved")
        self.worked_off()
        self.assertEqual((self.folder / "out.txt").read_text(), "went on")

    def test_what_cannot_run_as_it_was_asked_for_is_refused(self):
        self.assert_refused(self.submitted("evaluate:nothing"), "has no function nothing")
        self.assert_refused(self.submitted("evaluate:one", {"item": 3}), 'no option "item"; the function takes items')
        self.assert_refused(self.submitted("evaluate:one"), 'option "items" is missing')
        self.assert_refused(self.submitted("evaluate:one", {"items": "x"}), 'option items is "x", which is no int')
        self.assert_refused(self.submitted("evaluate:gives_a_number"), "the function gave 3")

    def test_what_raises_is_tried_again_and_says_why(self):
        job = self.submitted("evaluate:raises")
        self.worked_off()
        self.assertEqual((self.job(job)["state"], self.job(job)["attempts"]), ("failed", 2))
        self.assertRegex(self.job(job)["reason"], "ValueError: no such layer")
        self.assertIn("in raises", self.lull("logs", job))

    def test_sys_exit_is_no_word_about_the_job(self):
        self.write("leaves.py", "import sys\ndef none(): sys.exit()\ndef three(): sys.exit(3)\n")
        jobs = [self.submitted("leaves:none"), self.submitted("leaves:three")]
        self.worked_off()
        for job in jobs:
            self.assertEqual((self.job(job)["state"], self.job(job)["attempts"]), ("failed", 2))
            self.assertRegex(self.job(job)["reason"], r"the code has called sys.exit\(")

    def test_a_result_that_holds_the_jobs_folder_is_refused(self):
        for out in (".", "", "..", str(self.folder), "/"):
            document = self.folder / "job.json"
            run = {"python": "evaluate:evaluate", "options": {"checkpoint": "x", "out": out}, "results": ["out"]}
            document.write_text(json.dumps({"schema": "lull.job/1", "run": run}))
            self.lull("submit", str(document), code=2)

    def test_files_of_an_earlier_attempt_are_not_written_into(self):
        self.write(
            "twice.py",
            "import pathlib\ndef f(checkpoint_folder: pathlib.Path):\n"
            "    with (checkpoint_folder / 'log').open('a') as log: log.write('x')\n"
            "    if len((checkpoint_folder / 'log').read_text()) == 1: raise ValueError\n",
        )
        job = self.submitted("twice:f")
        self.worked_off()
        self.assertEqual(self.job(job)["state"], "done")
        found = {each.parent.name: each.read_text() for each in self.folder.glob("queue/**/log")}
        self.assertEqual(found, {"checkpoint-1": "x", "checkpoint-2": "xx"})

    def test_code_whose_imports_others_can_change_is_refused(self):
        self.write("helper.py", "")
        (self.code / "helper.py").chmod(0o666)
        self.assert_refused(self.submitted("evaluate:one", {"items": 8}), "helper.py could be changed by another user")

    def test_only_code_from_allowed_folders_runs(self):
        outside = self.folder / "outside.py"
        outside.write_text(EVALUATE)
        (self.code / "link.py").symlink_to(outside)
        jobs = [self.submitted(each, {"items": 8}) for each in ("outside.py:one", "code/link.py:one", "outside:one")]
        jobs.append(self.submitted("..outside:one", {"items": 8}))
        self.worked_off()
        self.agent("--until-empty").communicate(timeout=LIMIT_S)
        for each in jobs:
            self.assertEqual(self.job(each)["state"], "queued")
            self.assertRegex(self.lull("jobs", "--why", each), "--allow names a folder that holds it")

    def test_code_that_others_can_change_is_refused(self):
        (self.code / "evaluate.py").chmod(0o666)
        self.assert_refused(self.submitted("evaluate:one", {"items": 8}), "could be changed by another user")
        self.code.chmod(0o775)
        self.assertIn("could be changed by another user", self.worked_off())
        self.assertEqual(self.agent("--allow", str(self.folder / "none")).wait(LIMIT_S), 2)

    def test_nothing_is_imported_from_the_jobs_folder(self):
        for name in ("lull", "json", "evaluate"):
            (self.folder / f"{name}.py").write_text("raise SystemExit(0)")
        job = self.submitted("evaluate:evaluate", {"checkpoint": "step-100.pt", "out": "loss.txt"}, ["out"])
        self.worked_off()
        self.assertEqual(self.job(job)["state"], "done")
        self.assertTrue((self.folder / "loss.txt").exists())

    def test_a_python_without_the_package_leaves_jobs_to_others(self):
        job = self.submitted("evaluate:one", {"items": 8})
        said = self.worked_off("--python", "/bin/false")
        self.assertIn("jobs in Python are left to other agents: /bin/false", said)
        self.assertEqual(self.job(job)["state"], "queued")

    def test_a_task_of_a_library_runs_from_an_allowed_folder(self):
        built = pathlib.Path(os.environ["LULL_LIBRARIES"]) / "libcounting.so"
        library = self.folder / "libraries" / built.name
        library.parent.mkdir(0o755)
        shutil.copyfile(built, library)
        library.chmod(0o755)
        document = self.folder / "job.json"
        run = {"task": f"{library}:count_up", "options": {"items": 8, "label": "a,b"}}
        document.write_text(json.dumps({"schema": "lull.job/1", "run": run}))
        job = self.lull("submit", str(document)).strip()
        self.worked_off()
        self.assertEqual(self.job(job)["state"], "queued")
        self.worked_off("--allow", str(library.parent))
        self.assertEqual(self.job(job)["state"], "done", self.job(job))
        self.assertIn("a,b", self.lull("logs", job))

    def test_results_are_of_jobs_that_do_not_say_themselves_what_they_write(self):
        document = self.folder / "job.json"
        run = {"task": "compute", "options": {"items": 8}, "results": ["items"]}
        document.write_text(json.dumps({"schema": "lull.job/1", "run": run}))
        self.lull("submit", str(document), code=2)


class Options(unittest.TestCase):
    def test_are_what_their_parameters_say(self):
        def function(a: int, b: float, c: bool, d: pathlib.Path, e, *, f: str = "f"):
            pass

        given = {"a": "3", "b": "1e-3", "c": "true", "d": "x/y", "e": "7"}
        self.assertEqual(
            entry.arguments_of(function, given, pathlib.Path("saved")),
            {"a": 3, "b": 1e-3, "c": True, "d": pathlib.Path("x/y"), "e": "7"},
        )
        for name, text in (("a", "3.5"), ("b", "x"), ("c", "yes")):
            with self.assertRaisesRegex(entry.Refused, name):
                entry.arguments_of(function, given | {name: text}, pathlib.Path("saved"))

    def test_of_other_kinds_are_refused(self):
        def function(a: list):
            pass

        with self.assertRaisesRegex(entry.Refused, "annotated"):
            entry.arguments_of(function, {"a": "3"}, pathlib.Path("saved"))

    def test_may_be_any_where_the_function_takes_all(self):
        def function(**others):
            pass

        self.assertEqual(entry.arguments_of(function, {"a": "3"}, pathlib.Path("saved")), {"a": "3"})
        with self.assertRaisesRegex(entry.Refused, "checkpoint_folder"):
            entry.arguments_of(function, {"checkpoint_folder": "elsewhere"}, pathlib.Path("saved"))


if __name__ == "__main__":
    sys.exit(unittest.main())
