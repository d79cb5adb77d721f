"""Service demands: the CPU time of one transaction at the load generator and at the server.

The utilisation law (Denning and Buzen, 1978): demand = busy time / transactions. The busy times are those that the
operating system accounts to the processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import linear_regression

from poolsize.analysis.models.closed_network import NOT_MEASURED, MeasuredStations, Station
from poolsize.analysis.stats.percentiles import mean_ms
from poolsize.runs.run import Step

SATURATED = 0.85
"""A processor is saturated from this share of its cores on: a mean over seconds hides moments without a free core."""
APART = 1.5
"""The highest throughput is at least this multiple of the lowest where a line is put through them. A chosen value."""
LEAST_SHARE = 0.5
"""The demand with a saturated CPU is at least this share of the measured demand. A chosen value."""


@dataclass(frozen=True)
class ServiceDemands:
    """Service demands of one transaction at one pool size.

    client_ms: CPU time of the workers, in ms. client_processes: workers with users.
    server_ms: CPU time of the server, in ms. server_cores: cores that the server may use.
    inferred: the server's process was not visible. Then server_ms is the usage time of a single connection less
    client_ms: network and disk included.
    saturated: the server's process, or all processes of its machine, kept at least 85 % of the cores busy.
    """

    client_ms: float
    client_processes: int
    server_ms: float
    server_cores: int
    inferred: bool
    saturated: bool

    @property
    def stations(self) -> MeasuredStations:
        """The CPU of the load generator and of the server; the server's is left out where it is inferred."""
        cpu = NOT_MEASURED if self.inferred else Station(self.server_ms, self.server_cores)
        return MeasuredStations(Station(self.client_ms, self.client_processes), cpu, self.saturated)


def service_demands(steps: Sequence[Step], smallest: Step, cores: int) -> ServiceDemands | None:
    """Return the demands at a measured pool size, the mean of its repeats.

    None in a replay, of an application, where no transaction ended, where no worker had users, and where the server's
    demand is not known.
    steps: the repeats. smallest: the run's step with the smallest pool; if that pool has 1 connection, its usage time
    stands for the demand of a server whose process is not visible. cores: physical cores of such a server's host.
    """
    repeats = [demands for step in steps if (demands := _of_step(step, smallest, cores)) is not None]
    if not repeats:
        return None
    return replace(
        repeats[0],
        client_ms=sum(demands.client_ms for demands in repeats) / len(repeats),
        server_ms=sum(demands.server_ms for demands in repeats) / len(repeats),
        saturated=all(demands.saturated for demands in repeats),
    )


def _of_step(step: Step, smallest: Step, cores: int) -> ServiceDemands | None:
    client_ms, server_ms = _time_ms(step, step.busy_worker_cores), _time_ms(step, step.counter("process_cpu"))
    processes = sum(worker.users > 0 for worker in step.workers)
    if client_ms is None or not processes or smallest.latencies is None or not smallest.knows_usage:
        return None
    if server_ms is not None:
        server_cores = max(1, round(step.counter("process_cores") or cores))
        loads = [(step.counter(f"{whose}_cpu"), step.counter(f"{whose}_cores")) for whose in ("process", "machine")]
        saturated = any(busy is not None and number and busy >= SATURATED * number for busy, number in loads)
        return ServiceDemands(client_ms, processes, server_ms, server_cores, inferred=False, saturated=saturated)
    if smallest.pool_size > 1:
        return None
    lone_ms = mean_ms([smallest.latencies.usage]) - (_time_ms(smallest, smallest.busy_worker_cores) or 0.0)
    return ServiceDemands(client_ms, processes, max(0.0, lone_ms), cores, inferred=True, saturated=False)


def saturated_server_ms(demands: Mapping[float, ServiceDemands]) -> float | None:
    """Return the server's CPU time for a transaction once its CPU is saturated, in ms; None where it is not measured.

    In our runs on MariaDB and MySQL, a transaction takes less CPU time at a higher throughput: the busy cores are about
    a line over throughput with a positive intercept. The line is extrapolated to all cores. Where a pool size saturated
    them, or the throughputs are too alike for a line, the function returns the demand at the highest throughput.
    demands: transactions per second -> demands, of each pool size.
    """
    if not demands or any(each.inferred or not each.server_ms for each in demands.values()):
        return None
    highest = max(demands)
    measured_ms, cores = demands[highest].server_ms, demands[highest].server_cores
    busy = {rate: rate * each.server_ms / 1000 for rate, each in demands.items()}
    if max(busy.values()) >= SATURATED * cores or highest < APART * min(demands):
        return measured_ms
    slope, idle = linear_regression(list(busy), list(busy.values()))
    extrapolated_ms = 1000 * slope * cores / (cores - idle) if 0 < idle < cores else measured_ms
    return min(measured_ms, max(LEAST_SHARE * measured_ms, extrapolated_ms))


def _time_ms(step: Step, busy_cores: float | None) -> float | None:
    """Return the CPU time of a transaction, in ms; None where no transaction ended, or the busy cores are not known."""
    rate = step.mean_throughput
    return 1000 * busy_cores / rate if rate and busy_cores is not None else None
