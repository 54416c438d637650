# SPDX-License-Identifier: Apache-2.0
"""What a side step refuses before torch is asked for anything."""

import os
import unittest
from unittest import mock

import lull


def step():
    pass


class ASideStep(unittest.TestCase):
    def assert_refused(self, words, **options):
        with self.assertRaisesRegex(lull.Error, words):
            lull.side_step(step, **{"steps": 5, **options})

    def test_of_no_steps(self):
        self.assert_refused("steps is 0: it must be 1 or more", steps=0)

    def test_without_warm_up(self):
        self.assert_refused("warm_ups is 0: it must be 1 or more", warm_ups=0)

    def test_with_lengths_that_cannot_be(self):
        self.assert_refused("segment is nan seconds", segment=float("nan"))
        self.assert_refused("node_limit is 5e-05 seconds: it must be at least segment, 0.0001", node_limit=5e-5)

    def test_with_inputs_or_feed_alone(self):
        self.assert_refused("inputs and feed belong together", inputs=[object()])
        self.assert_refused("inputs and feed belong together", feed=[])

    def test_with_a_checkpoint_of_nothing(self):
        self.assert_refused("a checkpoint needs state", checkpoint="step.pt")
        self.assert_refused("every needs state", every=5)
        self.assert_refused("every is -1: it must be 0 or more", checkpoint="step.pt", state=[object()], every=-1)

    def test_without_torch(self):
        with lull.Runtime(executor="threads") as side:
            with self.assertRaisesRegex(lull.Error, "a side step needs torch with CUDA"):
                side.submit(lull.side_step(step, steps=5))
            self.assertEqual(side.jobs, [])

    def test_where_nothing_runs(self):
        with lull.Runtime(executor="threads", mode="observe") as side:
            jobs = [side.submit(lull.side_step(step, steps=5)), side.submit_graph(0x1000)]
        with lull.observe(executor="threads", bracket_waits=False) as side:
            jobs.append(side.submit(lull.side_step(step, steps=5)))
        with mock.patch.dict(os.environ, LULL="off"), lull.harvest() as side:
            jobs.append(side.submit(lull.side_step(step, steps=5)))
        for job in jobs:
            self.assertEqual((job.state, job.over, job.wait(), job.result()), ("off", True, True, ""))
        for job in (jobs[0], *jobs[2:]):
            self.assertEqual((job.task, list(job.outputs())), ("step", []))


class AGraph(unittest.TestCase):
    def test_on_threads_is_refused(self):
        with lull.Runtime(executor="threads") as side:
            with self.assertRaisesRegex(lull.Error, "CUDA graph"):
                side.submit_graph(0x1000)
            with self.assertRaisesRegex(lull.Error, "steps is 0: it must be 1 or more"):
                side.submit_graph(0x1000, steps=0)
            for segment in (0, -1, 2, float("nan")):
                with self.assertRaisesRegex(lull.Error, "segment is .*: it must be above 0 and at most 1"):
                    side.submit_graph(0x1000, segment=segment)
            for node_limit in (9e-5, 2, float("nan")):
                with self.assertRaisesRegex(
                    lull.Error, "node_limit is .*: it must be at least segment, 0.0001, and at"
                ):
                    side.submit_graph(0x1000, node_limit=node_limit)
            self.assertEqual(side.jobs, [])

    def test_is_submitted_with_what_was_asked(self):
        seen = []

        def submit(_, graph, options, __):
            seen.append({name: getattr(options._obj, name) for name, *_ in options._obj._fields_})
            return lull.Status.ERROR_LIMIT

        with lull.Runtime(executor="threads") as side, mock.patch.object(side._library, "lull_submit_graph", submit):
            for asked in ({}, {"steps": 7, "segment": 2e-4, "node_limit": 5e-3, "is_fed": True, "hint": False}):
                with self.assertRaises(lull.Error):
                    side.submit_graph(0x1000, **asked)
        fields = ("steps", "segment_ns", "node_limit_ns", "is_fed", "no_hint", "name")
        self.assertEqual([seen[0][name] for name in fields], [1, 100_000, 0, 0, 0, b"graph"])
        self.assertEqual([seen[1][name] for name in fields], [7, 200_000, 5_000_000, 1, 1, b"graph"])


if __name__ == "__main__":
    unittest.main()
