"""Service demands: the CPU time of one transaction at the load generator and at the server.

The utilisation law (Denning and Buzen, 1978): demand = busy time / transactions. The busy times are those that the
operating system accounts to the processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression

from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.analysis.models.fitted_network import NOT_MEASURED, MeasuredStations
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
    other_ms: time of a single connection's transaction spent waiting for the network, the disk or a lock, in ms; 0
    where no step with a single connection shows it.
    inferred: the server's process was not visible. Then server_ms is the usage time of a single connection less
    client_ms: network and disk included.
    saturated: the server's process, or all processes of its machine, kept at least 85 % of the cores busy.
    """

    client_ms: float
    client_processes: int
    server_ms: float
    server_cores: int
    other_ms: float
    inferred: bool
    saturated: bool

    @property
    def stations(self) -> MeasuredStations:
        """The CPU of the load generator and of the server; the server's is left out where it is inferred."""
        cpu = NOT_MEASURED if self.inferred else Station(self.server_ms, self.server_cores)
        return MeasuredStations(Station(self.client_ms, self.client_processes), cpu, self.saturated)

    def throughput(self, pool_size: int) -> float:
        """Return the transactions per second of a closed network with these demands, the pool of this size full."""
        stations = (
            Station(self.client_ms, self.client_processes),
            Station(self.server_ms, self.server_cores),
        )
        return 1000 * float(throughputs(stations, self.other_ms, pool_size)[-1])


def service_demands(step: Step, smallest: Step, cores: int) -> ServiceDemands | None:
    """Return the demands in one step.

    None in a replay, of an application, where no transaction ended, where no worker had users, and where the server's
    demand is not known.
    smallest: the run's step with the smallest pool; if that pool has 1 connection, its usage time gives other_ms.
    cores: physical cores of the server's host, used where the server's process is not visible.
    """
    client_ms = _client_ms(step)
    processes = sum(worker.users > 0 for worker in step.workers)
    if client_ms is None or not processes or smallest.latencies is None or not smallest.knows_usage:
        return None
    server_ms = _server_ms(step)
    lone_ms = mean_ms([smallest.latencies.usage]) - (_client_ms(smallest) or 0.0)
    if server_ms is None and smallest.pool_size > 1:
        return None
    if server_ms is None:
        return ServiceDemands(client_ms, processes, max(0.0, lone_ms), cores, 0.0, inferred=True, saturated=False)
    other_ms = max(0.0, lone_ms - (_server_ms(smallest) or 0.0)) if smallest.pool_size == 1 else 0.0
    server_cores = max(1, round(step.counter("process_cores") or cores))
    return ServiceDemands(
        client_ms, processes, server_ms, server_cores, other_ms, inferred=False, saturated=_saturated(step)
    )


def service_demands_at(steps: Sequence[Step], smallest: Step, cores: int) -> ServiceDemands | None:
    """Return the demands at a measured pool size, the mean of its repeats; None where no repeat knows them.

    steps: the repeats. smallest: the run's step with the smallest pool. cores: physical cores of the server's host.
    """
    repeats = [demands for step in steps if (demands := service_demands(step, smallest, cores)) is not None]
    if not repeats:
        return None
    return ServiceDemands(
        client_ms=sum(demands.client_ms for demands in repeats) / len(repeats),
        client_processes=repeats[0].client_processes,
        server_ms=sum(demands.server_ms for demands in repeats) / len(repeats),
        server_cores=repeats[0].server_cores,
        other_ms=sum(demands.other_ms for demands in repeats) / len(repeats),
        inferred=repeats[0].inferred,
        saturated=all(demands.saturated for demands in repeats),
    )


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


def _saturated(step: Step) -> bool:
    loads = [(step.counter(f"{whose}_cpu"), step.counter(f"{whose}_cores")) for whose in ("process", "machine")]
    return any(busy is not None and cores and busy >= SATURATED * cores for busy, cores in loads)


def _client_ms(step: Step) -> float | None:
    rate = step.mean_throughput
    return 1000 * step.busy_worker_cores / rate if rate else None


def _server_ms(step: Step) -> float | None:
    rate, cpu = step.mean_throughput, step.counter("process_cpu")
    return 1000 * cpu / rate if rate and cpu is not None else None
