# SPDX-License-Identifier: Apache-2.0
"""lull.stalls over the real library on CPU threads: the items are those of what is iterated, each `next` is a bubble
that is closed however `next` ends, and sessions come and go between two items."""

import contextlib
import gc
import io
import json
import time
import unittest

import lull


def failing_at(number):
    yield from range(number)
    raise ZeroDivisionError(number)


class Loader:
    """As a loader of batches: it has a length, and each iteration begins again. `stream`: its bubble is open before the
    sleep begins."""

    def __init__(self, count, sleep=0.0, stream=None):
        self.count, self.sleep, self.stream, self.begun = count, sleep, stream, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        self.begun += 1
        for item in range(self.count):
            if self.stream is not None:
                self.stream.synchronize()
            time.sleep(self.sleep)
            yield item


class Stalls(unittest.TestCase):
    def setUp(self):
        self.stream = lull.ThreadsStream()
        self.addCleanup(self.stream.close)

    @contextlib.contextmanager
    def observed(self):
        printed = contextlib.redirect_stderr(io.StringIO())  # the report
        with printed, lull.observe(executor="threads", bracket_waits=False) as side:
            yield side

    def stalls(self, iterable):
        return lull.stalls(iterable, "data", self.stream)

    def assert_opened(self, side, bubbles):
        counts = side.counts()
        self.assertEqual((counts["opened"], counts["nested"], counts["unmatched"]), (bubbles, 0, 0))


class Items(Stalls):
    def test_they_are_those_of_what_is_iterated(self):
        for make in (
            lambda: [3, 1, 2],
            lambda: (),
            lambda: "text",
            lambda: {"b": 1, "a": 2},
            lambda: iter(range(4)),
            lambda: (item * item for item in range(4)),
            lambda: Loader(5),
        ):
            wanted = list(make())
            with self.subTest(kind=type(make()).__name__):
                self.assertEqual(list(self.stalls(make())), wanted)
                with self.observed() as side:
                    self.assertEqual(list(self.stalls(make())), wanted)
                    self.assert_opened(side, len(wanted) + 1)  # in the last one `next` finds the end

    def test_a_loader_is_iterated_again_and_an_iterator_goes_on(self):
        loader = Loader(3)
        again = self.stalls(loader)
        self.assertEqual([list(again), list(again), loader.begun], [[0, 1, 2], [0, 1, 2], 2])
        first, second = iter(again), iter(again)
        self.assertEqual([next(first), next(first), next(second)], [0, 1, 0])
        once = self.stalls(iter([1, 2, 3]))
        self.assertIs(iter(once), once)
        self.assertEqual([next(once), list(once), list(once)], [1, [2, 3], []])

    def test_nothing_is_begun_before_it_is_iterated(self):
        loader = Loader(3)
        self.stalls(loader)
        self.assertEqual(loader.begun, 0)

    def test_the_length_is_that_of_what_is_iterated(self):
        self.assertEqual(len(self.stalls(Loader(7))), 7)
        self.assertEqual([bool(self.stalls(each)) for each in ([], [1], Loader(0), iter(()))], [0, 1, 0, 1])
        with self.assertRaisesRegex(TypeError, "generator.*has no len"):
            len(self.stalls(item for item in ()))

    def test_what_cannot_be_iterated_is_refused_as_by_python(self):
        with self.assertRaisesRegex(TypeError, "'int' object is not iterable"):
            list(self.stalls(5))


class Ends(Stalls):
    def test_what_next_raises_closes_the_bubble_and_is_raised(self):
        with self.observed() as side:
            found = self.stalls(failing_at(2))
            self.assertEqual([next(found), next(found)], [0, 1])
            with self.assertRaises(ZeroDivisionError):
                next(found)
            self.assert_opened(side, 3)
            with lull.bubble("after", self.stream):  # not inside another
                pass
            self.assert_opened(side, 4)

    def test_a_keyboard_interrupt_closes_it_too(self):
        def interrupted():
            yield 1
            raise KeyboardInterrupt

        with self.observed() as side:
            with self.assertRaises(KeyboardInterrupt):
                list(self.stalls(interrupted()))
            self.assert_opened(side, 2)

    def test_a_generator_is_closed_as_it_would_be(self):
        ended = []

        def noting():
            try:
                yield 1
                yield 2
            finally:
                ended.append("closed")

        closed = self.stalls(noting())
        next(closed)
        closed.close()
        self.assertEqual(ended, ["closed"])
        self.assertRaises(StopIteration, next, closed)

        for _ in self.stalls(noting()):  # as of a generator that is left and dropped
            break
        gc.collect()
        self.assertEqual(ended, ["closed"] * 2)

        kept = noting()
        for _ in self.stalls(kept):
            break
        gc.collect()
        self.assertEqual((ended, next(kept)), (["closed"] * 2, 2))  # as a loop that is left leaves it

    def test_close_of_what_has_none_does_nothing(self):
        going = self.stalls(iter([1]))
        going.close()
        self.assertEqual(list(going), [1])

    def test_inside_a_generator_that_is_closed(self):
        def outer():
            yield from self.stalls(range(5))

        with self.observed() as side:
            going = outer()
            next(going)
            going.close()
            self.assert_opened(side, 1)


class Sessions(Stalls):
    def test_they_begin_and_end_between_two_items(self):
        items = self.stalls(iter(range(6)))
        found = [next(items)]
        with self.observed() as side:
            found += [next(items), next(items)]
            self.assert_opened(side, 2)
        found.append(next(items))
        with self.observed() as side:
            found += list(items)
            self.assert_opened(side, 3)
        self.assertEqual(found, list(range(6)))

    def test_without_a_session_the_stream_is_not_looked_at(self):
        self.assertEqual(list(lull.stalls([1, 2], "data", "no stream at all")), [1, 2])

    def test_a_session_inside_next(self):
        """It begins after the bubble would have been opened, or ends before it is closed."""

        def loading():
            with self.observed():
                yield 1
            yield 2

        self.assertEqual(list(self.stalls(loading())), [1, 2])

    def test_nested_ones_are_as_nested_bubbles(self):
        with self.observed() as by_hand:
            for _ in range(3):
                with lull.bubble("outer", self.stream), lull.bubble("inner", self.stream):
                    pass
            wanted = by_hand.counts()
        with self.observed() as side:
            self.assertEqual(list(lull.stalls(self.stalls([1, 2]), "outer", self.stream)), [1, 2])
            self.assertEqual(side.counts(), wanted)

    def test_the_report_knows_their_lengths(self):
        with self.observed() as side:
            self.assertEqual(list(self.stalls(Loader(5, 0.02, self.stream))), list(range(5)))
            self.stream.synchronize()
            for _ in range(5000):
                gates = json.loads(side.report("json"))["gates"]
                if gates and gates[0]["sites"][0]["bubbles"] == 6:
                    break
                time.sleep(0.001)
        (site,) = gates[0]["sites"]
        self.assertEqual((site["site"], site["bubbles"]), ("data", 6))
        self.assertGreaterEqual(site["total_ms"], 5 * 20)
        self.assertLess(site["total_ms"], 10_000)

    def test_a_harvest_gives_them_side_work(self):
        with lull.harvest("compute:items=100000000", executor="threads", bracket_waits=False) as side:
            end = time.monotonic() + 60
            while not side.ready(self.stream):  # without a job no bubble is opened
                self.assertLess(time.monotonic(), end, "no job stood ready")
                time.sleep(0.001)
            self.assertEqual(list(self.stalls(Loader(20, 0.005, self.stream))), list(range(20)))
            self.assert_opened(side, 21)
            self.assertGreater(side.counts()["launches"], 0)


if __name__ == "__main__":
    unittest.main()
