# SPDX-License-Identifier: Apache-2.0
"""Four ranks of a trainer, each a process and one of them a second, that withhold side work in the same steps, whatever
starts late or again."""

import contextlib
import json
import subprocess
import sys
import time
import unittest

import lull

SPELLS, CHANGE = 120, 60  # at the second a rank starts late, and another starts again
STEPS = 4  # of a spell
TRAINER = 12


def rank(first, last, cost):
    """Of each spell: its number, its chance, and whether side work may run in it."""
    found = []
    with lull.harvest(
        executor="threads", max_slowdown=0.02, bracket_waits=False, tuning=lull.Tuning(draw_seed=TRAINER)
    ) as side:
        with contextlib.closing(lull.ThreadsStream()) as stream:
            for spell in range(first, last):
                stream.synchronize()
                while (before := side.steps())["timed"] + 1 < before["begun"]:
                    time.sleep(0.0002)
                for number in range(STEPS * spell, STEPS * (spell + 1)):
                    side.step(stream, number)
                    if number % STEPS == 0:
                        may_run = side.steps()["withheld"] == before["withheld"]
                        found.append((spell, before["chance"], may_run))
                    stream.sleep(0.001 + cost * may_run)
            stream.synchronize()
    return found


def run(*plan):
    """Starts a rank: each part of the plan in a process, one after another."""
    return [
        subprocess.Popen([sys.executable, "-B", __file__, *map(str, part)], stdout=subprocess.PIPE, text=True)
        for part in plan
    ]


def read(process):
    with process:
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    if process.returncode != 0:
        raise RuntimeError(f"a rank ended with {process.returncode}")
    return json.loads(out)


class FourRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        whole = run((0, SPELLS, 0), (0, SPELLS, 0.0005), (0, CHANGE, 0.0002))
        first = [read(each) for each in whole]
        later = [read(each) for each in run((CHANGE, SPELLS, 0.0002), (CHANGE, SPELLS, 0))]
        cls.ranks = [first[0], first[1], first[2] + later[0], later[1]]

    def pairs(self):
        """Of two ranks in one spell: chance, and whether side work may run, of either."""
        for one in self.ranks:
            for other in self.ranks:
                theirs = {spell: rest for spell, *rest in other}
                for spell, *mine in one:
                    if one is not other and spell in theirs:
                        yield spell, mine, theirs[spell]

    def test_with_the_same_chance_withhold_in_the_same_steps(self):
        alike = [spell for spell, mine, theirs in self.pairs() if mine[0] == theirs[0]]
        self.assertGreaterEqual(len(alike), 6 * 4)  # at first nothing is known
        for spell, mine, theirs in self.pairs():
            if mine[0] == theirs[0]:
                self.assertEqual(mine, theirs, spell)

    def test_one_with_a_smaller_chance_withholds_where_one_with_a_larger_does(self):
        """But where draws of one are longer than those of the other."""
        late = [
            mine[1] and not theirs[1] for spell, mine, theirs in self.pairs() if mine[0] < theirs[0] and spell >= CHANGE
        ]
        self.assertGreater(len(late), 0)
        self.assertLessEqual(sum(late), len(late) / 20)

    def test_some_steps_are_withheld_by_all_and_some_are_not(self):
        by_spell = {}
        for spell, _, may_run in (each for rank in self.ranks for each in rank):
            by_spell.setdefault(spell, []).append(may_run)
        late = [each for spell, each in by_spell.items() if spell >= CHANGE]
        self.assertTrue(all(len(each) == 4 for each in late))
        self.assertTrue(any(not any(each) for each in late))
        self.assertTrue(any(any(each) for each in late))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(rank(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
    else:
        unittest.main()
