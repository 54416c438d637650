# SPDX-License-Identifier: Apache-2.0
"""Training steps that are marked, for a bound on their slowdown."""

import threading
import time
import unittest

import fake_torch
import lull
from lull.optimizer_steps import not_the_trainers


class Optimizer:
    pass


class Steps(fake_torch.WithFakeTorch):
    def steps(self, count):
        for _ in range(count):
            self.stream.sleep(0.001)
            self.torch.optimizer_step()

    def test_an_optimizers_step_ends_one_where_there_is_a_bound(self):
        with lull.harvest(executor="threads", max_slowdown=0.01, tuning=lull.Tuning(draw_seed=7)) as side:
            self.steps(5)
            self.torch.current_device = 1
            self.torch.optimizer_step()  # the current stream is of another device
            self.torch.current_device = 0
            self.assertEqual(side.steps()["begun"], 5)
            while side.steps()["timed"] < 4:
                time.sleep(0.001)
            found = side.steps()
            self.assertGreaterEqual(found["total_ns"], 4e6)
            self.assertEqual(found["chance"], 0.2)
            self.assertNotIn("slowdown", found)
        self.assertEqual((self.created[-1].max_slowdown, self.created[-1].draw_seed), (0.01, 7))
        self.assertEqual(side.steps(), {})
        self.assert_restored()

    def test_an_optimizers_step_ends_none_without_a_bound(self):
        with lull.harvest(executor="threads") as side:
            self.steps(3)
            self.assertEqual(side.steps()["begun"], 0)
            side.step()
            side.step(self.stream)
            self.assertEqual((side.steps()["begun"], side.steps()["chance"]), (2, 1))

    def begun(self, cycles, *optimizers):
        """So many steps in which these are stepped one after another."""
        with lull.harvest(executor="threads", max_slowdown=0.01) as side:
            for _ in range(cycles):
                self.stream.sleep(0.001)
                for each in optimizers:
                    self.torch.optimizer_step(each)
            return side.steps()["begun"]

    def test_several_optimizers_end_one_step(self):
        one, two, three = Optimizer(), Optimizer(), Optimizer()
        self.assertEqual(self.begun(5, one), 5)
        self.assertEqual(self.begun(5, one, two), 5)
        self.assertEqual(self.begun(5, one, two, three), 5)
        self.assertEqual(self.begun(5, one, two, two), 10)  # as in adversarial training

    def test_an_optimizer_that_is_no_longer_stepped_leads_no_more(self):
        for is_gone in (True, False):
            with lull.harvest(executor="threads", max_slowdown=0.01) as side:
                first, second = Optimizer(), Optimizer()
                for each in (first, second) * 3:
                    self.torch.optimizer_step(each)
                self.assertEqual(side.steps()["begun"], 3)
                if is_gone:
                    del first, each
                for _ in range(4):
                    self.torch.optimizer_step(second)
                self.assertGreaterEqual(side.steps()["begun"], 3 + 3)

    def test_a_side_steps_optimizer_ends_none(self):
        with lull.harvest(executor="threads", max_slowdown=0.01) as side:
            optimizer = Optimizer()
            with not_the_trainers():
                for each in (optimizer, None):
                    self.torch.optimizer_step(each)
                with not_the_trainers():
                    pass
                self.torch.optimizer_step(optimizer)
                of_a_thread = threading.Thread(target=self.torch.optimizer_step, args=(Optimizer(),))
                of_a_thread.start()
                of_a_thread.join()
            self.assertEqual(side.steps()["begun"], 1)
            self.torch.optimizer_step(optimizer)  # and the trainer's, which steps it later
            self.torch.optimizer_step(optimizer)
            self.assertEqual(side.steps()["begun"], 3)

    def test_the_programs_own_marks_are_the_only_ones(self):
        with lull.harvest(executor="threads", max_slowdown=0.01) as side:
            self.steps(2)
            side.step()
            self.steps(3)
            self.assertEqual(side.steps()["begun"], 3)

    def test_a_step_that_is_skipped_is_not_timed(self):
        with lull.harvest(executor="threads", max_slowdown=0.01) as side:
            self.steps(3)
            side.skip_step()
            self.steps(3)
            while side.steps()["timed"] < 4:
                time.sleep(0.001)
            time.sleep(0.05)
            self.assertEqual((side.steps()["begun"], side.steps()["timed"]), (6, 4))
        side.skip_step()  # when it is over

    def test_an_optimizers_steps_are_marked_from_a_bound_on(self):
        with lull.harvest(executor="threads") as side:
            self.steps(2)
            side.bound_slowdown(0.01)
            self.steps(3)
            self.assertEqual(side.steps()["begun"], 3)
            side.bound_slowdown(0)
            self.steps(2)
            side.step()
            side.bound_slowdown(0.02)
            self.steps(2)  # the program marks them now
            self.assertEqual(side.steps()["begun"], 0)
            side.step()
            self.assertEqual(side.steps()["begun"], 1)

    def test_a_bound_is_changed_and_a_step_has_a_number(self):
        with lull.harvest(executor="threads") as side:
            side.bound_slowdown(0.01)
            side.step(self.stream, number=1000)
            self.assertEqual((side.steps()["begun"], side.steps()["chance"]), (1, 0.2))
            side.bound_slowdown(0)
            self.assertEqual(side.steps()["chance"], 1)
            with self.assertRaisesRegex(lull.Error, "max_slowdown is -1"):
                side.bound_slowdown(-1)
            for number in (-1, 1 << 64):
                with self.assertRaisesRegex(lull.Error, f"number is {number}: it must be at least 0 and below"):
                    side.step(number=number)
        side.bound_slowdown(0.01)  # when it is over

    def test_noise_is_told_once_it_is_known(self):
        with lull.harvest(executor="threads", max_slowdown=0.01) as side:
            self.assertNotIn("noise", side.steps())
            self.steps(20)
            while side.steps()["timed"] < 19:
                time.sleep(0.001)
            self.assertNotIn("steps_to_know", side.steps())
            for timed in (159, 299):  # the lengths of 256 steps are kept until they are read
                self.steps(140)
                while side.steps()["timed"] < timed:
                    time.sleep(0.001)
            found = side.steps()
            self.assertGreater(found["noise"], 0)
            self.assertGreater(found["steps_to_know"], 0)

    def test_bubbles_of_withheld_steps_are_counted(self):
        with lull.harvest(["compute:rounds=1000000000"], executor="threads", max_slowdown=0.01) as side:
            while not side.ready(self.stream):
                time.sleep(0.001)
            with side.bubble("before the first step", self.stream):
                self.stream.sleep(0.001)
            self.assertEqual((side.counts()["opened"], side.counts()["withheld"]), (0, 1))

    def test_a_bound_that_cannot_be_is_refused(self):
        for bound in (-0.01, 1.01, float("nan")):
            with self.assertRaisesRegex(lull.Error, "max_slowdown is .*: it must be above 0 and at most 1"):
                with lull.harvest(executor="threads", max_slowdown=bound):
                    self.fail("it was entered")
        self.assert_restored()


if __name__ == "__main__":
    unittest.main()
