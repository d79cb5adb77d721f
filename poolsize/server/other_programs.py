"""The other programs on this machine that use its cores while a step is measured, as far as this account sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter
from time import monotonic

import psutil

LEAST_CORES = 0.05
"""A program that uses fewer cores is left out."""
MOST_PROGRAMS = 5


@dataclass(frozen=True)
class OtherPrograms:
    """The CPU time of every process at one moment, to compare with a later moment.

    cpu_seconds: process number and start time -> CPU time until then. taken_at: the moment, by the monotonic clock.
    """

    cpu_seconds: Mapping[tuple[int, float], float]
    taken_at: float

    @classmethod
    def now(cls) -> "OtherPrograms":
        """Return the CPU times of this moment."""
        return cls({key: seconds for key, (_, seconds) in _processes().items()}, monotonic())

    def cores_since(self, server: "psutil.Process | None") -> dict[str, float]:
        """Return name of a program -> cores that its processes used since then, the busiest first.

        The five busiest programs with at least 0.05 cores. Without this process, its ancestors and descendants, and the
        server. A process that ended in between is not seen.
        """
        span_seconds, own = monotonic() - self.taken_at, _own_processes(server)
        cores: dict[str, float] = {}
        for key, (name, seconds) in _processes().items():
            if key[0] not in own:
                cores[name] = cores.get(name, 0.0) + (seconds - self.cpu_seconds.get(key, 0.0)) / span_seconds
        busiest = nlargest(MOST_PROGRAMS, cores.items(), key=itemgetter(1))
        return {name: round(used, 2) for name, used in busiest if used >= LEAST_CORES}


def _processes() -> dict[tuple[int, float], tuple[str, float]]:
    """Return process number and start time -> name and CPU time, for every process that this account sees."""
    processes = {}
    for process in psutil.process_iter(["name", "cpu_times", "create_time"]):
        facts = process.info
        if facts["cpu_times"] is not None:
            key = (process.pid, facts["create_time"])
            processes[key] = (facts["name"] or str(process.pid), sum(facts["cpu_times"][:2]))
    return processes


def _own_processes(server: "psutil.Process | None") -> set[int]:
    """Return the numbers of this process, its ancestors and descendants, and the server."""
    own = psutil.Process()
    family = {own.pid, *(process.pid for process in (*own.parents(), *own.children(recursive=True)))}
    return family | ({server.pid} if server else set())
