"""Requests in production, and a pool that serves them, simulated request by request. Shares no code with poolsize.

`python -m tests.observe.workload RATE DAY SECONDS URL...` sends requests to real task services: each gets RATE requests
a second on average, DAY of it more and less in the course of a day of SECONDS. They arrive at their times, however long
the services take.
"""

import asyncio
import sys
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tests.pool_simulation import waits_in_order

Floats = NDArray[np.float64]
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Workload:
    """Requests of a process. rate: a second, on average. usage_s: mean usage time.

    kind: of the usage times. variation: squared coefficient of variation of log-normal ones. busy: rate in busy times
    over the mean rate; busy_share: of the time; busy_s: mean length of a busy time. day: the rate is this share above
    and below the mean in the course of a day, which lasts day_s.
    """

    rate: float
    usage_s: float
    kind: Literal["exponential", "log-normal", "constant"] = "exponential"
    variation: float = 1.0
    busy: float = 1.0
    busy_share: float = 0.1
    busy_s: float = 5.0
    day: float = 0.0
    day_s: float = 7_200.0

    @property
    def load(self) -> float:
        """Connections in use on average."""
        return self.rate * self.usage_s

    def arrivals(self, seconds: float, random: np.random.Generator) -> Floats:
        """Return times of arrivals, ascending."""
        highest = self.rate * self.busy * (1 + self.day)
        times = np.cumsum(random.exponential(1 / highest, int(highest * seconds * 1.02 + 100)))
        times = times[times < seconds]
        kept = random.random(len(times)) * highest < self.rate * self._rates(times, seconds, random)
        return np.asarray(times[kept])

    def _rates(self, times: Floats, seconds: float, random: np.random.Generator) -> Floats:
        rates = 1 - self.day * np.cos(2 * pi * times / self.day_s)
        if self.busy == 1:
            return np.asarray(rates)
        calm = (1 - self.busy * self.busy_share) / (1 - self.busy_share)
        calm_s = self.busy_s * (1 - self.busy_share) / self.busy_share
        number = int(2 * seconds / (self.busy_s + calm_s) + 100)
        lengths = np.stack([random.exponential(calm_s, number), random.exponential(self.busy_s, number)], 1).ravel()
        is_busy = np.searchsorted(np.cumsum(lengths), times) % 2 == 1
        return np.asarray(rates * np.where(is_busy, self.busy, calm))

    def usages(self, number: int, random: np.random.Generator) -> Floats:
        """Return usage times in seconds."""
        if self.kind == "constant":
            return np.full(number, self.usage_s)
        if self.kind == "exponential":
            return random.exponential(self.usage_s, number)
        deviation = sqrt(log(1 + self.variation))
        return np.asarray(self.usage_s * random.lognormal(-(deviation**2) / 2, deviation, number))


@dataclass(frozen=True)
class Served:
    """Requests that a pool served. begun: when each got its connection. timed_out: times at which others gave up."""

    seconds: float
    pool_size: int
    arrivals: Floats
    begun: Floats
    usages: Floats
    timed_out: Floats

    @property
    def waits(self) -> Floats:
        """Wait times in seconds."""
        return np.asarray(self.begun - self.arrivals)

    def in_use(self, times: Floats) -> Floats:
        """Return the connections in use at these times."""
        ended = np.sort(self.begun + self.usages)
        return np.asarray(np.searchsorted(np.sort(self.begun), times) - np.searchsorted(ended, times), float)

    def waiting(self, times: Floats) -> Floats:
        """Return the requests that wait at these times."""
        return np.asarray(np.searchsorted(self.arrivals, times) - np.searchsorted(np.sort(self.begun), times), float)


def serve(workload: Workload, pool_size: int, seconds: float, seed: int, timeout_s: float = float("inf")) -> Served:
    """Return the requests of a workload at a pool, first in, first out."""
    random = np.random.default_rng(seed)
    arrivals = workload.arrivals(seconds, random)
    usages = workload.usages(len(arrivals), random)
    waits = waits_in_order(arrivals, usages, pool_size, timeout_s)
    served = waits < timeout_s
    gone = (arrivals + waits)[~served]
    return Served(seconds, pool_size, arrivals[served], (arrivals + waits)[served], usages[served], gone)


async def request(url: str) -> None:
    """Send a request for the newest tasks, and read the answer. Raises what went wrong, which ends all requests."""
    address = urlsplit(url)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"GET /tasks HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
    assert b" 200 " in answer.partition(b"\n")[0], answer


async def send(rate: float, day: float, seconds: float, urls: list[str]) -> None:
    """Send all requests."""
    workload = Workload(rate, usage_s=0.0, day=day, day_s=seconds)  # the services decide how long they use
    arrivals = (workload.arrivals(seconds, np.random.default_rng(seed)).tolist() for seed, _ in enumerate(urls))
    plan = sorted((at, url) for url, times in zip(urls, arrivals, strict=True) for at in times)
    clock = asyncio.get_running_loop().time
    begin = clock()
    async with asyncio.TaskGroup() as group:
        for at, url in plan:
            await asyncio.sleep(max(0.0, begin + at - clock()))
            group.create_task(request(url))


if __name__ == "__main__":
    rate, day, seconds = map(float, sys.argv[1:4])
    asyncio.run(send(rate, day, seconds, sys.argv[4:]))
