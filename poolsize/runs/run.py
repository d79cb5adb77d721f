"""Step and Run: what was measured, nothing else."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.runs.plan import PlannedStep, SweepPlan

CHANCE = ("littles_law", "connections", "errors", "steady_state", "workers", "quiet")
"""Checks that may pass when the step is measured again; the others say what can't be helped by that."""


LATENCIES = ("wait", "usage", "total")
"""The fields of Latencies."""


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
    cpu_wait: time per second that it was ready to run and had no core (Linux's run queue; 0 elsewhere).
    loop_lag_ms: the 99th percentile by which its event loop was late for a timer.
    """

    name: str
    share: int
    users: int
    cpu: float
    cpu_wait: float
    loop_lag_ms: float


@dataclass(frozen=True)
class Calibration:
    """What one load process costs, measured before the first step while the others wait.

    loop_us: processor time of one turn of a caller's loop through a pool whose connections do nothing.
    statement_us: what sending the smallest statement (DO 1) and reading its answer adds to that.
    round_trip_us: how long a single caller waits for that answer, the median.
    """

    loop_us: float
    statement_us: float
    round_trip_us: float


@dataclass(frozen=True)
class Check:
    """One test of a step's truth: its name, whether it passed, and the figures it saw."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Step:
    """One pool size measured once.

    started: UTC, ISO 8601. users: concurrent callers; 0 in a replay that does not know them.
    rate: transactions that arrived per second, by the clock (open loop), or None where callers made them one after
    another (closed loop).
    warm_up_seconds: leading seconds not counted.
    throughput: transactions that ended in each second, warm-up included; whole numbers, but for a replay.
    errors: kind -> failed transactions in each second, warm-up included.
    p95_ms: of the total time of the transactions that ended in each second, warm-up included.
    gap_ms: mean time between a caller's transactions (think time and scheduling), counted seconds only.
    latencies: of the counted seconds; None in a replay, whose recording has a p95 for each second and no more.
    sections: latency (wait, usage, total) -> quantile -> its value in ms in each of a few equal parts of the
    counted seconds, from which the quantile's interval is made.
    server: counter -> its value in each second (a gauge) or its increase over the second, warm-up included; None
    where it was not read. Which is which: facts.status.
    server_connections: connections of the pool that the server counted, or None where nobody asked.
    workers: the load processes that stayed. stopped: why the step ended before its time, or None.
    checks: the verdicts on this step.
    """

    pool_size: int
    repeat: int
    order: int
    started: str
    users: int
    rate: float | None
    warm_up_seconds: int
    throughput: tuple[int | float, ...]
    errors: Mapping[str, tuple[int, ...]]
    p95_ms: tuple[float, ...]
    gap_ms: float
    latencies: Latencies | None
    sections: Mapping[str, Mapping[str, tuple[float, ...]]]
    server: Mapping[str, tuple[float | None, ...]]
    server_connections: int | None
    workers: tuple[Worker, ...]
    stopped: str | None
    checks: tuple[Check, ...]

    @property
    def counted(self) -> tuple[int | float, ...]:
        """Transactions per second, warm-up left out."""
        return self.throughput[self.warm_up_seconds :]

    @property
    def mean_throughput(self) -> float:
        """Transactions per second over the counted time; 0 where none was counted."""
        return sum(self.counted) / len(self.counted) if self.counted else 0.0

    @property
    def error_count(self) -> int:
        """Failed transactions, warm-up left out."""
        return sum(sum(series[self.warm_up_seconds :]) for series in self.errors.values())

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The checks this step did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def void(self) -> bool:
        """Whether chance spoiled it, so that it is measured again."""
        return any(check.name in CHANCE for check in self.failed_checks)

    def counter(self, name: str) -> float | None:
        """Mean of a server counter over the counted seconds in which it was read, or None."""
        read = [value for value in self.server.get(name, ())[self.warm_up_seconds :] if value is not None]
        return sum(read) / len(read) if read else None


@dataclass(frozen=True)
class Setting:
    """Where a run was measured, written before its first step.

    created: UTC, ISO 8601.
    own_workload: the locustfile as it was typed, or None for one that comes with poolsize; workload_sha256: of its
    text. cores: physical cores of the database's host. disks: its disks.
    cores_from: "given"; "this machine", where the database ran; or "assumed" to be like this machine's.
    client: the machine that made the load. server: the database, unknown in a replay. private: whether poolsize
    started it itself, with these server_options.
    recording: the curve that was replayed in place of a server, as typed, else None.
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
    server: Server | None
    private: bool
    server_options: Mapping[str, str]
    versions: Mapping[str, str]
    recording: str | None = None

    @property
    def subject(self) -> str:
        """What was measured, for people: the server's name and version, or the recording."""
        return self.server.title if self.server else "a recording"


@dataclass(frozen=True)
class Run:
    """All steps of one sweep so far, in the order they were measured.

    calibration: of its load processes. ended: why a search for the size came to its end: it was "certain", its "budget"
    was spent, or it "failed" to measure anything; None while it goes on, and for a grid.
    """

    setting: Setting
    steps: tuple[Step, ...]
    calibration: Calibration | None = None
    ended: str | None = None

    @property
    def plan(self) -> SweepPlan:
        """What was asked for."""
        return self.setting.plan

    @property
    def curve(self) -> tuple[Step, ...]:
        """The steps that make the curve, in the order they were measured: every planned one's best attempt.

        What verifies the answer at a fraction of its capacity is not among them.
        """
        return best_attempts(self.plan, self.steps)

    @property
    def void(self) -> tuple[Step, ...]:
        """Steps that were spoiled and measured again; kept, and counted nowhere."""
        kept = {id(step) for step in self.curve} | {id(step) for step in self.verification}
        return tuple(step for step in self.steps if id(step) not in kept)

    @property
    def verification(self) -> tuple[Step, ...]:
        """The steps that measured the answer at a fraction of its capacity, the last attempt of each."""
        last = {(step.pool_size, step.rate): step for step in self.steps if step.rate != self.plan.rate}
        return tuple(last.values())

    @property
    def load_seconds(self) -> int:
        """How long it made load, warm-ups and void steps included."""
        return sum(len(step.throughput) for step in self.steps)

    @property
    def processes(self) -> int:
        """Load processes that made it; 0 in a replay."""
        return max((len(step.workers) for step in self.steps), default=0)

    @property
    def unfinished(self) -> str:
        """What is still to be measured, for people; empty when nothing is."""
        if self.plan.search is not None:
            return "" if self.ended else "its search for the size was cut off"
        missing = len(missing_steps(self.plan, self.steps))
        return f"{missing} of {len(self.plan.steps())} steps are missing" if missing else ""


def missing_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[PlannedStep, ...]:
    """What a grid still needs: planned steps without an attempt, then those whose attempts were all void."""
    attempts = Counter((step.pool_size, step.repeat) for step in steps if step.rate == plan.rate)
    done = {(step.pool_size, step.repeat) for step in best_attempts(plan, steps) if not step.void}
    left = [
        step
        for step in plan.steps()
        if (step.pool_size, step.repeat) not in done and attempts[step.pool_size, step.repeat] < plan.attempts
    ]
    return tuple(sorted(left, key=lambda step: attempts[step.pool_size, step.repeat]))


def best_attempts(plan: SweepPlan, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Of every planned step the attempt that is not void, else the last one.

    A search, which plans no steps, has at every size those that are not void, else the last one.
    """
    chosen: dict[tuple[int, int], Step] = {}
    for step in steps:
        place = (step.pool_size, step.repeat)
        if step.rate == plan.rate and (place not in chosen or chosen[place].void):
            chosen[place] = step
    kept = tuple(step for step in steps if chosen.get((step.pool_size, step.repeat)) is step)
    if plan.search is None:
        return kept
    fine = {step.pool_size for step in kept if not step.void}
    return tuple(step for step in kept if not step.void or step.pool_size not in fine)
