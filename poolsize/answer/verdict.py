"""The verdict on a measured size: whether it is usable, and if not, the reason and the way out."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING, Literal

from poolsize.answer.failed_attempts import too_few_valid
from poolsize.answer.finding import (
    ENOUGH_USERS,
    Caution,
    Finding,
    MoreUsers,
    MoreWorkers,
    Refusal,
    WayOut,
    measure_longer,
    more_workers,
    sweep_beyond,
    users_for,
)
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.plateau import Plateau

RISING, HALF_A_DOUBLING = 0.01, 2**0.5
"""A curve still rises if throughput gains more than this share over half a doubling of the pool size."""
NOISY_SPAN, MOST_LOSS = 8, 0.1
"""A measurement is too noisy if the plateau's start is known to no better than this multiple even for one capacity, and
the answer may lose this share of throughput or more."""


class Verdict(StrEnum):
    """Whether a measured size is usable.

    MEASURED: usable. EDGE: the best size may lie beyond the measured sizes. USERS_LIMITED: larger pools had too few
    users to fill them. GENERATOR_LIMITED: a worker was the bottleneck. NOISY: the measurement determines no size.
    MEANS_ONLY: the best estimate from so few figures a size that their noise is unknown.
    """

    MEASURED = "measured"
    EDGE = "edge"
    USERS_LIMITED = "users-limited"
    GENERATOR_LIMITED = "generator-limited"
    NOISY = "noisy"
    NOT_THE_LIMIT = "not-the-limit"
    MEANS_ONLY = "means-only"


class Highest(StrEnum):
    """The meaning of the fitted curve's highest throughput.

    CAPACITY: larger pools reach no more. OF_FILLED: larger pools had too few users to fill them. OF_MEASURED: the curve
    still rises at its end.
    """

    CAPACITY = "capacity"
    OF_FILLED = "of filled pools"
    OF_MEASURED = "of measured sizes"


class GeneratorLimited(Caution, code="generator_limited", is_doubt=True):
    """A worker was the bottleneck at the answer, pool_size."""

    pool_size: int
    way_out: MoreWorkers


class UsersLimited(Caution, code="users_limited", is_doubt=True):
    """Pools larger than the largest valid size had too few users to fill them."""

    largest: int
    users: int
    way_out: WayOut


class StillRising(Caution, code="still_rising", is_doubt=True, of_generator=True):
    """The curve still rises at the largest valid size. limit_broken: whether no size keeps the latency limit."""

    largest: int
    way_out: WayOut
    limit_broken: bool = False


class SmallestSize(Caution, code="smallest_size", is_doubt=True, of_generator=True):
    """The answer is the smallest valid size."""

    pool_size: int
    way_out: WayOut


class MeansOnly(Caution, code="means_only", is_doubt=True):
    """A recording has too few figures of a size to show its noise, so the range of the answer is unknown."""


OpenEnd = Literal["low", "high"]
OPEN_ENDS: Mapping[type[Finding], OpenEnd] = {UsersLimited: "high", StillRising: "high", SmallestSize: "low"}
"""Warning -> the end of the 95 % range beyond which the answer may lie."""


class NotTheLimit(Caution, code="not_the_limit", leads=True):
    """No measured size of an application's pool limits its throughput; pool_size is the smallest that was never full.

    users: of the closed loop. in_use: mean connections in use of pool_size; most_in_use: the most at once. smallest:
    the smallest measured size. smallest_in_use, smallest_throughput, smallest_wait_ms: its mean connections in use, its
    requests per second, and its mean wait time, None where it is not known.
    """

    pool_size: int
    users: int
    in_use: float
    most_in_use: int
    smallest: int
    smallest_in_use: float
    smallest_throughput: float
    smallest_wait_ms: float | None


class RateNotServed(Refusal, code="rate_not_served"):
    """No measured size serves the arrival rate, in transactions per second."""

    rate: float


class GeneratorEverywhere(Refusal, code="generator_everywhere"):
    """A worker was the bottleneck at every size."""

    way_out: MoreWorkers


class UsersLimitedEverywhere(Refusal, code="users_limited_everywhere"):
    """The users filled no pool."""

    users: int
    way_out: MoreUsers


class NothingValid(Refusal, code="nothing_valid"):
    """No step passed its checks."""


class OneSize(Refusal, code="one_size"):
    """Only one size is valid, and an answer compares two."""

    pool_size: int
    way_out: WayOut


class Noisy(Refusal, code="noisy"):
    """The 95 % range, from low to high connections, is too wide for an answer.

    greatest_loss: share of throughput that the most probable answer loses at most.
    """

    low: int
    high: int
    greatest_loss: float
    way_out: WayOut


class GeneratorNotSeparable(Refusal, code="generator_not_separable"):
    """A worker was the bottleneck, and the service demands of load generator and server can't be separated."""

    way_out: MoreWorkers


def highest(findings: Sequence[Finding]) -> Highest:
    """Return the meaning of the curve's highest throughput. findings: the warnings of verdict_on_size."""
    if any(isinstance(finding, UsersLimited) for finding in findings):
        return Highest.OF_FILLED
    rising = any(isinstance(finding, StillRising) for finding in findings)
    return Highest.OF_MEASURED if rising else Highest.CAPACITY


def known_range(analysis: "Analysis", findings: Sequence[Finding]) -> tuple[tuple[int, int] | None, OpenEnd | None]:
    """Return the 95 % range of the plateau's start, and which end of it is open.

    An end is open where pools beyond the measured sizes may be the answer: the users could not fill larger pools, the
    curve still rises, or the answer is the smallest size. The range is None where none was estimated: for a single
    valid size, for means alone, and without a fitted curve, such as at a fixed rate.
    findings: the warnings of verdict_on_size.
    """
    plateau = analysis.plateau
    unknown = analysis.curve is None or any(isinstance(finding, MeansOnly) for finding in findings)
    unknown = unknown or len(analysis.valid_sizes) == 1
    if plateau is None or unknown:
        return None, None
    ends = [OPEN_ENDS[type(finding)] for finding in findings if type(finding) in OPEN_ENDS]
    return (plateau.low, plateau.high), next(iter(ends), None)


def not_the_limit(analysis: "Analysis") -> NotTheLimit | None:
    """Return the finding that no measured pool size limits an application's throughput; None where that is not shown.

    A saturated load generator comes first: the application has not shown its own throughput then, unless the users'
    pauses decide the load.
    """
    if analysis.free_pools is None:
        return None
    smallest, answer = analysis.free_pools
    if any(_is_generator_limited(analysis, use.pool_size) for use in (smallest, answer) if not use.is_paced):
        return None
    of_smallest = analysis.at(smallest.pool_size)
    return NotTheLimit(
        pool_size=answer.pool_size,
        users=analysis.setting.plan.users,
        in_use=answer.in_use,
        most_in_use=answer.most_in_use,
        smallest=smallest.pool_size,
        smallest_in_use=smallest.in_use,
        smallest_throughput=of_smallest.throughput.mean,
        smallest_wait_ms=None if isnan(of_smallest.wait.mean) else of_smallest.wait.mean,
    )


def verdict_without_size(analysis: "Analysis") -> tuple[Verdict, Finding] | None:
    """Return the verdict and the refusal of a run that determines no size; None for a run that determines a size."""
    plateau, too_few = analysis.plateau, too_few_valid(analysis)
    if plateau is None or is_noisy(plateau):
        if everywhere := _failed_everywhere(analysis):
            return everywhere
        noisy = (
            Noisy(plateau.low, plateau.high, plateau.greatest_loss, measure_longer(analysis))
            if plateau
            else NothingValid()
        )
        return Verdict.NOISY, too_few or noisy
    if analysis.setting.plan.rate is None or not _smaller_is_too_small(analysis, plateau.pool_size):
        if too_few:
            return Verdict.NOISY, too_few
        if len(analysis.valid_sizes) == 1 and not any(size.failed(Check.USERS_LIMITED) for size in analysis.sizes):
            one_size = OneSize(plateau.pool_size, sweep_beyond(analysis, plateau.pool_size))
            return _failed_everywhere(analysis) or (Verdict.NOISY, one_size)
    nearest = analysis.by_size.nearest(plateau.pool_size)
    separable = nearest.demands is not None or analysis.setting.application is not None
    if _is_generator_limited(analysis, plateau.pool_size) and not separable:
        return Verdict.GENERATOR_LIMITED, GeneratorNotSeparable(more_workers(analysis, nearest))
    return None


def is_noisy(plateau: "Plateau") -> bool:
    """Return whether the measurement does not narrow the choice, and a wrong size may cost too much.

    The range is also wide where another size may have a higher capacity. The greatest loss says what is at stake there.
    """
    return plateau.span > NOISY_SPAN and plateau.greatest_loss >= MOST_LOSS


def verdict_on_size(analysis: "Analysis", size: int) -> tuple[Verdict, Sequence[Finding]]:
    """Return the verdict on a size, and the warnings with their ways out; no warning where the size is usable.

    A saturated load generator decides the verdict, and hides no warning of sizes that were not measured.
    analysis: of a run with a plateau. size: the plateau's; at a fixed rate, the answer.
    """
    verdict, findings = Verdict.MEASURED, list[Finding]()
    if analysis.setting.plan.rate is None or not _smaller_is_too_small(analysis, size):
        verdict, findings = _at_an_end(analysis, size) or (verdict, findings)
    if _is_generator_limited(analysis, size):
        way_out = more_workers(analysis, analysis.by_size.nearest(size))
        return Verdict.GENERATOR_LIMITED, [GeneratorLimited(size, way_out), *findings]
    if analysis.setting.means_only:
        return Verdict.MEANS_ONLY if verdict is Verdict.MEASURED else verdict, [*findings, MeansOnly()]
    return verdict, findings


def _smaller_is_too_small(analysis: "Analysis", size: int) -> bool:
    """Return whether a smaller size did not serve the rate, or served it but did not keep a latency limit."""
    return any(other.pool_size < size and (other.valid or other.failed(Check.ARRIVALS)) for other in analysis.sizes)


def _failed_everywhere(analysis: "Analysis") -> tuple[Verdict, Finding] | None:
    """Return the verdict and the refusal of a run with a check that failed at every size, or None."""
    plan, recorded = analysis.setting.plan, analysis.setting.recording is not None

    def everywhere(check: Check) -> bool:
        return all(size.failed(check) for size in analysis.sizes)

    if plan.rate is not None and everywhere(Check.ARRIVALS):
        return Verdict.NOISY, RateNotServed(plan.rate)
    if everywhere(Check.GENERATOR) and not everywhere(Check.QUIET):  # other programs delay workers, too
        return Verdict.GENERATOR_LIMITED, GeneratorEverywhere(more_workers(analysis, analysis.sizes[-1]))
    if everywhere(Check.USERS_LIMITED) and not everywhere(Check.ERRORS):
        smaller = analysis.sizes[0].pool_size > 1 or recorded
        way_out = MoreUsers(None if recorded else _enough_users(analysis), smaller_sizes=smaller)
        return Verdict.USERS_LIMITED, UsersLimitedEverywhere(plan.users, way_out)
    return None


def _at_an_end(analysis: "Analysis", size: int) -> tuple[Verdict, list[Finding]] | None:
    """Return the verdict and the warning where the answer is at an end of the sizes or the curve still rises there."""
    users, recorded = analysis.setting.plan.users, analysis.setting.recording is not None
    smallest, largest = analysis.valid_sizes[0].pool_size, analysis.valid_sizes[-1].pool_size
    before = max(smallest, round(largest / HALF_A_DOUBLING))
    gained = analysis.fitted_at(largest) > (1 + RISING) * analysis.fitted_at(before)
    is_higher = largest == analysis.best_size and gained
    rising = size == largest or (2 * size > largest and is_higher)
    if rising and any(other.failed(Check.USERS_LIMITED) for other in analysis.sizes):
        enough = _enough_users(analysis)
        more_users = MoreUsers(enough, shorter_pauses=enough > ENOUGH_USERS)
        way_out = sweep_beyond(analysis, size) if recorded else more_users
        return Verdict.USERS_LIMITED, [UsersLimited(largest, users, way_out)]
    if rising:
        return Verdict.EDGE, [StillRising(largest, sweep_beyond(analysis, size))]
    if size == smallest and size > 1:
        return Verdict.EDGE, [SmallestSize(size, sweep_beyond(analysis, size))]
    return None


def _enough_users(analysis: "Analysis") -> int:
    """Return a number of users, more than the run's, that fills the largest pool, even if they pause.

    It is for 4 times the largest valid size where that is smaller: the next run shows more.
    """
    largest, valid = analysis.sizes[-1].pool_size, analysis.valid_sizes
    target = min(largest, 4 * (valid[-1] if valid else analysis.sizes[0]).pool_size)
    return max(4 * analysis.setting.connections(largest), 2 * analysis.setting.plan.users, users_for(analysis, target))


def _is_generator_limited(analysis: "Analysis", size: int) -> bool:
    sizes = (size, analysis.best_size or size)
    return any(analysis.by_size.nearest(measured).failed(Check.GENERATOR) for measured in sizes)
