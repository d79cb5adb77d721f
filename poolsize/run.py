"""Step and Run: what was measured, nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.plan import PlannedStep, SweepPlan


@dataclass(frozen=True)
class Latencies:
    """Three HdrHistograms of microseconds, 1 us to 1 h, three digits, V2-encoded in base64.

    They hold the transactions that ended within the counted seconds, failed ones left out.
    wait: asking for a connection until having it. usage: having it until giving it back.
    total: asking until giving back.
    """

    wait: str
    usage: str
    total: str


@dataclass(frozen=True)
class Worker:
    """One load process in one step.

    share: its part of the pool. users: callers that it ran.
    cpu: processor time per second of the counted time; 1.0 is one core kept busy.
    loop_lag_ms: the 99th percentile by which its event loop was late for a timer.
    """

    name: str
    share: int
    users: int
    cpu: float
    loop_lag_ms: float


@dataclass(frozen=True)
class Check:
    """One test of a step's truth: its name, whether it passed, and the figures it saw."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Step:
    """One pool size measured once.

    started: UTC, ISO 8601. users: concurrent callers. warm_up_seconds: leading seconds not counted.
    throughput: transactions that ended in each second, warm-up included.
    errors: kind -> failed transactions in each second, warm-up included.
    gap_ms: mean time between a caller's transactions (think time and scheduling), counted seconds only.
    latencies: of the counted seconds. server_connections: connections of the pool that the server counted.
    workers: the load processes. checks: the verdicts on this step.
    """

    pool_size: int
    repeat: int
    order: int
    started: str
    users: int
    warm_up_seconds: int
    throughput: tuple[int, ...]
    errors: Mapping[str, tuple[int, ...]]
    gap_ms: float
    latencies: Latencies
    server_connections: int
    workers: tuple[Worker, ...]
    checks: tuple[Check, ...]

    @property
    def counted(self) -> tuple[int, ...]:
        """Transactions per second, warm-up left out."""
        return self.throughput[self.warm_up_seconds :]

    @property
    def error_count(self) -> int:
        """Failed transactions, warm-up left out."""
        return sum(sum(series[self.warm_up_seconds :]) for series in self.errors.values())

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The checks this step did not pass."""
        return tuple(check for check in self.checks if not check.passed)


@dataclass(frozen=True)
class Setting:
    """Where a run was measured, written before its first step.

    created: UTC, ISO 8601. own_workload: the locustfile as it was typed, or None for one that comes with
    poolsize; workload_sha256: of its text. cores: physical cores of the database's host. disks: its disks.
    cores_from: "given"; "this machine", where the database ran; or "assumed" to be like this machine's.
    client: the machine that made the load. server: the database. private: whether poolsize started it itself,
    with these server_options.
    versions: library -> version, poolsize's own among them.
    """

    created: str
    plan: SweepPlan
    own_workload: str | None
    workload_sha256: str
    cores: int
    disks: int
    cores_from: str
    client: Machine
    server: Server
    private: bool
    server_options: Mapping[str, str]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Run:
    """All steps of one sweep so far, in the order they were measured."""

    setting: Setting
    steps: tuple[Step, ...]

    @property
    def plan(self) -> SweepPlan:
        """What was asked for."""
        return self.setting.plan

    @property
    def missing(self) -> tuple[PlannedStep, ...]:
        """Planned steps that were not measured yet, in order."""
        done = {(step.pool_size, step.repeat) for step in self.steps}
        return tuple(step for step in self.plan.steps() if (step.pool_size, step.repeat) not in done)
