"""Run and Step: what was measured, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from poolsize.bounds import LARGEST_NUMBER
from poolsize.errors import BadInput
from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.facts.ssl_mode import SslMode
from poolsize.record import (
    Amount,
    Cores,
    Count,
    Disks,
    Figure,
    Moment,
    Name,
    PoolSize,
    Series,
    Transactions,
    Whole,
    record,
)
from poolsize.runs.check import Check
from poolsize.runs.plan import MeasuredApplication, SearchEnd, SweepPlan

LATENCIES = ("wait", "usage", "total")
"""The times of a successful transaction, fields of Latencies."""
QUANTILES = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}
"""Name of each stored quantile -> percentage of the transactions."""


@record
class Latencies:
    """Four HdrHistograms of microseconds: 1 us to 1 h, three digits, V2-encoded in base64.

    They hold the transactions that ended within the counted seconds: three of them the successful transactions.
    wait: from the request for a connection until the user has it. usage: while the user holds it. total: both.
    Of an application, the total times are response times, and wait and usage are None: its pool keeps them to itself.
    failed: of the failed transactions, from the request for a connection until the failure; empty without a failed
    transaction.
    """

    wait: str | None
    usage: str | None
    total: str
    failed: str = ""

    def __post_init__(self) -> None:
        """Raise BadInput where only one of wait and usage is known."""
        if (self.wait is None) != (self.usage is None):
            raise BadInput("of latencies.wait and latencies.usage, only one is null")


@record
class Kind:
    """One kind of transaction in one step, by its task's name; counted seconds only.

    transactions: number that succeeded. latencies: their times.
    """

    transactions: Count
    latencies: Latencies


@record
class Worker:
    """One worker in one step.

    name: its name in Locust's log. share: its part of the pool, in connections; of an application's sweep, its part of
    the load in the same unit.
    users: concurrent users that it ran.
    cpu: CPU time per second of the counted time; 1.0 is one core kept busy.
    cpu_wait: time per second that the worker was ready to run and had no core (Linux's run queue, and what the
    hypervisor gave to other machines; 0 elsewhere).
    loop_lag_ms: 99th percentile of the delay of its event loop's timers, weighted by time: a stall counts as the timers
    that should have fired in it.
    """

    name: Name
    share: Count
    users: Count
    cpu: Amount
    cpu_wait: Amount
    loop_lag_ms: Amount


@record
class Calibration:
    """The cost of one worker and the speed of the machine, measured before the first step.

    loop_us: CPU time of a worker for one transaction, measured with connections that do nothing.
    round_trip_us: median time of the smallest statement (DO 1), sent by a single user.
    speed: of the idle machine's cores, in the unit of the counter machine_speed; None where it can't be measured.
    """

    loop_us: Amount
    round_trip_us: Amount
    speed: Amount | None = None


Value = Whole | Figure | Name | None | Mapping[Name, Whole]
"""A figure of a check; its unit is in its name."""


@record
class CheckResult:
    """The result of one check on one step.

    check: name of the check. passed: whether the step passed the check.
    values: the figures that the check compared, by names with units (`loop_lag_ms`).
    """

    check: Check
    passed: bool
    values: Mapping[Name, Value]


class StopReason(StrEnum):
    """Why a step ended before its planned length."""

    TOO_MANY_ERRORS = "too_many_errors"
    BACKLOG = "backlog"
    WORKER_LOST = "worker_lost"


@record
class Stopped:
    """An early end of a step.

    reason: why the step ended early.
    values: the figures of the reason. `too_many_errors`: `failed` of all `transactions`. `backlog`: `backlog`,
    transactions that were due and had no connection. `worker_lost`: `lost` of all `workers`.
    """

    reason: StopReason
    values: Mapping[Name, Count]


@record
class Step:
    """One pool size measured once.

    pool_size: connections of the pool. repeat: number of the repeat of that size, from 0.
    order: position in the run, from 0. started: UTC, ISO 8601.
    users: concurrent users; 0 in a replay that does not know them.
    rate: arrivals per second in an open loop, or None in a closed loop.
    warm_up_seconds: leading seconds that are not counted.
    throughput: transactions that ended in each second, warm-up included; whole numbers except in a replay.
    errors: error kind -> failed transactions in each second, warm-up included.
    p95_ms: 95th percentile of the total time of the successful transactions in each second, warm-up included.
    backlog: transactions that are due and have no connection at the end of each second, warm-up included; empty in a
    closed loop.
    busy: mean number of busy connections in each second, warm-up included; empty where `backlog` is.
    gap_ms: mean time between a user's transactions (think time and scheduling), counted seconds only.
    latencies: of the counted seconds; None in a replay, which has only p95_ms.
    sections: latency (wait, usage, total) -> quantile -> its value in ms in each of a few equal parts of the
    counted seconds. For the total time, a failed transaction counts as at least the pool timeout.
    kinds: kind of transaction -> `transactions`, the number that succeeded, and `latencies`; empty for a workload with
    one kind.
    server: counter -> its increase over each second, or its value for a gauge, warm-up included; None where it was not
    read.
    server_connections: the pool's connections by the server's count, of an application those of all its pools. None in
    a replay, and for an application whose database is not known.
    workers: the workers that stayed to the end of the step. stopped: why the step ended early, or None.
    checks: the result of each check.
    change_seconds: time that the application took to get the pool size, until it was ready; 0 without a change, and
    where the pool is poolsize's own.
    programs: name of another program on the master's machine -> cores that it used, of the busiest programs; empty
    where no program is seen.
    percentiles_ms: percentile other than p95 -> its value in each second, as in p95_ms; only in a replay.
    """

    pool_size: PoolSize
    repeat: Count
    order: Count
    started: Moment
    users: Count
    rate: Amount | None
    warm_up_seconds: Count
    throughput: Series[Transactions]
    errors: Mapping[Name, Series[Count]]
    p95_ms: Series[Amount]
    backlog: Series[Count]
    busy: Series[Amount]
    gap_ms: Figure
    latencies: Latencies | None
    sections: Mapping[Name, Mapping[Name, Series[Figure]]]
    kinds: Mapping[Name, Kind]
    server: Mapping[Name, Series[Figure | None]]
    server_connections: Count | None
    workers: Series[Worker]
    stopped: Stopped | None
    checks: Series[CheckResult]
    programs: Mapping[Name, Amount] = field(default_factory=dict)
    change_seconds: Amount = 0.0
    percentiles_ms: Mapping[Name, Series[Amount]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise BadInput for series that are not whole.

        A series has a value for each second, or none. A latency with sections has those of all
        quantiles; a section lasts a second or longer.
        """
        seconds = len(self.throughput)
        series = {"p95_ms": self.p95_ms, "backlog": self.backlog, "busy": self.busy, **self.errors}
        for name, values in {**series, **self.percentiles_ms, **self.server}.items():
            if values and len(values) != seconds:
                raise BadInput(f"{name} has {len(values)} seconds, and throughput has {seconds}")
        for latency, quantiles in self.sections.items():
            if missing := QUANTILES.keys() - quantiles.keys():
                raise BadInput(f"sections.{latency} has no {min(missing)}")
            if (most := max(map(len, quantiles.values()))) > seconds:
                raise BadInput(f"sections.{latency} has {most} sections, and throughput has {seconds} seconds")

    @property
    def counted(self) -> tuple[int | float, ...]:
        """Transactions in each counted second: warm-up left out."""
        return self.throughput[self.warm_up_seconds :]

    def counted_ms(self, quantile: str) -> tuple[float, ...]:
        """Return a percentile in each counted second in which it is known, in ms. quantile: its name, such as p95."""
        series = self.p95_ms if quantile == "p95" else self.percentiles_ms.get(quantile, ())
        return tuple(value_ms for value_ms in series[self.warm_up_seconds :] if value_ms > 0)

    @property
    def mean_throughput(self) -> float:
        """Mean transactions per second over the counted seconds; 0 without any."""
        return sum(self.counted) / len(self.counted) if self.counted else 0.0

    @property
    def error_count(self) -> int:
        """Failed transactions in the counted seconds."""
        return sum(sum(series[self.warm_up_seconds :]) for series in self.errors.values())

    @property
    def knows_usage(self) -> bool:
        """Whether wait and usage times were measured: neither in a replay nor in an application."""
        return self.latencies is not None and self.latencies.usage is not None

    @property
    def busy_worker_cores(self) -> float:
        """Cores that the workers kept busy in the counted seconds."""
        return sum(worker.cpu for worker in self.workers)

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not pass."""
        return tuple(result for result in self.checks if not result.passed)

    @property
    def valid(self) -> bool:
        """Whether the step may enter an estimate: it failed no check that disqualifies."""
        return not any(result.check.disqualifies for result in self.failed_checks)

    @property
    def retryable(self) -> bool:
        """Whether the step failed a check that may pass when the step is measured again."""
        return any(result.check.retryable for result in self.failed_checks)

    @property
    def disturbed(self) -> bool:
        """Whether the step failed a check whose failure shows a disturbance."""
        return any(result.check.disturbed for result in self.failed_checks)

    @property
    def had_other_speed(self) -> bool:
        """Whether the machine had another speed than is usual in the run."""
        return any(result.check is Check.SPEED for result in self.failed_checks)

    def counter(self, name: str) -> float | None:
        """Return the mean of a server counter over the counted seconds in which it was read; None if it never was."""
        values = [value for value in self.server.get(name, ())[self.warm_up_seconds :] if value is not None]
        return sum(values) / len(values) if values else None


@record
class Setting:
    """Where and how a run is measured; written before its first step.

    created: UTC, ISO 8601. plan: the steps to measure.
    own_workload: the user's locustfile as typed, or None for a workload that comes with poolsize.
    workload_sha256: hash of the locustfile's text; in a replay, of the recording or of the published curve's name.
    own_wait_time: whether the locustfile's user classes set a `wait_time`.
    covers: the share of production's statements that a captured workload repeats, in words; "" for other workloads.
    cores: physical cores of the database's host. disks: disks of the database's host.
    cores_from: source of `cores`: "given" by the user; "this machine", on which the database runs; or "assumed": the
    database runs on another machine, and poolsize assumes that it has as many cores as this machine.
    client: the machine that generates the load. server: the database; None in a replay, and where the application's
    database is not known.
    private: whether poolsize starts the server. server_options: variable -> value of a private server.
    recording: the curve that is replayed in place of a server, as typed, else None.
    versions: library -> version, poolsize's own included.
    schema: the user's own schema that the workload runs in, or None for poolsize's schema and for a replay.
    given_host: host and port of the server's URL as given, an IPv6 address in brackets; None for a private server, a
    socket and a replay.
    application: the application whose pool was measured; None where the pool is poolsize's own.
    ssl_mode: the encryption that the connections ask for. cipher: what encrypts them, or None without encryption. Both
    are None in a replay, and for an application's own connections.
    interval_seconds: over which each figure of a recording is a mean; then a second of the steps is such an interval.
    means_only: whether the recording has too few figures of a pool size to show how much throughput varies.
    """

    created: Moment
    plan: SweepPlan
    own_workload: Name | None
    workload_sha256: Name
    cores: Cores
    disks: Disks
    cores_from: Name
    client: Machine
    server: Server | None
    private: bool
    server_options: Mapping[Name, Name]
    versions: Mapping[Name, Name]
    recording: Name | None = None
    schema: Name | None = None
    own_wait_time: bool = False
    covers: Name = ""
    given_host: Name | None = None
    application: MeasuredApplication | None = None
    ssl_mode: SslMode | None = None
    cipher: Name | None = None
    interval_seconds: Annotated[float, Field(gt=0, le=LARGEST_NUMBER)] = 1.0
    means_only: bool = False

    @property
    def subject(self) -> str:
        """The server's name and version, "an application", or "a recording"."""
        if self.server is not None:
            return self.server.title
        return "an application" if self.application else "a recording"

    @property
    def pools(self) -> int:
        """The number of pools that have the swept size; more than one only in an application."""
        return self.application.pools if self.application else 1

    def connections(self, pool_size: int) -> int:
        """Return the connections to the database that all pools of a size have together."""
        return self.pools * pool_size


@dataclass(frozen=True)
class Run:
    """The steps of one sweep, complete or not.

    steps: in the order they were measured, failed attempts included.
    calibration: the cost of a worker, or None in a replay. ended: why a search ended; None while it goes on, and for a
    grid.
    """

    setting: Setting
    steps: Sequence[Step]
    calibration: Calibration | None = None
    ended: SearchEnd | None = None

    @property
    def plan(self) -> SweepPlan:
        """The plan of the sweep."""
        return self.setting.plan

    @property
    def think_time_ms(self) -> float:
        """Mean pause of a user between transactions in ms: the plan's, or the measured gap under a wait_time."""
        gaps_ms = [step.gap_ms for step in self.steps if step.rate is None]
        return sum(gaps_ms) / len(gaps_ms) if self.setting.own_wait_time and gaps_ms else self.plan.think_time_ms

    @property
    def timeout_ms(self) -> float:
        """How long a user waits for a connection, in ms: a failed transaction counts as that long, or longer.

        0 for an application, whose failed requests count with their own times.
        """
        return 0.0 if self.setting.application else 1000 * self.plan.pool_timeout_seconds

    @property
    def load_seconds(self) -> int:
        """Seconds of load, warm-ups and failed attempts included."""
        return round(self.setting.interval_seconds * sum(len(step.throughput) for step in self.steps))

    @property
    def workers(self) -> int:
        """The largest number of workers in a step; 0 in a replay."""
        return max((len(step.workers) for step in self.steps), default=0)
