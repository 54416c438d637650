# SPDX-License-Identifier: Apache-2.0
"""What the hint of a gated graph makes of bubbles whose lengths change, by two rules. A model on the CPU: it
explains a choice (docs/decisions/gated-graphs.md) and measures nothing.

A graph of pieces, some of them long, runs in each bubble. A close that comes while a piece runs is seen at its end, so
the length is known within that piece alone. One rule takes lengths for what they were seen to be; the other goes by
when the close may have come. Printed for each: the share of bubbles that close on a piece, how long half of all bubbles
wait for it at most, how long they do in the mean, and the share of bubble time in which no piece was begun."""

import random
import statistics

PIECES_US = [60.0] * 30 + [150.0] * 20 + [250.0] * 5 + [519.0, 400.0]
LATENESS_US = 20
MAX_SPREAD_US = 600  # six segments
REMEMBERED = 32
FIRST = 8  # bubbles, before anything is known
BUBBLES = 20_000


def usual(seen):
    """From, until, and whether they repeat. `seen`: (longest, shortest) that each may have been."""
    lengths = sorted(seen[-REMEMBERED:])
    shortest = lengths[0][0]
    far = max(200, shortest / 64)
    for first, (begins, _) in enumerate(lengths):
        until, alike = begins, 0
        for _, least in lengths[first:]:
            if least <= until + far:
                until, alike = max(until, least), alike + 1
        if 2 * alike >= len(lengths):
            spread = until - begins
            repeats = (spread <= MAX_SPREAD_US or spread <= begins / 16) and spread <= shortest / 4
            return begins, until, repeats
    return shortest, shortest, False


def run(knows_since_look, draw):
    pieces = random.Random(2).sample(PIECES_US, len(PIECES_US))
    seen, waits, unused, total, at = [], [], 0.0, 0.0, 0
    for number in range(BUBBLES):
        length = draw(number)
        total += length
        begins, until, repeats = usual(seen) if len(seen) >= FIRST else (0, 0, False)
        late = until + LATENESS_US
        now, looked = 0.0, 0.0
        while now < length:
            piece = pieces[at % len(pieces)]
            if repeats and now > 0 and now + piece > begins and now < late:
                unused += min(length, late) - now
                now = looked = min(length, late)
                continue
            looked, now, at = now, now + piece, at + 1
        waits.append(now - length)
        seen = [*seen[-REMEMBERED:], (now, looked if knows_since_look else now)]
    closed = sum(wait > 0 for wait in waits)
    median, mean = statistics.median(waits), statistics.fmean(waits)
    return f"{closed / BUBBLES:6.1%} {median:4.0f} {mean:4.0f} us {unused / total:6.1%}"


def drawn():
    yield "600 us, between 590 and 610", lambda _: random.uniform(590, 610)
    yield "50 to 1500 us", lambda _: random.uniform(50, 1500)
    for gap in (3_500, 21_000):
        for sigma in (5, 20, 50, 100, 200):
            yield f"{gap} us, normal, {sigma}", lambda _, gap=gap, sigma=sigma: random.gauss(gap, sigma)
        yield f"{gap} us and up to half more", lambda _, gap=gap: gap * (1 + random.random() / 2)
        yield f"{gap} us, each fifth 3 ms more", lambda n, gap=gap: random.gauss(gap, 20) + (n % 5 == 0) * 3_000


def measure():
    random.seed(1)
    print(f"{'lengths':32}{'as seen':>26}{'as they may have been':>26}")
    for name, draw in drawn():
        print(f"{name:32}{run(False, draw):>26}{run(True, draw):>26}")
