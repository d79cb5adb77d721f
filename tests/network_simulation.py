"""A closed network simulated transaction by transaction: no formula of the models is used."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from poolsize.analysis.models.closed_network import Station

WARM_UP = 0.1
"""Share of the transactions that are left out at the beginning."""


def simulated_throughput(
    stations: Sequence[Station], delay_ms: float, connections: int, random: np.random.Generator, transactions: int
) -> float:
    """Return the transactions per second of this many connections that are always in use.

    Each station serves in the order of arrival; service times and delays are exponential. A station's slowdown and
    scaling are not simulated.
    """
    means = np.array([*(station.demand_ms for station in stations), delay_ms])
    times = (random.exponential(size=(transactions + connections, len(means))) * means).tolist()
    free_ms = [[0.0] * station.servers for station in stations]
    arrivals = [(0.0, number, 0) for number in range(connections)]  # time in ms, transaction, place in the network
    heapify(arrivals)
    ended_ms: list[float] = []
    started = connections
    while len(ended_ms) < transactions:
        now_ms, number, place = heappop(arrivals)
        if place > len(stations):
            ended_ms.append(now_ms)
            heappush(arrivals, (now_ms, started, 0))
            started += 1
            continue
        service_ms = times[number][place]
        if place < len(stations):
            begin_ms = max(now_ms, free_ms[place][0])
            heapreplace(free_ms[place], begin_ms + service_ms)
            now_ms = begin_ms
        heappush(arrivals, (now_ms + service_ms, number, place + 1))
    first = int(WARM_UP * transactions)
    return 1000 * (transactions - 1 - first) / (ended_ms[-1] - ended_ms[first])
