# SPDX-License-Identifier: Apache-2.0
"""Names that a program gives to its exchanges, over the real library on CPU threads, with a torch that is made up."""

import threading
import unittest

import fake_torch
import lull
import lull.deepspeed
from lull import waits


class NamedWaits(fake_torch.WithFakeTorch):
    def receive(self, peer=1):
        return self.group().recv([fake_torch.Tensor()], peer, 0)

    def send(self, peer=1):
        return self.group().send([fake_torch.Tensor()], peer, 0)

    def test_micro_batches_are_counted_in_each_step(self):
        with self.observe():
            for _ in range(2):
                for _ in range(3):
                    with lull.named_waits(recv="recv_forward", send="send_backward"):
                        self.receive().wait()
                        self.receive().wait()
                with lull.named_waits(recv="recv_backward"):
                    self.receive().wait()
                self.torch.optimizer_step()
        step = [f"recv_forward {number}{more}" for number in range(3) for more in ("", " #1")] + ["recv_backward 0"]
        self.assertEqual(self.sites, 2 * step)
        self.assert_restored()

    def test_a_direction_without_a_name_is_named_by_its_peer(self):
        with self.observe():
            with lull.named_waits(recv="recv_forward"):
                self.send().wait()
                self.receive().wait()
            self.receive().wait()
        self.assertEqual(self.sites, ["send to 1 #0", "recv_forward 0", "recv from 1 #0"])

    def test_a_scope_that_receives_nothing_is_not_counted(self):
        with self.observe():
            for receives in (False, True):
                with lull.named_waits(recv="recv_forward", send="send_backward"):
                    works = [self.send(), *([self.receive()] if receives else [])]
                for work in works:
                    work.wait()  # a name stays with its work
        self.assertEqual(self.sites, ["send_backward 0", "send_backward 1", "recv_forward 0"])

    def test_a_batch_is_named_by_what_it_receives(self):
        group, tensor = self.group(), fake_torch.Tensor()
        with self.observe():
            for receives in (True, False):
                with lull.named_waits(recv="recv_forward", send="send_backward"):
                    group._start_coalescing(None)
                    group.send([tensor], 1, 0)
                    if receives:
                        group.recv([tensor], 1, 0)
                    group._end_coalescing(None).wait()
        self.assertEqual(self.sites, ["recv_forward 0", "send_backward 1"])

    def test_names_end_with_their_scope_and_are_those_of_a_thread(self):
        with self.observe():
            with self.assertRaises(KeyError), lull.named_waits(recv="outer"):
                with lull.named_waits(recv="inner"):
                    self.receive().wait()
                self.receive().wait()
                other = threading.Thread(target=lambda: self.receive().wait())
                other.start()
                other.join()
                raise KeyError
            self.receive().wait()
        self.assertEqual(self.sites, ["inner 0", "outer 0", "recv from 1 #0", "recv from 1 #1"])

    def test_many_micro_batches_share_a_name(self):
        with self.observe():
            for _ in range(waits.MOST_INDICES + 2):
                with lull.named_waits(recv="recv_forward"):
                    self.receive().wait()
                    self.stream.synchronize()
        self.assertEqual(self.sites[-3:], ["recv_forward 63", "recv_forward 64+", "recv_forward 64+ #1"])

    def test_without_brackets_it_does_nothing(self):
        def exchange():
            with lull.named_waits(recv="recv_forward"):
                self.receive().wait()

        exchange()
        with self.observe() as side:
            with side.suspended():
                exchange()
            exchange()
        with self.observe(bracket_waits=False):
            exchange()
        self.assertEqual(self.sites, ["recv_forward 0"])

    def test_an_engine_without_a_pipeline_is_refused(self):
        with self.assertRaisesRegex(lull.Error, "object has no instruction RecvActivation, .*PipelineModule"):
            with lull.deepspeed.named_waits(object()):
                self.fail("it must not begin")


if __name__ == "__main__":
    unittest.main()
