"""Sums of usage times and samples -> connections in use in each period of a pool, and the requests that gave up.

The sum of usage times over the length of a period is exact, and a few samples of a gauge are not. But a usage counts in
the period of its end: the samples show long usages, and connections that are never given back.
"""

from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.vector import Vector
from poolsize.bounds import LARGEST_POOL
from poolsize.observe.observation import ObservedPool

EACH_MOMENT = "SQLAlchemy"
"""The library for which `instrument` records each moment: its mean is exact."""
FAR = 4
"""Standard deviations beyond which a number differs from its expectation, and not by chance."""
LONG, LONGEST_USAGE = 0.25, 0.1
"""Usages end in other periods if the mean usage time, of all or of a single period, is above this share of a period."""
UNUSUAL = 1.5
"""In a period in which a long usage ends, the mean usage time is longer than this times the usual mean."""
SELDOM = 2
"""Standard deviations above the highest sample that a mean seldom is."""
CLEARLY = 1.5
"""Standard errors beyond which samples before a period show a long usage that ends in it."""
EXPLAINED = 0.5
"""The samples of the periods before show at least this share of a long usage."""
MOST_OFFERED = 2.0
"""Offered requests over served requests: further requests that gave up are repeated requests."""
READ_EACH_SECOND = 0.9
"""A page that is read once a second has at least this many readings per second."""
FEWEST_PERIODS, FEWEST_READINGS = 3, 30
"""Periods, and readings in them, that show connections which are held and not given back."""
HELD = 0.2
"""Sampled connections in use that exceed the counted ones by this share are held and never given back."""


def connections_in_use(pool: ObservedPool) -> tuple[Vector, NDArray[np.bool_]]:
    """Return the connections in use on average in each period, and where sums of usage times show them.

    NaN where nothing shows them. Requests that gave up would have used connections, too.
    """
    counted, sampled = pool["usage_seconds"] / pool.seconds, pool["in_use_mean"]
    counted = np.where(counted > LARGEST_POOL, np.nan, counted)
    is_counted, both = np.isfinite(counted), np.isfinite(counted) & np.isfinite(sampled)
    if pool.library == EACH_MOMENT:
        is_counted &= ~both
    elif both.any() and _are_mostly_long(pool):
        is_counted[:] = False
    else:
        is_counted &= ~(both & (_long_usage_periods(pool, counted, sampled) | _held_periods(pool, counted, sampled)))
    return np.where(is_counted, counted, sampled) * _offered(pool), is_counted


def timeouts_of(pool: ObservedPool) -> Vector:
    """Return the requests that gave up in each period because no connection was free.

    If readings each second show free connections, the database did not answer: such requests do not count.
    """
    is_free = (pool["in_use_max"] < pool["size"]) & _is_read_each_second(pool)
    return np.where(is_free, 0.0, np.nan_to_num(pool["timeouts"]))


def _long_usage_periods(pool: ObservedPool, counted: Vector, sampled: Vector) -> NDArray[np.bool_]:
    """Return the periods whose sum of usage times does not show the connections in use.

    Long usages end in them, or are under way. counted, sampled: connections in use by the sums of usage times, and by
    the samples.
    """
    uses, samples = pool["uses"], np.nan_to_num(pool["samples"])
    with np.errstate(divide="ignore", invalid="ignore"):
        usages = pool["usage_seconds"] / uses
    is_long = (usages > LONGEST_USAGE * pool.seconds) | (counted > pool["size"])
    is_long |= (uses == 0) & _is_within(pool, counted)
    is_unseen = _is_unseen(pool, counted, sampled, usages)
    is_dense = _is_read_each_second(pool) & (pool["in_use_variance"] > 0)  # else the page may repeat its readings
    held_in_use = np.where(is_unseen, 0.0, np.nan_to_num(sampled - counted))
    others = counted[~is_unseen & np.isfinite(counted)]
    usual = float(np.median(others)) if len(others) else 0.0
    for period in np.flatnonzero(is_unseen).tolist():
        excess = float(counted[period]) - usual
        first = max(0, period - ceil(excess))  # a usage of so many periods, or several shorter usages
        before = slice(first, period)
        held = float(held_in_use[before].mean()) if first < period else 0.0
        load = float(np.nan_to_num(counted[before]).max(initial=usual))
        chance = sqrt((load + 1) / max(1.0, float(samples[before].sum())))
        if is_dense[period] or held >= max(EXPLAINED * excess / max(1, ceil(excess)), CLEARLY * chance):
            is_long[first : period + 1] = True
        elif first < period:  # a stall, which the samples miss
            is_long[period] = counted[period] > pool["size"][period]
    return np.asarray(is_long, bool)


def _is_unseen(pool: ObservedPool, counted: Vector, sampled: Vector, usages: Vector) -> NDArray[np.bool_]:
    """Return the periods whose sum of usage times implies more connections in use than the samples show.

    usages: mean usage times. Readings each second show it. Rare readings may miss a stall.
    """
    known, highest = usages[np.isfinite(usages)], pool["in_use_max"]
    usual = float(np.median(known)) if len(known) else inf
    of_rare = (usages > UNUSUAL * usual) & (counted > highest + SELDOM * np.sqrt(highest + 1))
    spread = np.fmax(pool["in_use_variance"], sampled + 1) / np.maximum(pool["samples"], 1)
    of_dense = counted > sampled + FAR * np.sqrt(spread)
    return np.asarray(np.where(_is_read_each_second(pool), of_dense, of_rare), bool)


def _held_periods(pool: ObservedPool, counted: Vector, sampled: Vector) -> NDArray[np.bool_]:
    """Return the periods in which connections are held that are not given back, or only after the last period.

    In all periods together, or in some that follow each other, the samples show more in use than the sums, beyond
    chance.
    """
    is_held, both = np.zeros(len(counted), bool), np.isfinite(counted) & np.isfinite(sampled)
    held, mean, readings = (sampled - counted)[both], sampled[both], np.nan_to_num(pool["samples"])[both]
    if readings.sum() < FEWEST_READINGS:
        return is_held
    spread = np.fmax(pool["in_use_variance"][both], mean)
    fewest = max(FEWEST_PERIODS, ceil(FEWEST_READINGS / float(np.median(readings[readings > 0]))))
    for window in {min(fewest, len(held)), len(held)}:
        ones = np.ones(window)
        of_held, of_squares, of_mean, of_spread, number = (
            np.convolve(of, ones, "valid") / window for of in (held, held**2, mean, spread, readings * window)
        )
        error = np.sqrt(np.maximum(of_spread / np.maximum(number, 1), (of_squares - of_held**2).clip(0) / window))
        is_more = (number >= FEWEST_READINGS) & (of_held > np.maximum(FAR * error, HELD * of_mean))
        is_held[both] |= np.convolve(is_more, ones) > 0
    return is_held


def _is_read_each_second(pool: ObservedPool) -> NDArray[np.bool_]:
    return np.asarray(pool["samples"] >= READ_EACH_SECOND * pool.seconds, bool)


def _is_within(pool: ObservedPool, counted: Vector) -> NDArray[np.bool_]:
    """Return which periods are between others: the process starts or ends in the first and in the last period."""
    known = np.isfinite(counted)
    is_next = np.r_[False, known[:-1] & (np.diff(pool.at) < 1.5 * pool.seconds[:-1])]
    has_next = np.r_[is_next[1:] & known[1:], False]
    return np.asarray(is_next & has_next)


def _offered(pool: ObservedPool) -> Vector:
    """Return the ratio of offered to served requests. Requests that gave up count as offered."""
    uses = pool["uses"]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(uses > 0, np.minimum((uses + timeouts_of(pool)) / uses, MOST_OFFERED), 1.0)


def _are_mostly_long(pool: ObservedPool) -> bool:
    """Return whether the mean usage time is so long that sums of usage times do not show the connections in use."""
    uses, seconds = float(np.nansum(pool["uses"])), float(np.nansum(pool["usage_seconds"]))
    return uses > 0 and seconds / uses > LONG * float(np.median(pool.seconds))
