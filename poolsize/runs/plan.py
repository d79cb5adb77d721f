"""SweepPlan: what a sweep was asked to do."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from poolsize.errors import BadInput

SEARCH_STEP_SECONDS, SEARCH_WARM_UP_SECONDS = 8, 2
"""Many short steps tell a search more than a few long ones: steps differ by more than the seconds of one step do."""
LONGEST = 4
"""A step that is not steady or not precise enough may count that many times its length."""


@dataclass(frozen=True)
class PlannedStep:
    """One pool size to be measured once: its place in the run (from 0), its size, its repeat (from 0).

    rate: transactions that arrive per second, or None for a closed loop.
    """

    order: int
    pool_size: int
    repeat: int
    rate: float | None = None


@dataclass(frozen=True)
class Search:
    """Sizes that the planner chooses while it measures, instead of a grid.

    start: the size to begin around. smallest, largest: how far it may go. budget_seconds: of load, warm-ups included.
    interval: it is enough when the ends of the answer's range are within this factor.
    loss: and when the share of throughput that the answer gives up is known within this, on either side.
    """

    start: int
    smallest: int
    largest: int
    budget_seconds: int = 600
    interval: float = 1.5
    loss: float = 0.035

    def __post_init__(self) -> None:
        """Raise BadInput for a search that can't be carried out."""
        if not self.interval > 1:
            raise BadInput(f"`interval` {self.interval:g}: give a factor above 1, such as 1.5")
        if self.budget_seconds < 1:
            raise BadInput(f"`budget_seconds` {self.budget_seconds}s: give at least 1s")


class SearchEnd(StrEnum):
    """Why a search ended: its answer is certain, its budget is spent, or no step could be used."""

    CERTAIN = "certain"
    BUDGET = "budget"
    FAILED = "failed"


@dataclass(frozen=True)
class SweepPlan:
    """What was asked for.

    sizes: pool sizes, ascending; empty where a search chooses them. search: None for those sizes.
    users: concurrent callers in a closed loop.
    workload: the locustfile's name, without its folder and ending.
    warm_up_seconds: length of each step's beginning that is kept but not counted.
    step_seconds: length of the counted rest. repeats: how often each size is measured.
    think_time_ms: mean pause of a caller between transactions, exponentially distributed.
    precision: a step runs on until the 95 % interval of its throughput is within this share of the mean on either
    side, or it has taken LONGEST times its length; None for no such aim.
    rate: transactions that arrive per second at random moments (open loop), whatever has become of the earlier
    ones; None for a closed loop.
    pool_timeout_seconds: how long a caller waits for a connection.
    error_budget: share of transactions that may fail; a step with more of them is ended, and void.
    verify: percentages of its own capacity at which the answer is measured after the sweep.
    attempts: how often a step is measured, at most, that chance has made void.
    seed: fixes the random order of the steps within each repeat.
    """

    sizes: tuple[int, ...]
    users: int
    workload: str
    warm_up_seconds: int = 3
    step_seconds: int = 15
    repeats: int = 1
    think_time_ms: float = 0.0
    precision: float | None = None
    rate: float | None = None
    pool_timeout_seconds: float = 30.0
    error_budget: float = 0.01
    verify: tuple[int, ...] = ()
    attempts: int = 3
    seed: int = 1
    search: Search | None = None

    def __post_init__(self) -> None:
        """Raise BadInput for a plan that can't be carried out."""
        for value, name, least in (
            (self.users, "users", 1),
            (self.step_seconds, "step_seconds", 1),
            (self.warm_up_seconds, "warm_up_seconds", 0),
            (self.repeats, "repeats", 1),
            (self.think_time_ms, "think_time_ms", 0),
        ):
            if value < least:
                raise BadInput(f"`{name}` {value:g}: give at least {least}")
        if not 0 < self.pool_timeout_seconds < inf:
            raise BadInput(f"`pool_timeout_seconds` {self.pool_timeout_seconds:g}s: give more than 0s")
        if self.rate is not None and not 0 < self.rate < inf:
            raise BadInput(f"`rate` {self.rate:g}: give more than 0 transactions a second")
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
        if self.sizes and min(self.sizes) < 1:
            raise BadInput(f"`sizes` {min(self.sizes)}: a pool has at least 1 connection")

    @property
    def largest(self) -> int:
        """The largest pool that may be measured."""
        return max(self.sizes) if self.search is None else self.search.largest

    @property
    def longest_seconds(self) -> int:
        """How long a step may take in all, warm-up included."""
        return self.warm_up_seconds + LONGEST * self.step_seconds
