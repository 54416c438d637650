# SPDX-License-Identifier: Apache-2.0
"""What a program asks for, as the C library takes it. What it cannot take is an Error that names the argument."""

from .binding import Error
from .job import in_ns

MAX_ARMED_AHEAD_S = 1000
MAX_MIN_BUBBLE_S = 1
MAX_REST_S = 0.001


def one_of(name, value, known):
    if value not in known:
        raise Error(f"{name} is {value!r}: it must be one of {', '.join(str(each) for each in known)}")
    return known[value]


def bytes_of(name, value):
    if not 0 <= value < 1 << 64:
        raise Error(f"{name} is {value}: it must be at least 0 and below 2**64")
    return value


def _refuse_outside(name, seconds, most):
    if not 0 <= seconds <= most:  # NaN, too
        raise Error(f"{name} is {seconds} seconds: it must be 0 to {most}, or None")


def _us_or_never(name, seconds, most):
    if seconds is None:
        return 0
    _refuse_outside(name, seconds, most)
    return max(round(seconds * 1e6), 1) if seconds else -1


def armed_ahead_us(seconds):
    """As the C library takes it: 0: Lull chooses, -1: only when the bubble is open."""
    return _us_or_never("armed_ahead", seconds, MAX_ARMED_AHEAD_S)


def rest_us(seconds):
    """As the C library takes it: 0: Lull chooses, -1: never."""
    return _us_or_never("rest_before_close", seconds, MAX_REST_S)


def min_bubble_ns(seconds):
    """As the C library takes it, where 0 stands for its own choice."""
    if seconds is None:
        return 0
    _refuse_outside("min_bubble", seconds, MAX_MIN_BUBBLE_S)
    return max(in_ns(seconds), 1)
