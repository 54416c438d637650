# SPDX-License-Identifier: Apache-2.0
"""The end of a side step's job: how its outputs are taken, and how its memory goes back. With the stand-ins of
side_stand_ins.py."""

import threading
import time
import unittest

import side_stand_ins


class AJob(side_stand_ins.JobCase):
    def test_gives_its_memory_back_once_whichever_thread_finds_it_over(self):
        job = self.submit()
        given_back = []
        self.captured.release = lambda: (time.sleep(0.02), given_back.append(1))
        self.run_steps(job, 10)
        threads = [threading.Thread(target=job.wait) for _ in range(4)]
        threads += [threading.Thread(target=lambda: self.wait_for(lambda: job._is_over(0))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        self.assertEqual(given_back, [1])

    def test_whose_outputs_are_left_early_gives_the_rest_later(self):
        job = self.submit()
        self.run_steps(job, 10)
        self.assertTrue(job.wait())
        outputs = job.outputs()
        for (first,) in outputs:
            break
        self.assertEqual((float(first), len(outputs)), (0, 9))
        self.assertEqual(self.numbers(job.outputs()), [*range(1, 10)])
        self.assertEqual([*outputs], [])


if __name__ == "__main__":
    unittest.main()
