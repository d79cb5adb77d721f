"""The warnings of a measured answer: what limits its use."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, isfinite
from typing import Any

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.rate_evidence import COUNTED, WARM_UP
from poolsize.analysis.size_summary import SizeSummary
from poolsize.answer.finding import Caution, Finding, ToDivide, WayOut, measure_longer, sweep_beyond, users_for
from poolsize.runs.check import Check
from poolsize.runs.plan import LONGEST, MOST_STEP_SECONDS, SearchEnd

WIDE = 4
"""A 95 % range is wide if its upper end is this multiple of the lower end, or more."""
ENOUGH_STEPS = 4
"""The scatter of so many steps around a smooth curve shows the noise between steps."""
SPARE = 3
"""Relaxation times by which a step may be longer than needed: their length is an estimate."""
LONG_SECONDS = 10
"""A total time as long as the step of a search: too few transactions end in a step."""
FILLING = 2
"""Pools that users should fill beyond the range of the answer, as a multiple of its upper end."""
HIGH_UTILISATION = 0.9
"""Above this utilisation, wait times rise steeply: M/M/1 has 1 outstanding transaction at 0.5, 9 at 0.9, 19 at 0.95."""


class NoFreeCore(Caution, code="no_free_core", leads=True):
    """An application and its load generator share a machine on which no core was free.

    smallest: the smallest measured pool size; throughput: its requests per second.
    """

    smallest: int
    throughput: float


class CheckFailed(Caution, code="check_failed"):
    """A check failed at pool sizes, ascending. values: its figures at the largest of them."""

    check: Check
    sizes: Sequence[int]
    values: Mapping[str, Any]


class WideRange(Caution, code="wide_range", of_curve=True, of_generator=True):
    """The 95 % range is wide, from low to high connections.

    greatest_loss: share of throughput that the answer, pool_size, loses at most. way_out: None where the search was
    certain, because it hardly matters which of these sizes the pool has.
    """

    pool_size: int
    low: int
    high: int
    greatest_loss: float
    way_out: WayOut | None


class TwoLevels(Caution, code="two_levels"):
    """The steps have two levels of throughput, and the answer is for the higher level.

    low_steps: number of the steps of the lower level, of so many steps. share: of the throughput of the other steps
    that they reached.
    """

    low_steps: int
    steps: int
    share: float


class DataGrew(Caution, code="data_grew"):
    """A transaction read more pages of data the later the step, also at the same pool size: the data grew.

    pages, later_pages: per transaction in the first and in the last step at the size where they differ most, pool_size.
    """

    pool_size: int
    pages: float
    later_pages: float


class FewSteps(Caution, code="few_steps", of_curve=True, of_generator=True):
    """The steps, each at another size, are too few to show the noise between them. search: whether they searched."""

    steps: int
    search: bool


class BudgetSpent(Caution, code="budget_spent", of_curve=True, of_generator=True):
    """The search ended before its answer was certain.

    greatest_loss: share of throughput that the answer loses at most. way_out: None where that is within the tolerance.
    """

    budget_seconds: int
    greatest_loss: float
    way_out: WayOut | None


class Contradicted(Caution, code="contradicted", is_doubt=True, leads=True, of_curve=True):
    """The best measured size reached more than the fitted curve's capacity, on which the answer, pool_size, relies.

    capacity: of the curve, per second. faster: the best measured size. throughput: its mean, per second, in so many
    steps.
    """

    pool_size: int
    capacity: float
    faster: int
    throughput: float
    steps: int
    way_out: WayOut


class UsageNotUsed(Caution, code="usage_not_used"):
    """The mean usage times at these sizes, by readings of the metrics, are longer than the response times allow.

    usage_ms: at the largest of these sizes. longest_ms: its mean response time, without the mean wait time if known.
    """

    sizes: Sequence[int]
    usage_ms: float
    longest_ms: float


class VerificationFailed(Caution, code="verification_failed"):
    """Checks of an open-loop step failed, at this share of its own throughput. values: figures of the first check."""

    pool_size: int
    load: float
    checks: Sequence[Check]
    values: Mapping[str, Any]


class NothingVerified(Caution, code="nothing_verified", of_generator=True):
    """The sweep was interrupted before the open-loop steps that the plan has."""


class Retried(Caution, code="retried"):
    """Steps at these pool sizes are excluded, and others were measured in their place."""

    sizes: Sequence[int]


class SpeedCorrected(Caution, code="speed_corrected"):
    """The throughput of steps is corrected to the machine's usual speed, by low to high."""

    steps: int
    low: float
    high: float


class LeftOut(Caution, code="left_out", of_curve=True):
    """The users filled no pool of these sizes, which are not used."""

    sizes: Sequence[int]
    users: int


class SizeUnconfirmed(Caution, code="size_unconfirmed", is_doubt=True, leads=True):
    """Nothing shows whether the application used the swept sizes."""


class ForAllClients(ToDivide, code="total"):
    """The pool size is the total for all clients of the database."""


class ForEachPool(Caution, code="each_pool"):
    """The pool size is that of each pool of an application. processes: of each instance."""

    instances: int
    processes: int


class IntervalMeans(Caution, code="interval_means"):
    """Each figure of a recording is a mean over so many seconds."""

    seconds: float


class OfRecording(Caution, code="recording"):
    """The run replays a recording."""


class NotDurable(Caution, code="not_durable"):
    """Commits did not wait for the disk."""


class CoresAssumed(Caution, code="cores_assumed"):
    """The formula's cores are those of the machine that ran the sweep."""

    cores: int


class WithThreadPool(Caution, code="thread_pool"):
    """The server's thread pool is active."""


class HighUtilisation(Caution, code="high_utilisation"):
    """Connections are more than 90 % busy at the arrival rate. larger_size: a size that is not."""

    pool_size: int
    utilisation: float
    rate: float
    way_out: WayOut | None
    larger_size: int | None = None
    larger_utilisation: float | None = None


class Unsettled(Caution, code="unsettled"):
    """The percentiles at these sizes are too low: the steps at an arrival rate are too short for the queue.

    relaxation_seconds: in which the slowest queue forgets its length. step_seconds: a step time that is enough; None
    where the longest that a sweep takes is not.
    """

    sizes: Sequence[int]
    relaxation_seconds: float
    step_seconds: int | None


class LongTotalTimes(Caution, code="long_total_times"):
    """So many users queue that a transaction takes total_seconds on average where throughput is highest.

    fewer: users that fill the pools as well, and whose transactions take half of LONG_SECONDS or little more.
    """

    users: int
    total_seconds: float
    fewer: int


def no_free_core(analysis: Analysis) -> Finding | None:
    """Return the warning that the machine decided the answer of an application, or None."""
    if not analysis.is_crowded:
        return None
    smallest = (analysis.valid_sizes or analysis.sizes)[0]
    return NoFreeCore(smallest.pool_size, smallest.throughput.mean)


def warnings(analysis: Analysis, *, has_size: bool) -> tuple[Finding, ...]:
    """Return the warnings of a run's answer, the most serious first. has_size: whether the answer has a pool size.

    First is what an extended run may mend: it is the reason of the command that extends the run.
    """
    of_answer = _of_the_answer(analysis, has_size=has_size)
    of_all = (*_of_the_steps(analysis), *of_answer, *_excluded(analysis), *_of_the_setting(analysis))
    of_all = tuple(sorted(of_all, key=lambda finding: not finding.extends))
    if not has_size:
        return of_all
    application = analysis.setting.application
    if application is None:
        return (*of_all, ForAllClients())
    each_pool = [ForEachPool(application.instances, application.processes)] if application.pools > 1 else []
    if any(step.server_connections is not None or step.counter("pool_max") for step in analysis.steps):
        return (*of_all, *each_pool)
    return (SizeUnconfirmed(), *of_all, *each_pool)


def _of_the_steps(analysis: Analysis) -> Iterator[Finding]:
    """Yield the warnings of grown data, of corrected steps, and of each check that failed at any size.

    Of a size whose figures are not used, only the checks count that disqualify them. A check has its figures at the
    largest of the sizes at which it failed.
    """
    if grew := analysis.data_growth:
        yield DataGrew(grew.pool_size, grew.pages, grew.later_pages)
    if changes := analysis.speed_corrections:
        yield SpeedCorrected(len(changes), min(changes), max(changes))
    used = {size.pool_size for size in analysis.valid_sizes}
    for check, results in analysis.failures.items():
        sizes = [size for size in results if check.disqualifies or size in used]
        if sizes and check is not Check.USERS_LIMITED:
            yield CheckFailed(check, sizes, dict(results[max(sizes)].values))
    yield from usage_not_used(analysis.valid_sizes)


def usage_not_used(sizes: Iterable[SizeSummary]) -> Iterator[Finding]:
    """Yield the warning of sizes whose usage times are longer than possible, if there are any."""
    impossible = [(size, usage) for size in sizes if (usage := size.sampled_usage) and not usage.is_possible]
    if impossible:
        _, usage = impossible[-1]
        yield UsageNotUsed([size.pool_size for size, _ in impossible], usage.mean_ms, usage.longest_ms)


def _of_the_answer(analysis: Analysis, *, has_size: bool) -> Iterator[Finding]:
    """Yield the warnings of the answer: its range, the number and the levels of its steps, and the open-loop steps."""
    plan, plateau = analysis.setting.plan, analysis.plateau
    if has_size and plateau is not None and (best := analysis.contradiction):
        measured = (best.pool_size, best.throughput.mean, best.repeats)
        yield Contradicted(plateau.pool_size, plateau.capacity, *measured, measure_longer(analysis))
    if plan.search is not None and analysis.run.ended == SearchEnd.BUDGET and plateau is not None:
        way_out = None if plateau.greatest_loss <= plateau.tolerance else measure_longer(analysis)
        yield BudgetSpent(plan.search.budget_seconds, plateau.greatest_loss, way_out)
    has_range = has_size and not analysis.setting.means_only
    if has_range and plateau is not None and plateau.high >= WIDE * plateau.low:
        certain = analysis.run.ended == SearchEnd.CERTAIN
        way_out = None if certain else measure_longer(analysis)
        yield WideRange(plateau.pool_size, plateau.low, plateau.high, plateau.greatest_loss, way_out)
    if analysis.curve and (level := analysis.curve.lower_level):
        yield TwoLevels(level.low_steps, level.steps, level.share)
    sizes = [step.pool_size for step in analysis.steps if step.valid]
    is_few = 1 < len(sizes) < ENOUGH_STEPS and len(sizes) == len({*sizes})
    if has_size and is_few and plan.rate is None and analysis.setting.recording is None:
        yield FewSteps(len(sizes), search=plan.search is not None)
    for step in analysis.verified:
        if failed := step.failed_checks:
            checks = [result.check for result in failed]
            yield VerificationFailed(step.pool_size, step.load, checks, dict(failed[0].values))
    of_sizes = [(size.pool_size, size.unsettled_seconds) for size in analysis.valid_sizes]
    of_sizes += [(step.pool_size, step.unsettled_seconds) for step in analysis.verified]
    if slow := [(size, seconds) for size, seconds in of_sizes if seconds is not None and isfinite(seconds)]:
        slowest = max(seconds for _, seconds in slow)
        step_seconds = ceil(slowest * (WARM_UP + COUNTED + SPARE) / LONGEST)
        yield Unsettled(
            sorted({size for size, _ in slow}), slowest, step_seconds if step_seconds <= MOST_STEP_SECONDS else None
        )
    if has_size and plan.verify and not analysis.verified:
        yield NothingVerified()


def _excluded(analysis: Analysis) -> Iterator[Finding]:
    """Yield the warning of excluded steps. An overload that was measured twice is an answer, and not excluded."""
    overloaded = {size.pool_size for size in analysis.sizes if size.failed(Check.ARRIVALS)}
    if retried := [step.pool_size for step in analysis.excluded if step.pool_size not in overloaded]:
        yield Retried(retried)


def _of_the_setting(analysis: Analysis) -> Iterator[Finding]:
    setting, server = analysis.setting, analysis.setting.server
    if long := _long_total_times(analysis):
        yield long
    if limited := [size.pool_size for size in analysis.sizes if size.failed(Check.USERS_LIMITED)]:
        yield LeftOut(limited, setting.plan.users)
    if setting.recording is not None:
        if setting.interval_seconds > 1 and not setting.means_only:
            yield IntervalMeans(setting.interval_seconds)
        yield OfRecording()
    if server is not None and not server.durable:
        yield NotDurable()
    if setting.cores_from == "assumed":
        yield CoresAssumed(setting.cores)
    if server is not None and server.thread_pool:
        yield WithThreadPool()


def _long_total_times(analysis: Analysis) -> Finding | None:
    """Return the warning of users whose transactions take longer than a step, or None; also where fewer can't be had.

    By the interactive law, users = throughput x (total time + pause).
    """
    plan, pause_seconds = analysis.setting.plan, analysis.run.think_time_ms / 1000
    fastest = max((size.throughput.mean for size in analysis.sizes), default=0.0)
    if plan.rate is not None or analysis.setting.recording is not None or not fastest:
        return None
    total_seconds = plan.users / fastest - pause_seconds
    filling = users_for(analysis, FILLING * analysis.plateau.high) if analysis.plateau else 2
    fewer = max(filling, ceil(fastest * (LONG_SECONDS / 2 + pause_seconds)))
    if total_seconds <= max(LONG_SECONDS, plan.planned_seconds) or fewer >= plan.users:
        return None
    return LongTotalTimes(plan.users, total_seconds, fewer)


def high_utilisation(analysis: Analysis, sizes: Iterable[int]) -> tuple[Finding, ...]:
    """Return a warning for each size whose connections are more than 90 % busy at the run's arrival rate."""
    shares = {size: analysis.at(size).utilisation or 0.0 for size in sizes}
    rate, busy = analysis.setting.plan.rate or 0.0, []
    for size, share in shares.items():
        if share <= HIGH_UTILISATION:
            continue
        larger = (
            (other.pool_size, analysis.at(other.pool_size).utilisation or 0.0)
            for other in analysis.valid_sizes
            if other.pool_size > size
        )
        enough = next((found for found in larger if found[1] <= HIGH_UTILISATION), None)
        way_out = None if enough else sweep_beyond(analysis)
        busy.append(HighUtilisation(size, share, rate, way_out, *(enough or ())))
    return tuple(busy)
