"""What a transaction takes of the client's processor and of the server's: the two service demands.

The utilisation law (Denning and Buzen, 1978): demand = busy time / transactions. Both times are what the operating
system accounts to the processes, not what the throughput would suggest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.runs.run import Step

LARGEST = 2000
"""No pool for one database is larger."""


@dataclass(frozen=True)
class Demands:
    """Of one transaction, in milliseconds, at one pool size.

    client_ms: processor time of the load processes; client_processes: how many there are to give it.
    server_ms: processor time of the server; server_cores: how many it may use. Where the server's process could not
    be seen (inferred), what a lone connection's usage leaves when the client's part is taken off, network included.
    other_ms: the rest of a lone connection's usage, in which it waits for the network, the disk or a lock.
    """

    client_ms: float
    client_processes: int
    server_ms: float
    server_cores: int
    other_ms: float
    inferred: bool

    def throughput(self, pool_size: int) -> float:
        """Transactions per second that a closed network with these demands gives a full pool of that size."""
        stations = (
            Station(self.client_ms, self.client_processes),
            Station(self.server_ms, self.server_cores),
        )
        return 1000 * float(throughputs(stations, self.other_ms, pool_size)[-1])

    def database_size(self, tolerance: float) -> int | None:
        """The smallest pool with which the database alone is within the tolerance of what it can do.

        A client that took no processor time between statements would need no more. None where no pool would do.
        """
        station = Station(self.server_ms, self.server_cores)
        most = self.server_cores / self.server_ms
        enough = ceil(self.server_cores * (1 + self.other_ms / self.server_ms) / tolerance)
        rates = throughputs([station], self.other_ms, min(enough, LARGEST))
        reached = rates >= (1 - tolerance) * most
        return 1 + int(reached.argmax()) if reached.any() else None


def demands(step: Step, smallest: Step, cores: int) -> Demands | None:
    """The demands in a step, or None where nothing ended in it, or nothing tells the server's part.

    smallest: the step with the smallest pool of the run; its usage tells the rest if it has one connection.
    cores: of the server's host, for a server whose process was not seen.
    """
    client_ms = _client_ms(step)
    if client_ms is None or smallest.latencies is None:
        return None
    server_ms = _server_ms(step)
    lone_ms = mean_ms([smallest.latencies.usage]) - (_client_ms(smallest) or 0.0)
    processes = sum(worker.users > 0 for worker in step.workers)
    if server_ms is None and smallest.pool_size > 1:
        return None
    if server_ms is None:
        return Demands(client_ms, processes, max(0.0, lone_ms), cores, 0.0, inferred=True)
    rest_ms = max(0.0, lone_ms - (_server_ms(smallest) or 0.0)) if smallest.pool_size == 1 else 0.0
    server_cores = round(step.counter("process_cores") or cores)
    return Demands(client_ms, processes, server_ms, server_cores, rest_ms, inferred=False)


def _client_ms(step: Step) -> float | None:
    rate = step.mean_throughput
    return 1000 * sum(worker.cpu for worker in step.workers) / rate if rate else None


def _server_ms(step: Step) -> float | None:
    rate, cpu = step.mean_throughput, step.counter("process_cpu")
    return 1000 * cpu / rate if rate and cpu is not None else None


def at_size(steps: Sequence[Step], pool_size: int, cores: int) -> Demands | None:
    """The demands at a measured size, the mean of its repeats."""
    smallest = min(steps, key=lambda step: step.pool_size)
    found = [one for step in steps if step.pool_size == pool_size and (one := demands(step, smallest, cores))]
    if not found:
        return None
    return Demands(
        client_ms=sum(one.client_ms for one in found) / len(found),
        client_processes=found[0].client_processes,
        server_ms=sum(one.server_ms for one in found) / len(found),
        server_cores=found[0].server_cores,
        other_ms=sum(one.other_ms for one in found) / len(found),
        inferred=found[0].inferred,
    )
