# SPDX-License-Identifier: Apache-2.0
"""Side tasks of a shared library, as `lull.harvest(tasks=[…])` takes them."""

import os
import pathlib
import shutil
import tempfile
import unittest

import lull
from lull import task_lists

LIBRARIES = pathlib.Path(os.environ["LULL_LIBRARIES"])
COUNTING = str(LIBRARIES / "libcounting.so")


class Library(unittest.TestCase):
    def harvest(self, *tasks):
        return lull.harvest(tasks, executor="threads", bracket_waits=False)

    def results_of(self, *tasks):
        stream = lull.ThreadsStream()
        self.addCleanup(stream.close)
        with self.harvest(*tasks) as side:
            for _ in range(10_000):
                if all(job.state == "finished" for job in side.jobs):
                    break
                with lull.bubble("step", stream):
                    stream.sleep(0.001)
                stream.synchronize()
            for job in side.jobs:
                self.assertEqual((job.state, job.verify()[0]), ("finished", True))
            return [job.result() for job in side.jobs]

    def test_a_task_beside_one_that_is_linked_in(self):
        results = self.results_of(
            f"{COUNTING}:count_up,rounds=3,label='a;b,c:d'", "compute:items=64,rounds=2", f"{COUNTING}:fed"
        )
        self.assertIn("label <a;b,c:d>", results[0])

    def test_a_path_of_any_characters(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = pathlib.Path(folder, "a: b;c,d=1.so")
            shutil.copy(COUNTING, odd)
            self.assertIn("label <x>", self.results_of(f'"{odd}":count_up,label=x')[0])

    def test_submitting_later(self):
        with self.harvest("compute:items=64,rounds=2") as side:
            self.assertIsNotNone(side.submit(f"{COUNTING}:fold,rounds=2"))

    def test_refusals(self):
        for task, says in {
            "libcounting.so:count_up": "write its path with a '/'",
            "./none.so:x": "there is no such file in",
            COUNTING: "the task's name is missing",
            f"{COUNTING}:cont_up": "known: count_up, ",
            f"{LIBRARIES}/libother_abi.so:x": "it was built for number 99",
            f"{COUNTING}:count_up,throws=usage": "thrown in a library",
        }.items():
            with self.subTest(task), self.assertRaisesRegex(lull.Error, says), self.harvest(task):
                pass

    def test_how_tasks_are_loaded_at_start(self):
        for task, listed in {
            "./a.so:b": "./a.so:b",
            "./a.so:b,c=1,d=2": "./a.so:b;c=1;d=2",
            "./a.so:b:c=1": "./a.so:b;c=1",
            "./a.so:b,c='x,y',d=p;q": "./a.so:b;c='x,y';d=\"p;q\"",
            '"./a,b:c.so":d,e=1': '"./a,b:c.so":d;e=1',
            r'"./a\"b:.so":d,e=1': r'"./a\"b:.so":d;e=1',
            "./a,b.so:d": '"./a,b.so":d',
            "./a.so": "./a.so",
            "spin:out=a/b,c=1": "spin:out=a/b;c=1",
        }.items():
            with self.subTest(task):
                self.assertEqual(task_lists._listed(task), listed)
        many = [f"./a.so:b,c={i}" for i in range(2000)]
        self.assertEqual(task_lists.loaded_at_start(many), ["./a.so:b"])


if __name__ == "__main__":
    unittest.main()
