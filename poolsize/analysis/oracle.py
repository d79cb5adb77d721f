"""Oracle's demonstration as a closed network explains it: one server for every size of the pool."""

from collections.abc import Sequence

from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.models.finite_source import Callers, callers
from poolsize.oracle_demonstration import THINK_MS, USERS

SERVER = Station(demand_ms=0.9, servers=16, slowdown=1.5e-4)
"""16 servers of 0.9 ms; each connection too many makes a transaction 0.015 % slower. With 9,600 callers who pause for
550 ms that is the edge of its capacity, so that a little slowdown decides whether fifty are inside or two thousand."""


def explained(sizes: Sequence[int]) -> list[Callers]:
    """What the network gives the demonstration's callers, at each pool size."""
    rates = throughputs([SERVER], 0.0, max(sizes))
    return [callers(rates[:size], USERS, THINK_MS) for size in sizes]
