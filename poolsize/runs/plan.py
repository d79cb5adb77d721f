"""SweepPlan: which steps a sweep measures, and how; MeasuredApplication: the application whose pool it measures."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from poolsize.bounds import LARGEST_NUMBER
from poolsize.errors import BadInput
from poolsize.record import Name, PoolSize, Positive, Series, Share, record

SEARCH_STEP_SECONDS, SEARCH_WARM_UP_SECONDS = 8, 2
"""Defaults of a search, in seconds. Between-step noise exceeds within-step noise, so many short steps tell more."""
MOST_USERS, MOST_RATE, MOST_THINK_TIME_MS = 1_000_000, 1_000_000, 86_400_000
"""A larger number of users is a typing error."""
MOST_STEPS = 5_000
"""Steps of a run, failed attempts included: more would neither fit into memory nor change an answer."""
MOST_STEP_SECONDS = 7_200
"""A longer step might not fit into a line of a run's file."""
StepSeconds = Annotated[int, Field(ge=0, le=MOST_STEP_SECONDS)]
Limit = Annotated[float, Field(gt=0, le=86_400_000)]
"""A limit in ms, of a day at most."""
LONGEST = 4
"""The counted time of a step that is not steady or precise enough may grow to this multiple of its planned length."""


@dataclass(frozen=True)
class PlannedStep:
    """One pool size to be measured once.

    order: position in the run, from 0. repeat: number of the repeat, from 0.
    rate: arrivals per second in an open loop, or None in a closed loop.
    most_seconds: the step is not extended beyond so many seconds, warm-up included, the rest of a search's budget; None
    for no such limit.
    """

    order: int
    pool_size: int
    repeat: int
    rate: float | None = None
    most_seconds: int | None = None


@record
class Search:
    """A search, which chooses its pool sizes while it measures, in place of a grid.

    start: the pool size around which the search begins. smallest, largest: bounds of the pool sizes.
    budget_seconds: seconds of load, warm-ups included.
    interval: how certain the answer must be. The search may end when the answer is expected to be hardly too small, and
    hardly too large, by bounds that are proportional to log2(`interval`). The second is not needed where the upper end
    of the answer's 95 % range is at most `interval` times the lower, or the range is at most the answer and the next
    smaller size that may be measured.
    """

    start: PoolSize
    smallest: PoolSize
    largest: PoolSize
    budget_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 600
    interval: Annotated[float, Field(gt=1, le=1_000)] = 1.5


class SearchEnd(StrEnum):
    """Why a search ended.

    CERTAIN: the answer is certain, or no size may be measured again. BUDGET: the budget is spent. FAILED: no step could
    be used.
    """

    CERTAIN = "certain"
    BUDGET = "budget"
    FAILED = "failed"


class PoolKind(StrEnum):
    """The pool that is measured.

    fair: with a queue that serves users in order of arrival. sqlalchemy: SQLAlchemy's own QueuePool. none: no pool;
    each transaction opens a connection and closes it, and the pool size limits how many do so at once. lazy: like fair,
    but a connection is opened when a user needs it, and the server may refuse it.
    """

    FAIR = "fair"
    SQLALCHEMY = "sqlalchemy"
    NONE = "none"
    LAZY = "lazy"

    @property
    def opens_all(self) -> bool:
        """Whether all connections are open before the load begins, and stay open."""
        return self in {PoolKind.FAIR, PoolKind.SQLALCHEMY}


@record
class SweepPlan:
    """The plan of a sweep.

    sizes: pool sizes of a grid, ascending; empty in a search. search: the bounds of a search, or None for a grid.
    users: concurrent users. In an open loop: the most transactions that hold or wait for a connection at once.
    workload: the locustfile's name, without its folder and ending.
    warm_up_seconds: shortest beginning of each step that is stored but not counted. In a closed loop, no second counts
    before every user was served once, and before five mean pauses.
    longest_warm_up_seconds: in a closed loop, a warm-up in which throughput still rises goes on for up to so long; 0
    for no such warm-up.
    step_seconds: shortest counted time after the warm-up.
    repeats: number of steps at each size of a grid.
    think_time_ms: mean pause of a user between transactions, exponentially distributed.
    precision: a step goes on until the 95 % interval of its throughput is this narrow: a share of the mean, on either
    side; None for no such goal. With or without it, a step that is not steady goes on as well. A step ends at the
    latest after 4 times its planned length (LONGEST), or later if its users wait that long for their first connection.
    rate: arrivals per second at random moments (open loop), whether or not earlier transactions have ended; None for
    a closed loop.
    pool: the kind of pool through which the users share the connections.
    pool_timeout_seconds: how long a user waits for a connection before the transaction fails.
    error_budget: share of transactions that may fail; a step with more failures is disqualified, and ends early from
    20 failures on.
    verify: percentages of its throughput at which the recommended size is measured in an open loop, after the other
    steps and within the budget of a search.
    attempts: largest number of attempts at a step that fails a check that may pass another time.
    max_p95_ms, max_p99_ms: latency limits of the answer, on p95 and p99 of the total time; None for no limit.
    seed: fixes the random order of a grid's steps within each repeat, and the windows of a replay.
    """

    sizes: Series[PoolSize]
    users: Annotated[int, Field(ge=1, le=MOST_USERS)]
    workload: Name
    warm_up_seconds: StepSeconds = 3
    step_seconds: Annotated[StepSeconds, Field(ge=1)] = 15
    repeats: Annotated[int, Field(ge=1, le=1_000)] = 1
    think_time_ms: Annotated[float, Field(ge=0, le=MOST_THINK_TIME_MS)] = 0.0
    precision: Share | None = None
    rate: Annotated[float, Field(gt=0, le=MOST_RATE)] | None = None
    pool_timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    error_budget: Share = 0.01
    verify: Series[Annotated[int, Field(ge=1, le=99)]] = ()
    attempts: Annotated[int, Field(ge=1, le=1_000)] = 3
    seed: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] = 1
    search: Search | None = None
    pool: PoolKind = PoolKind.FAIR
    max_p95_ms: Limit | None = None
    max_p99_ms: Limit | None = None
    longest_warm_up_seconds: StepSeconds = 0

    def __post_init__(self) -> None:
        if self.rate is not None and self.think_time_ms:
            raise BadInput("`think_time_ms` is of a closed loop, and `rate` makes an open one: leave one out")
        if self.rate is not None and self.sizes and self.users < self.largest:
            raise BadInput(
                f"`users` {self.users}: as many transactions at most are at work at once, fewer than the "
                f"{self.largest} connections of the largest pool; give at least `users` {2 * self.largest}"
            )
        if self.rate is not None and self.verify:
            raise BadInput("`verify` finds its rates from the sweep's own capacity: leave `rate` out")
        if not self.sizes and self.search is None:
            raise BadInput("`sizes` is empty: name at least one, e.g. `sizes` 1,4,8,16")
        if (steps := len(self.sizes) * self.repeats) > MOST_STEPS:
            raise BadInput(
                f"`repeats` {self.repeats}: {steps:,} steps, and a run holds {MOST_STEPS:,} at most: name fewer "
                "`sizes`, or fewer `repeats`"
            )
        most_seconds = MOST_STEPS * self.planned_seconds
        if self.search is not None and self.search.budget_seconds > most_seconds:
            raise BadInput(
                f"`budget_seconds` {self.search.budget_seconds}s: a run holds {MOST_STEPS:,} steps at most, which take "
                f"{most_seconds}s: give a shorter `budget_seconds`, or a longer `step_seconds`"
            )

    def extends(self, earlier: "SweepPlan") -> bool:
        """Return whether the plan differs from an earlier one at most in its search, or a grid's sizes and repeats."""
        same = replace(self, sizes=earlier.sizes, repeats=earlier.repeats, search=earlier.search)
        return same == earlier and (self.search is None) == (earlier.search is None)

    @property
    def largest(self) -> int:
        """The largest pool size that may be measured."""
        return max(self.sizes) if self.search is None else self.search.largest

    @property
    def limits_ms(self) -> dict[str, float]:
        """Quantile of the total time -> its latency limit in ms; empty without limits."""
        limits_ms = {"p95": self.max_p95_ms, "p99": self.max_p99_ms}
        return {quantile: limit_ms for quantile, limit_ms in limits_ms.items() if limit_ms is not None}

    @property
    def planned_seconds(self) -> int:
        """The planned length of a step in seconds, warm-up included."""
        return self.warm_up_seconds + self.step_seconds

    @property
    def longest_seconds(self) -> int:
        """The longest time that a step may take, in seconds, warm-up included.

        A step whose users wait or pause for longer at first takes that time and the planned length.
        """
        return self.warm_up_seconds + LONGEST * self.step_seconds


@record
class MeasuredApplication:
    """The application whose pool a run measured.

    file: path of its file, as typed. sha256: hash of the file's text. host: the service's URL.
    started: whether the sweep starts the application for a step; else a command changes the pool of a running one.
    variables: names of the environment's variables that hold the pool size.
    instances: of the application. processes: of each instance. Each process has a pool of its own.
    """

    file: Name
    sha256: Name
    host: Name
    started: bool
    variables: Series[Name] = ()
    instances: Positive = 1
    processes: Positive = 1

    @property
    def pools(self) -> int:
        """The number of pools, each of the swept size."""
        return self.instances * self.processes
