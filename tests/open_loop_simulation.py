"""Simulated seconds of an open loop: Poisson arrivals at a pool whose capacity is known."""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from poolsize.load.messages import StepSecond

Floats = NDArray[np.float64]
Service = Callable[[np.random.Generator, int], Floats]
"""Random numbers and a number of transactions -> their service times, with a mean of 1."""


def exponential(random: np.random.Generator, number: int) -> Floats:
    """Service times whose standard deviation is their mean."""
    return random.standard_exponential(number)


def nearly_constant(random: np.random.Generator, number: int) -> Floats:
    """Service times whose standard deviation is a tenth of their mean."""
    return random.gamma(100, 0.01, number)


def open_loop(
    pool_size: int, rate: float, capacity: float, service: Service, length: int, random: np.random.Generator
) -> list[StepSecond]:
    """Return the seconds of a step whose pool serves `capacity` times the arrival rate when no connection is idle.

    rate: arrivals per second. length: seconds, from an empty pool on.
    """
    number = round(rate * length + 6 * np.sqrt(rate * length))
    due = np.cumsum(random.standard_exponential(number)) / rate
    usage = service(random, number) * pool_size / (capacity * rate)
    begun = _begun(due.tolist(), usage.tolist(), pool_size)
    ended = begun + usage
    ends = np.arange(1, length + 1)
    backlog = np.searchsorted(due, ends) - np.searchsorted(begun, ends)
    occupied = np.array([np.clip(end - begun, 0, usage).sum() for end in range(length + 1)])
    by_second = np.argsort(ended)
    bounds = np.searchsorted(ended[by_second], np.arange(length + 1))
    total_us = np.round((ended - due)[by_second] * 1e6).astype(int)
    return [
        StepSecond(
            transactions=int(bounds[second + 1] - bounds[second]),
            backlog=int(backlog[second]),
            busy=float(occupied[second + 1] - occupied[second]),
            total_us=Counter(total_us[bounds[second] : bounds[second + 1]].tolist()),
        )
        for second in range(length)
    ]


def _begun(due: Sequence[float], usage: Sequence[float], pool_size: int) -> Floats:
    """Return when each transaction gets a connection: in the order in which they are due."""
    free_from = [0.0] * pool_size
    heapify(free_from)
    begun = []
    for at, takes in zip(due, usage, strict=True):
        start = max(at, free_from[0])
        begun.append(start)
        heapreplace(free_from, start + takes)
    return np.array(begun)
