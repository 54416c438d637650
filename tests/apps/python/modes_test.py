# SPDX-License-Identifier: Apache-2.0
"""A program runs alike where Lull is on, observes, or is off; and a program learns why Lull is off."""

import contextlib
import dataclasses
import inspect
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import lull
from lull import binding, heard, sites, task_lists

EXAMPLE = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "9_in_python.py"
HERE = {"executor": "threads", "bracket_waits": False}
ASKED = {"harvest": lull.harvest, "observe": lull.observe}


def step():
    pass


class Modes(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        printed = contextlib.redirect_stderr(io.StringIO())
        printed.__enter__()
        self.addCleanup(printed.__exit__, None, None, None)

    def test_the_readme_s_example_runs_in_each(self):
        for word in ("", "on", "observe", "off"):
            with self.subTest(word), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, EXAMPLE], cwd=folder, env={**os.environ, "LULL": word}, timeout=120
                )
                self.assertEqual(done.returncode, 0)

    def test_the_environment_lowers_the_mode_and_never_raises_it(self):
        for asked, word, found in (
            ("harvest", "on", "on"),
            ("harvest", "observe", "observe"),
            ("harvest", "off", "off"),
            ("observe", "on", "observe"),
            ("observe", "observe", "observe"),
            ("observe", "off", "off"),
        ):
            with self.subTest(asked=asked, word=word), mock.patch.dict(os.environ, LULL=word):
                with ASKED[asked](**HERE) as side:
                    self.assertEqual((side.mode, side.why_off), (found, "LULL=off" if found == "off" else ""))

    def test_all_of_a_scope_works_where_nothing_runs(self):
        for word in ("observe", "off"):
            with self.subTest(word), mock.patch.dict(os.environ, LULL=word):
                with lull.harvest("compute,pagerank:graph=/nowhere/at-all.el", **HERE) as side:
                    later = side.submit("compute:items=8", name="later", priority=3)
                    self.assertEqual(
                        [each.task.split(":")[0] for each in side.jobs], ["compute", "pagerank", "compute"]
                    )
                    with side.submit("compute") as closed:
                        pass
                    for job in side.jobs:
                        for call in (job.pause, job.resume, job.cancel, job.let_go, job.close, job.close):
                            call()
                        self.assertEqual((job.state, job.over, job.rounds()), ("off", True, 0))
                        self.assertEqual((job.wait(), job.wait(0), job.hold(0), job.result()), (True, True, True, ""))
                        self.assertEqual(job.verify(), (False, "the job is off: it never ran"))
                    with side.bubble("mine", self.stream), side.pause_all(), side.suspended():
                        pass
                    (
                        side.step(self.stream),
                        side.skip_step(),
                        side.bound_slowdown(0.01),
                        side.assume_slowdown("compute", 0.01),
                    )
                    self.assertEqual(side.counts()["opened"], 0 if word == "off" else 1)
                    self.assertEqual((side.counts()["launches"], side.give_back(1)), (0, 0))
                    self.assertIsNone(side.slowdown("compute"))
                    self.assertEqual(side.ready(self.stream), False)
                    self.assertEqual(side.steps().get("withheld", 0), 0)
                    side.report()
                self.assertEqual((later.state, closed.state), ("off", "off"))

    def test_what_is_no_task_is_refused_in_each(self):
        for word in ("on", "observe", "off"):
            with self.subTest(word), mock.patch.dict(os.environ, LULL=word), lull.harvest(**HERE) as side:
                with self.assertRaisesRegex(ValueError, r"step is a function: wrap it, .*lull.side_step\(step"):
                    side.submit(step)
                for wrong in (None, 7, ["compute"], b"compute"):
                    with self.assertRaisesRegex(lull.Error, "is no task"):
                        side.submit(wrong)
                self.assertEqual(side.jobs, [])
        for wrong in (step, lull.side_step(step, steps=1), None):
            with self.assertRaisesRegex(ValueError, "is no task"):
                lull.harvest(["compute", wrong], **HERE)

    def test_a_text_may_list_tasks(self):
        with lull.harvest("compute:items=8,rounds=2, pagerank:kronecker=6,compute", **HERE) as side:
            self.assertEqual(
                [job.task for job in side.jobs], ["compute:items=8,rounds=2", "pagerank:kronecker=6", "compute"]
            )
        for text, tasks in {
            "": [],
            "a,,b, ": ["a", "b"],
            "p:graph=web.el,out=r.txt": ["p:graph=web.el,out=r.txt"],
            "p:graph='a,b=c.el',top=3,q": ["p:graph='a,b=c.el',top=3", "q"],
            r'p:graph="a\"b,c.el",top=3': [r'p:graph="a\"b,c.el",top=3'],
            "p:graph=it's,top=3,out='x,y'": ["p:graph=it's,top=3,out='x,y'"],
            "./l.so:mine,size=8,c": ["./l.so:mine,size=8", "c"],
            "c,./x=y.so:q,z=1": ["c", "./x=y.so:q,z=1"],
            '"./a,b:c.so":d,e=1,f:g=2': ['"./a,b:c.so":d,e=1', "f:g=2"],
        }.items():
            with self.subTest(text):
                self.assertEqual(task_lists.split(text), tasks)


class WhyOff(unittest.TestCase):
    """What the C library finds at its start is its own tests' business; here is what Python tells."""

    def setUp(self):
        self.library = binding.load()

    def turned_off(self, why):
        """As an error of the machine does, on a thread of the library's."""
        patches = contextlib.ExitStack()
        self.addCleanup(patches.close)

        def mode(_, found, into, size, needed):
            found._obj.value = 1
            if needed is not None:
                needed._obj.value = len(why.encode()) + 1
            if into is not None:
                into.value = why.encode()
            return 0

        patches.enter_context(mock.patch.object(self.library, "lull_get_mode", mode))
        return patches

    def test_at_the_start(self):
        with self.turned_off("CUDA_DEVICE_MAX_CONNECTIONS=2: …"), self.assertLogs("lull", "WARNING") as told:
            with lull.harvest("compute", **HERE) as side:
                self.assertEqual((side.mode, side.why_off), ("off", "CUDA_DEVICE_MAX_CONNECTIONS=2: …"))
        self.assertEqual(told.output, ["WARNING:lull:Lull is off: CUDA_DEVICE_MAX_CONNECTIONS=2: …"])
        self.assertEqual(side.why_off, "CUDA_DEVICE_MAX_CONNECTIONS=2: …", "after the scope, too")

    def test_in_mid_training_and_once(self):
        with self.assertLogs("lull", "WARNING") as told, lull.harvest("compute", **HERE) as side:
            self.assertEqual(side.why_off, "")
            with self.turned_off("launch failed: broken (700)"):
                for _ in range(2):
                    thread = threading.Thread(target=heard._hear, args=(None, b"harvesting is off: launch failed"))
                    thread.start()
                    thread.join()
                deadline = time.monotonic() + 10
                while not told.output:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.005)
                self.assertEqual((side.mode, side.why_off), ("off", "launch failed: broken (700)"))
        self.assertEqual(told.output, ["WARNING:lull:Lull is off: launch failed: broken (700)"])

    def test_where_no_line_came(self):
        with self.assertLogs("lull", "WARNING") as told:
            side = lull.Runtime(executor="threads")
            with self.turned_off("broken"):
                side.close()
        self.assertEqual(told.output, ["WARNING:lull:Lull is off: broken"])

    def test_what_was_asked_for_is_no_warning(self):
        with self.assertNoLogs("lull", "WARNING"), lull.Runtime(executor="threads", mode="off") as side:
            self.assertEqual((side.mode, side.why_off), ("off", ""))
            self.assertEqual(side.submit("compute").state, "off")
        self.assertEqual(side.why_off, "")


class Sites(unittest.TestCase):
    """A name is checked once, and never raises in the training loop; nor does a scope that ends inside a bubble."""

    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)
        self.addCleanup(sites._known.clear)

    def test_names_that_cannot_be(self):
        class Odd:
            def __str__(self):
                raise ZeroDivisionError

        for name, site in {
            "": b"unnamed",
            "x" * 300: b"x" * 255,
            "a\0b": b"a b",
            "é" * 200: "é".encode() * 127,
            "\ud800": b"?",
            7: b"7",
            b"raw": b"raw",
            Odd(): b"unnamed",
            None: b"None",
        }.items():
            sites._known.clear()
            with self.subTest(site), self.assertLogs("lull", "WARNING") as told:
                self.assertEqual([sites.site_of(name) for _ in range(3)], [site] * 3)
                self.assertEqual(len(told.output), 1)
        with self.assertNoLogs("lull", "WARNING"):
            self.assertEqual(sites.site_of("x" * 255), b"x" * 255)

    def test_in_a_scope(self):
        with lull.observe(**HERE) as side, self.assertLogs("lull", "WARNING") as told:
            for name in ("", "x" * 300, "y", "", "x" * 300, 7):
                with lull.bubble(name, self.stream):
                    pass
            self.assertEqual((side.counts()["opened"], len(told.output)), (6, 3))

    def test_a_scope_that_ends_inside_a_bubble(self):
        for inner in ("ends", "raises"):
            with self.subTest(inner), self.assertNoLogs("lull", "WARNING"):
                scope = lull.observe(**HERE)
                side = scope.__enter__()
                with lull.bubble("step", self.stream):
                    with side.bubble("nested", self.stream):
                        scope.__exit__(None, None, None)
                self.stream.synchronize()

    def test_what_goes_wrong_in_a_bubble_is_a_warning(self):
        with lull.observe(**HERE) as side, self.assertLogs("lull", "WARNING") as told:
            for _ in range(3):
                with lull.bubble("step", 4711):  # no stream of Lull's
                    pass
            with mock.patch.object(side._runtime, "close_bubble", side_effect=lull.Error("no")):
                with lull.bubble("step", self.stream):
                    pass
            self.assertEqual(len(told.output), 1, told.output)


class Asked(unittest.TestCase):
    """What may be asked for stands in one place."""

    def test_functions_show_what_they_take(self):
        fields = {each.name for each in dataclasses.fields(lull.Options)}
        shown = set(inspect.signature(lull.harvest).parameters)
        self.assertEqual(shown, fields - {"mode", "attach"} | {"bracket_waits", "queue"})
        self.assertLessEqual(len(shown - {"tuning"}), 14)
        attached = set(inspect.signature(lull.attach).parameters)
        self.assertEqual(attached, fields - {"mode", "attach", "share", "max_slowdown"} | {"address"})
        self.assertEqual(set(inspect.signature(lull.Runtime).parameters), fields | {"options"})

    def test_options_may_be_shared(self):
        asked = lull.Options(executor="threads", mode="observe", tuning=lull.Tuning(armed_ahead=0))
        for named, mode in (
            ({}, "observe"),
            ({"mode": "off"}, "off"),
            ({"mode": "on", "memory_limit_bytes": 1 << 30}, "on"),
        ):
            with lull.Runtime(asked, **named) as side:
                self.assertEqual(side.mode, mode)
        self.assertEqual(asked.mode, "observe")

    def test_names_that_are_not_known(self):
        for call in (lull.harvest, lull.Runtime, lull.Options):
            with self.assertRaisesRegex(TypeError, "armed_behind"):
                call(armed_behind=1)


class Kinds(unittest.TestCase):
    """Errors are what Python calls them, too."""

    def test_arguments_and_inputs(self):
        with lull.Runtime(executor="threads") as side:
            for wrong in ("pagerang", "compute:items=0"):
                with self.assertRaises(ValueError) as told:
                    side.submit(wrong)
                self.assertEqual(
                    (type(told.exception), told.exception.status), (lull.ArgumentError, lull.Status.ERROR_ARGUMENT)
                )
            with self.assertRaisesRegex(ValueError, "/nowhere/at-all.el") as told:
                side.submit("pagerank:graph=/nowhere/at-all.el")
            self.assertEqual(type(told.exception), lull.InputError)
            with self.assertRaises(lull.Error) as told:
                side.submit("product:rows=65536,columns=65536,depth=65536,count=65536")
            self.assertNotIsInstance(told.exception, (ValueError, TimeoutError))
            job = side.submit("compute")
            for call in (lambda: job.wait(-1), lambda: job.wait(float("nan")), lambda: side.wait_all(-1)):
                self.assertRaises(ValueError, call)
        for wrong in (
            {"reserved_groups": -3},
            {"mode": "perhaps"},
            {"reserve_bytes": -1},
            {"tuning": lull.Tuning(launch="now")},
        ):
            with self.assertRaises(ValueError):
                lull.Runtime(**{"executor": "threads", **wrong})
        with self.assertRaisesRegex(TypeError, "reserved_group"):
            lull.harvest(reserved_group=2)

    def test_times(self):
        with lull.Runtime(executor="threads") as side:
            with mock.patch.object(side._library, "lull_pause_all", lambda *_: int(lull.Status.TIMED_OUT)):
                with self.assertRaises(TimeoutError) as told, side.pause_all(0):
                    self.fail("it was entered")
            self.assertEqual(
                (type(told.exception), str(told.exception)), (lull.TimedOut, "workers did not leave within 0 s")
            )

    def test_codes_of_a_later_library(self):
        for code in (99, -1, 13):
            with self.assertRaises(lull.Error) as told:
                binding.check(code)
            self.assertEqual((type(told.exception), told.exception.status), (lull.Error, code))

    def test_states_of_a_later_library(self):
        def status(_, into):
            into._obj.state = 99
            return 0

        with lull.Runtime(executor="threads") as side:
            job = side.submit("compute:items=64,rounds=1000000")
            with mock.patch.object(side._library, "lull_job_get_status", status):
                self.assertEqual((job.state, job.over), ("unknown (99)", False))

    def test_each_can_be_sent_to_another_process(self):
        import pickle

        for kind in (lull.Error, lull.ArgumentError, lull.InputError, lull.TimedOut):
            again = pickle.loads(pickle.dumps(kind("why", lull.Status.ERROR_LIMIT)))
            self.assertEqual((type(again), str(again), again.status), (kind, "why", lull.Status.ERROR_LIMIT))


if __name__ == "__main__":
    unittest.main()
