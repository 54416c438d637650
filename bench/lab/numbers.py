# SPDX-License-Identifier: Apache-2.0
"""What samples come to: medians, quantiles, slowdowns, and their intervals."""

import math
import statistics


def student_t975(degrees):
    """Below which Student's distribution has 97.5 % of its mass: exactly for 1 and 2 degrees of freedom, and from 3 up
    by Fisher's expansion, within 1 %. SciPy has it exactly; machines that measure may have no SciPy and no network."""
    if degrees <= 2:
        return {1: math.tan(0.475 * math.pi), 2: 0.95 / math.sqrt(2 * 0.975 * 0.025)}[degrees]
    z = statistics.NormalDist().inv_cdf(0.975)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def mean_interval(values):
    """Mean and half-width of its 95 % interval; infinite for one value."""
    if len(values) < 2:
        return values[0], math.inf
    half = student_t975(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half


def slowdown(plain, other, name="slowdown_percent"):
    """Of times in pairs: the mean of their log ratios, with its interval."""
    mean, half = mean_interval([math.log(one / base) for one, base in zip(other, plain)])
    found = {name: 100 * math.expm1(mean)}
    if math.isfinite(half):
        found |= {f"{name}_low": 100 * math.expm1(mean - half), f"{name}_high": 100 * math.expm1(mean + half)}
    return found


def median_interval(samples):
    """The narrowest symmetric pair of order statistics that holds the median with at least 95 %; none below 6
    samples."""
    n, below, rank = len(samples), 0.0, 0
    while rank < n and (below := below + math.comb(n, rank) / 2**n) <= 0.025:
        rank += 1
    ordered = sorted(samples)
    return [ordered[rank - 1], ordered[n - rank]] if rank else None


def quantiles(values):
    """By nearest rank; None where there are none."""
    if not values:
        return None
    ordered = sorted(values)
    at = {name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in (("p50", 0.5), ("p99", 0.99))}
    return {**at, "max": ordered[-1], "count": len(ordered)}
