# SPDX-License-Identifier: Apache-2.0
"""The Python package over the real library on CPU threads, with a torch that is made up: which waits are bubbles,
that everything is restored however a scope ends, and what is refused."""

import atexit
import contextlib
import gc
import logging
import os
import threading
import unittest
from unittest import mock

import fake_torch
import lull
from lull import binding, waits


class Brackets(fake_torch.WithFakeTorch):
    def test_a_wait_is_between_the_edges(self):
        with self.observe() as side:
            self.assertEqual(side.mode, "observe")
            work = self.group().recv([fake_torch.Tensor()], 1, 0)
            self.assertIs(work.wait(timeout=5), True)
            self.assertEqual(side.counts()["opened"], 1)
        self.assertEqual(self.torch.log, ["open", ("wait", work, 5), "close"])
        self.assert_restored()

    def test_sites_name_what_is_waited_for_and_where_in_the_step(self):
        tensor, group = fake_torch.Tensor(), self.group()
        with self.observe():
            for _ in range(2):
                group.recv([tensor], srcRank=1, tag=0).wait()
                group.send([tensor], 2, 0).wait()
                group.recv([tensor], 1, 0).wait()
                group.recv_anysource([tensor], 0).wait()
                self.torch.optimizer_step()
        self.assertEqual(self.sites, ["recv from 1 #0", "send to 2 #0", "recv from 1 #1", "recv from any #0"] * 2)

    def test_sites_name_peers_by_global_rank(self):
        """Schedules make a group for each edge: a peer is 0 or 1 in each of them."""
        tensor = fake_torch.Tensor()
        with self.observe():
            for group in (self.group(2, 1), self.group(3, 1), self.group(2, 1)):
                group.recv([tensor], 0, 0).wait()
                group.send([tensor], dstRank=0, tag=0).wait()
            for group in (self.group(), self.group(1, 3)):
                group.recv_anysource([tensor], 0).wait()
            group = self.group(0, 2)
            group._start_coalescing(None)
            group.send([tensor], 1, 0)
            group.recv([tensor], 0, 0)
            group._end_coalescing(None).wait()
        self.assertEqual(
            self.sites,
            ["recv from 2 #0", "send to 2 #0", "recv from 3 #0", "send to 3 #0", "recv from 2 #1", "send to 2 #1"]
            + ["recv from any #0", "recv from any of 1,3 #0", "recv from 0, send to 2 #0"],
        )

    def test_groups_that_torch_does_not_know_are_told_apart(self):
        tensor, unknown = fake_torch.Tensor(), [self.group(known=False) for _ in range(2)]
        with self.observe() as side:
            for group in (*unknown, unknown[0], self.group()):
                group.recv([tensor], 1, 0).wait()
            unknown[1].recv_anysource([tensor], 0).wait()
            self.group().recv([tensor], 7, 0).wait()  # a rank that the group does not have
            groups = side._waits._ranks, side._waits._unregistered
            del group, unknown[0]
            gc.collect()
            self.assertEqual([len(each) for each in groups], [0, 1])  # none is kept alive
            self.group(known=False).recv([tensor], 1, 0).wait()
        first = [
            "recv from 1 of group 0 #0",
            "recv from 1 of group 1 #0",
            "recv from 1 of group 0 #1",
            "recv from 1 #0",
        ]
        self.assertEqual(
            self.sites,
            [*first, "recv from any of group 1 #0", "recv from 7 of 0,1,2,3 #0", "recv from 1 of group 2 #0"],
        )

    def test_a_peer_that_cannot_be_named_does_not_reach_the_training(self):
        self.torch.distributed.get_world_size = None
        with self.observe():
            self.group().recv_anysource([fake_torch.Tensor()], 0).wait()
            self.group().recv([fake_torch.Tensor()], "everybody", 0).wait()
        self.assertEqual(self.sites, ["recv from any? #0", "recv from ? #0"])

    def test_many_waits_without_a_step_share_a_site(self):
        with self.observe():
            for _ in range(waits.MOST_INDICES + 3):
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                self.stream.synchronize()
        self.assertEqual(len(set(self.sites)), waits.MOST_INDICES + 1)
        self.assertEqual(self.sites[-1], self.sites[-3])

    def test_a_batch_is_one_bubble(self):
        tensor, group = fake_torch.Tensor(), self.group()
        with self.observe() as side:
            group._start_coalescing(None)
            self.assertIsNone(group.send([tensor], 1, 0))
            self.assertIsNone(group.recv([tensor], 1, 0))
            self.assertIsNone(group.recv([tensor], 1, 0))
            group._end_coalescing(None).wait()
            self.assertEqual(side.counts()["opened"], 1)
            group.recv([tensor], 1, 0).wait()  # and after it single works again
        self.assertEqual(self.sites, ["recv from 1, send to 1 #0", "recv from 1 #0"])

    def test_other_waits_are_left_alone(self):
        group = self.group()
        early = group.recv([fake_torch.Tensor()], 1, 0)
        with self.observe() as side:
            early.wait()  # from before
            group.allreduce([fake_torch.Tensor()]).wait()
            group._start_coalescing(None)
            group._end_coalescing(None).wait()  # of collectives
            group.recv([fake_torch.Tensor(is_cuda=False)], 1, 0).wait()
            group.recv([fake_torch.Tensor(device=1)], 1, 0).wait()  # another device's
            work = group.recv([fake_torch.Tensor()], 1, 0)
            self.torch.current_device = 1
            work.wait()  # on a stream of another device
            self.torch.current_device = 0
            work.wait()  # a second time
            late = group.recv([fake_torch.Tensor()], 1, 0)
            self.assertEqual(side.counts()["opened"], 0)
        late.wait()
        self.assertEqual(self.sites, [])

    def test_a_wait_on_the_stream_that_is_current_then(self):
        """As within torch.cuda.graph, which makes its capture stream current."""
        other = lull.ThreadsStream()
        cuda = self.torch.cuda
        with self.observe() as side:
            works = [self.group().recv([fake_torch.Tensor()], 1, 0) for _ in range(2)]
            with lull.bubble("mine", self.stream):  # open on the stream of before
                with cuda.stream(cuda.ExternalStream(other.__index__(), 0)):
                    works[0].wait()
            works[1].wait()
            counts = side.counts()
        other.close()
        self.assertEqual((counts["opened"], counts["nested"], counts["unmatched"]), (3, 0, 0))
        self.assertEqual(self.sites, ["mine", "recv from 1 #0", "recv from 1 #1"])

    def test_works_are_not_kept_alive(self):
        with self.observe() as side:
            for _ in range(10):
                self.group().recv([fake_torch.Tensor()], 1, 0)
            gc.collect()
            self.assertEqual(len(side._waits._labels), 0)

    def test_waits_from_several_threads(self):
        def train():
            for _ in range(50):
                group = self.group()
                group._start_coalescing(None)
                group.recv([fake_torch.Tensor()], 1, 0)
                group._end_coalescing(None).wait()

        with self.observe() as side:
            threads = [threading.Thread(target=train) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            counts = side.counts()
        self.assertEqual(len(self.sites), 150)
        self.assertEqual(counts["opened"] + counts["nested"] + counts["records_unread"], 150)
        self.assert_restored()

    def test_jobs_finish_in_the_bubbles(self):
        with lull.harvest("compute:items=64,rounds=10", executor="threads") as side:
            job = side.jobs[0]
            for _ in range(10_000):
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                self.stream.synchronize()
                if job.wait(0):
                    break
            self.assertEqual(job.state, "finished")
            self.assertEqual(job.verify(), (True, "64 items completed 10 rounds each"))
        self.assertEqual(job.status()["items"], 640)
        self.assertEqual(job.result(), "")
        job.cancel()  # it is over: nothing happens
        self.assertEqual(job.state, "finished")
        with self.assertRaisesRegex(lull.Error, "the job is finished, and is closed or its runtime has ended"):
            job.verify()
        self.assert_restored()


class Restoring(fake_torch.WithFakeTorch):
    def test_after_an_exception_of_the_training(self):
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            with self.observe():
                raise ZeroDivisionError("mine")
        self.assert_restored()

    def test_after_a_wait_that_raises(self):
        self.torch.wait_raises = TimeoutError("the peer is gone")
        with self.assertRaisesRegex(TimeoutError, "the peer is gone"):
            with self.observe():
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        self.assertEqual(self.torch.log[-1], "close")
        self.assert_restored()

    def test_suspended_for_a_while(self):
        with self.observe() as side:
            early = self.group().recv([fake_torch.Tensor()], 1, 0)
            with self.assertRaises(ZeroDivisionError), side.suspended():
                self.assert_restored()
                early.wait()
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
                raise ZeroDivisionError
            self.assertEqual(self.sites, [])
            self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        self.assertEqual(self.sites, ["recv from 1 #0"])
        self.assert_restored()

    def test_after_a_task_that_is_refused(self):
        for task in ("pagerang", "compute:items=0", "pagerank:graph=/nowhere/at-all.el"):
            with self.subTest(task), self.assertRaises(lull.Error):
                with lull.harvest(["compute:items=16", task], executor="threads"):
                    self.fail("it was entered")
            self.assert_restored()
        with self.observe():  # nothing of it is left in the way
            pass

    def test_a_job_that_does_not_fit_into_memory(self):
        with lull.harvest("compute:items=16", executor="threads") as side:
            with self.assertRaisesRegex(lull.Error, "not enough memory: product needs 1.5 PiB, and ") as refused:
                side.submit("product:rows=65536,columns=65536,depth=65536,count=65536")
            self.assertEqual(refused.exception.status, lull.Status.ERROR_LIMIT)

    def test_one_at_a_time(self):
        with self.observe() as outer:
            with self.assertRaisesRegex(lull.Error, "is on already"):
                with lull.harvest(executor="threads"):
                    self.fail("it was entered")
            self.group().recv([fake_torch.Tensor()], 1, 0).wait()  # the outer one goes on
            self.assertEqual(outer.counts()["opened"], 1)
        self.assert_restored()

    def test_what_somebody_else_wrapped_meanwhile_stays(self):
        work = self.torch.distributed.Work
        with self.assertLogs("lull", logging.WARNING):
            with self.observe():
                ours = work.wait
                work.wait = lambda self, *rest: ours(self, *rest)
                theirs = work.wait
        self.assertIs(work.wait, theirs)
        self.group().recv([fake_torch.Tensor()], 1, 0).wait()  # and works, without edges
        self.assertEqual(self.sites, [])

    def test_an_error_inside_a_bracket_does_not_reach_the_training(self):
        def refuse(*_):
            raise lull.Error("no")

        with self.assertLogs("lull", logging.WARNING) as told:
            with self.observe(), mock.patch.object(lull.Runtime, "open", refuse):
                for _ in range(3):
                    self.assertTrue(self.group().recv([fake_torch.Tensor()], 1, 0).wait())
        self.assertEqual(len(told.output), 1)
        self.assert_restored()

    def test_a_forked_child_is_left_alone(self):
        with self.observe():
            child = os.fork()
            if child == 0:
                restored = fake_torch.snapshot(self.torch) == self.before and not self.torch.hooks
                with lull.bubble("child", self.stream):
                    pass
                os._exit(0 if restored else 1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.group().recv([fake_torch.Tensor()], 1, 0).wait()
        self.assertEqual(self.sites, ["recv from 1 #0"])


class Forks(fake_torch.WithFakeTorch):
    def in_child(self, body):
        """What the body returns in a forked child, as text; the child ends there."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            told = "it did not return"
            try:
                told = str(body())
            except BaseException as why:  # a child that went on would run the other tests
                told = repr(why)
            finally:
                os.write(writing, told.encode())
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        return told

    def called_in_child(self):
        """The library's calls that are made in another process than this one; to be filled."""
        parent, library, called = os.getpid(), binding.load(), []

        def noting(name, call):
            def noted(*arguments):
                if os.getpid() != parent:
                    called.append(name)
                return call(*arguments)

            return noted

        for name in (*binding._CALLS, "lull_error_text"):
            patch = mock.patch.object(library, name, noting(name, getattr(library, name)))
            patch.start()
            self.addCleanup(patch.stop)
        return called

    def test_a_child_calls_nothing_with_what_is_its_parent_s(self):
        called, scopes = self.called_in_child(), contextlib.ExitStack()
        self.addCleanup(scopes.close)
        side = scopes.enter_context(lull.harvest("compute:items=16", executor="threads"))
        bare = scopes.enter_context(lull.Runtime(executor="threads"))
        job = bare.submit("compute:items=16")
        for scope in (side.pause_all(), bare.pause_all(), side.suspended(), side.bubble("open", self.stream)):
            scopes.enter_context(scope)
        pointer = self.stream.__index__()
        bubble = bare.open(b"open", pointer)

        def use_and_leave():
            nonlocal side, bare, job
            seen = [
                side.mode,
                side.counts(),
                side.report(),
                side.ready(self.stream),
                side.submit("compute").state,
                side.jobs[0].state,
            ]
            seen += [
                bare.mode,
                bare.counts(),
                bare.report(),
                bare.ready(pointer),
                bare.open(b"x", pointer),
                bare.wait_all(9),
                job.state,
            ]
            bare.close_bubble(bubble, pointer)
            for refused in (job.cancel, job.result, lambda: job.wait(9), lambda: bare.submit("compute")):
                with self.assertRaisesRegex(lull.Error, "forked"):
                    refused()
            with side.pause_all(), bare.pause_all(), lull.bubble("x", self.stream):
                self.group().recv([fake_torch.Tensor()], 1, 0).wait()
            self.stream.synchronize()
            scopes.close()
            bare.close()
            side = bare = job = None
            gc.collect()
            atexit._run_exitfuncs()
            self.stream.close()
            return seen + called

        nothing = dict.fromkeys(bare.counts(), 0)
        off = ["off", nothing, "", False, "off", "queued", "off", nothing, "", False, 0, True, "queued"]
        self.assertEqual(self.in_child(use_and_leave), str(off))
        bare.close_bubble(bubble, pointer)
        scopes.close()  # the parent's go on as before

    def test_a_child_may_make_its_own(self):
        def use():
            stream = lull.ThreadsStream()
            with (
                lull.harvest(executor="threads", bracket_waits=False) as own,
                lull.Runtime(executor="threads", mode="observe") as bare,
            ):
                bare.close_bubble(bare.open(b"x", stream.__index__()), stream.__index__())
                stream.synchronize()
                return own.mode, bare.counts()["opened"]

        with self.observe():
            self.assertEqual(self.in_child(use), "('on', 1)")


if __name__ == "__main__":
    unittest.main()
