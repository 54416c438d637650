#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model_hint.py: what the hint of a gated graph makes of bubbles whose lengths change, by two rules. A model on the
CPU: it explains a choice (docs/decisions/gated-graphs.md) and measures nothing.

A graph of pieces of 115 us runs in each bubble. A close that comes while a piece runs is seen at its end, so the length
is learnt too long. Printed for each rule: the share of bubbles that close on a piece, how long one waits for it in the
mean over all bubbles, and the share of bubble time that is left unused."""

import random
from dataclasses import dataclass

PIECE_US = 115
LATENESS_US = 20
MAX_SPREAD_US = 600  # six segments
BUBBLES = 20_000


@dataclass
class Usual:
    from_us: float
    until_us: float
    repeats: bool


def three_of_four(lengths):
    """Of eight: the shortest, and the spread of six."""
    found = sorted(lengths[-8:])
    until = found[3 * len(found) // 4 - 1]
    return Usual(found[0], until, until - found[0] <= 200)


def alike(lengths):
    """Of 32: the first kind of lengths, close to each other in their order, that half of them are of."""
    found = sorted(lengths[-32:])
    far = max(200, found[0] / 64)
    first = 0
    for at in range(1, len(found) + 1):
        if at < len(found) and found[at] - found[at - 1] <= far:
            continue
        if 2 * (at - first) >= len(found):
            spread = found[at - 1] - found[first]
            close = spread <= MAX_SPREAD_US or spread <= found[first] / 16
            return Usual(found[first], found[at - 1], close and spread <= found[0] / 4)
        first = at
    return Usual(found[0], found[3 * len(found) // 4 - 1], False)


def run(rule, draw):
    seen, closed, waited, unused, total = [], 0, 0.0, 0.0, 0.0
    for number in range(BUBBLES):
        length = draw(number)
        total += length
        if len(seen) < 8:
            seen.append(length)
            continue
        usual = rule(seen)
        late = usual.until_us + LATENESS_US
        # Stretches come first; pieces begin at some moment before the end.
        now = max(0.0, usual.from_us - 10 * PIECE_US) + random.random() * PIECE_US
        while now < length:
            if usual.repeats and now + PIECE_US > usual.from_us and now < late:
                if length <= late:
                    break
                now = late
                continue
            now += PIECE_US
        if now > length and now - length < PIECE_US:
            closed += 1
            waited += now - length
        unused += max(0.0, length - now)
        seen = [*seen[-63:], max(now, length)]
    return f"{closed / BUBBLES:6.1%} {waited / BUBBLES:6.1f} us {unused / total:6.1%}"


def drawn():
    for gap in (3_500, 21_000):
        for sigma in (5, 20, 50, 100, 200):
            yield f"{gap} us, normal, {sigma}", lambda _, gap=gap, sigma=sigma: random.gauss(gap, sigma)
        yield f"{gap} us and up to half more", lambda _, gap=gap: gap * (1 + random.random() / 2)
        yield f"{gap} us, each fifth 3 ms more", lambda n, gap=gap: random.gauss(gap, 20) + (n % 5 == 0) * 3_000


def main():
    random.seed(1)
    print(f"{'lengths':32}{'three of four of 8':>26}{'alike of 32':>26}")
    for name, draw in drawn():
        print(f"{name:32}{run(three_of_four, draw):>26}{run(alike, draw):>26}")


if __name__ == "__main__":
    main()
