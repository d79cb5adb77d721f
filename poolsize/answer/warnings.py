"""The warnings of a measured answer: what limits its use."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from poolsize.answer.finding import Caution, Finding, ToDivide, WayOut, measure_longer, sweep_larger
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

WIDE = 4
"""A 95 % range is wide if its upper end is this multiple of the lower end, or more."""
ENOUGH_STEPS = 4
"""The scatter of so many steps around a smooth curve shows the noise between steps."""
HIGH_UTILISATION = 0.9
"""Above this utilisation, wait times rise steeply: M/M/1 has 1 outstanding transaction at 0.5, 9 at 0.9, 19 at 0.95."""


class CheckFailed(Caution, code="check_failed"):
    """A check failed at pool sizes, ascending. values: its figures at the largest of them."""

    check: Check
    sizes: Sequence[int]
    values: Mapping[str, Any]


class WideRange(Caution, code="wide_range"):
    """The 95 % range is wide, from low to high connections."""

    low: int
    high: int
    way_out: WayOut


class FewSteps(Caution, code="few_steps"):
    """The steps, each at another size, are too few to show the noise between them. search: whether they searched."""

    steps: int
    search: bool


class BudgetSpent(Caution, code="budget_spent"):
    """The search ended before its answer was certain. loss_low, loss_high: 95 % range of the throughput loss there."""

    budget_seconds: int
    loss_low: float
    loss_high: float
    way_out: WayOut


class VerificationFailed(Caution, code="verification_failed"):
    """Checks of an open-loop step failed, at this share of its own throughput. values: figures of the first check."""

    pool_size: int
    load: float
    checks: Sequence[Check]
    values: Mapping[str, Any]


class NothingVerified(Caution, code="nothing_verified"):
    """The open-loop steps were asked for, and none was measured."""


class Retried(Caution, code="retried"):
    """Steps at these pool sizes are excluded, and others were measured in their place."""

    sizes: Sequence[int]


class SpeedCorrected(Caution, code="speed_corrected"):
    """The throughput of steps is corrected to the machine's usual speed, by low to high."""

    steps: int
    low: float
    high: float


class LeftOut(Caution, code="left_out"):
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


def warnings(analysis: "Analysis", *, has_size: bool) -> tuple[Finding, ...]:
    """Return the warnings of a run's answer, the most serious first. has_size: whether the answer has a pool size."""
    changes = analysis.speed_corrections
    limited = [size.pool_size for size in analysis.sizes if size.failed(Check.USERS_LIMITED)]
    findings = [
        _size_unconfirmed(analysis) if has_size else None,
        _retried(analysis),
        SpeedCorrected(len(changes), min(changes), max(changes)) if changes else None,
        *_failed_checks(analysis),
        *((_wide_range(analysis), _few_steps(analysis)) if has_size else ()),
        _budget_spent(analysis),
        *_verification(analysis),
        LeftOut(limited, analysis.setting.plan.users) if limited else None,
        *_of_the_setting(analysis),
        _clients(analysis) if has_size else None,
    ]
    return tuple(finding for finding in findings if finding)


def _failed_checks(analysis: "Analysis") -> list[Finding]:
    """Return a warning for each check that failed at any size, with its figures at the largest of these sizes.

    Of a size whose figures are not used, only the checks count that disqualify them.
    """
    used = {size.pool_size for size in analysis.valid_sizes}
    failures = {
        check: {size: result for size, result in results.items() if check.disqualifies or size in used}
        for check, results in analysis.failures.items()
        if check is not Check.USERS_LIMITED
    }
    return [
        CheckFailed(check, list(results), dict(results[max(results)].values))
        for check, results in failures.items()
        if results
    ]


def _wide_range(analysis: "Analysis") -> Finding | None:
    plateau = analysis.plateau
    if plateau is None or plateau.high < WIDE * plateau.low:
        return None
    return WideRange(plateau.low, plateau.high, measure_longer(analysis))


def _few_steps(analysis: "Analysis") -> Finding | None:
    """Return the warning that a few steps, each at another size, do not show the noise between steps; or None."""
    plan, sizes = analysis.setting.plan, [step.pool_size for step in analysis.steps if step.valid]
    if plan.rate is not None or analysis.setting.recording is not None:
        return None
    repeated = len(sizes) > len({*sizes})
    if repeated or not 1 < len(sizes) < ENOUGH_STEPS:
        return None
    return FewSteps(len(sizes), search=plan.search is not None)


def _budget_spent(analysis: "Analysis") -> Finding | None:
    from poolsize.runs.plan import SearchEnd

    search, plateau = analysis.setting.plan.search, analysis.plateau
    if search is None or analysis.run.ended != SearchEnd.BUDGET or plateau is None:
        return None
    return BudgetSpent(search.budget_seconds, plateau.loss_low, plateau.loss_high, measure_longer(analysis))


def _verification(analysis: "Analysis") -> list[Finding]:
    failed: list[Finding] = [
        VerificationFailed(
            step.pool_size,
            step.load,
            [result.check for result in step.failed_checks],
            dict(step.failed_checks[0].values),
        )
        for step in analysis.verified
        if step.failed_checks
    ]
    missing = analysis.setting.plan.verify and not analysis.verified
    return [*failed, NothingVerified()] if missing else failed


def _retried(analysis: "Analysis") -> Finding | None:
    """Return the warning that steps were excluded, or None; an overload that was measured twice is an answer."""
    overloaded = {size.pool_size for size in analysis.sizes if size.failed(Check.ARRIVALS)}
    sizes = [step.pool_size for step in analysis.excluded if step.pool_size not in overloaded]
    return Retried(sizes) if sizes else None


def _size_unconfirmed(analysis: "Analysis") -> Finding | None:
    """Return the warning that nothing shows whether the application used the swept sizes, or None."""
    if analysis.setting.application is None:
        return None
    confirmed = any(step.server_connections is not None or step.counter("pool_max") for step in analysis.steps)
    return None if confirmed else SizeUnconfirmed()


def _clients(analysis: "Analysis") -> Finding | None:
    """Return the warning which clients the pool size is for; None for the only pool of an application."""
    application = analysis.setting.application
    if application is None:
        return ForAllClients()
    if application.pools == 1:
        return None
    return ForEachPool(application.instances, application.processes)


def _of_the_setting(analysis: "Analysis") -> tuple[Finding | None, ...]:
    setting, server = analysis.setting, analysis.setting.server
    return (
        OfRecording() if setting.recording is not None else None,
        NotDurable() if server is not None and not server.durable else None,
        CoresAssumed(setting.cores) if setting.cores_from == "assumed" else None,
        WithThreadPool() if server is not None and server.thread_pool else None,
    )


def high_utilisation(analysis: "Analysis", sizes: Iterable[int]) -> tuple[Finding, ...]:
    """Return a warning for each size whose connections are more than 90 % busy at the run's arrival rate.

    sizes: measured in an open loop. A size at which no transaction ended has no warning.
    """
    return tuple(
        _high(analysis, size) for size in dict.fromkeys(sizes) if _utilisation(analysis, size) > HIGH_UTILISATION
    )


def _high(analysis: "Analysis", size: int) -> Finding:
    larger = [
        other.pool_size
        for other in analysis.valid_sizes
        if other.pool_size > size and _utilisation(analysis, other.pool_size) <= HIGH_UTILISATION
    ]
    utilisation, rate = _utilisation(analysis, size), analysis.setting.plan.rate or 0.0
    if not larger:
        return HighUtilisation(size, utilisation, rate, sweep_larger(analysis))
    return HighUtilisation(size, utilisation, rate, None, larger[0], _utilisation(analysis, larger[0]))


def _utilisation(analysis: "Analysis", size: int) -> float:
    return analysis.at(size).utilisation or 0.0
