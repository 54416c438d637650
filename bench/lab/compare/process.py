# SPDX-License-Identifier: Apache-2.0
"""Side work in another process, which the program `replays` is."""

import resource

from lab.process import ANSWER_S, Asked

START_S = 120


def cpu_ms():
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (used.ru_utime + used.ru_stime)


class SideProcess(Asked):
    """Replays the step without pause between `resume` and `suspend`."""

    def __init__(self, command, environment):
        super().__init__(command, environment)
        self.done = {"steps": 0, "cpu_ms": 0.0}
        try:
            self.told = self.answer(START_S)
        except BaseException:
            self.end()
            raise

    def resume(self):
        self.ask("start", ANSWER_S)

    def suspend(self):
        for key, value in self.ask("stop", ANSWER_S).items():
            self.done[key] += value

    def steps(self):
        return self.done["steps"]
