"""The warnings of a measured answer: what limits its use."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from poolsize.answer.finding import Code, Finding, warning
from poolsize.answer.way_out import measure_longer, sweep_larger
from poolsize.runs.check import Check

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis

WIDE = 4
"""A 95 % range is wide if its upper end is this multiple of the lower end, or more."""
ENOUGH_STEPS = 4
"""The scatter of so many steps around a smooth curve shows the noise between steps."""
HIGH_UTILISATION = 0.9
"""Above this utilisation, wait times rise steeply: M/M/1 has 1 outstanding transaction at 0.5, 9 at 0.9, 19 at 0.95."""


def warnings(analysis: "Analysis", *, has_size: bool) -> tuple[Finding, ...]:
    """Return the warnings of a run's answer, the most serious first. has_size: whether the answer has a pool size."""
    findings = [
        _size_unconfirmed(analysis) if has_size else None,
        _retried(analysis),
        _speed_corrected(analysis),
        *_failed_checks(analysis),
        _wide_range(analysis) if has_size else None,
        _few_steps(analysis) if has_size else None,
        _budget_spent(analysis),
        *_verification(analysis),
        _left_out(analysis),
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
        warning(Code.CHECK_FAILED, check=check, sizes=list(results), values=dict(results[max(results)].values))
        for check, results in failures.items()
        if results
    ]


def _wide_range(analysis: "Analysis") -> Finding | None:
    plateau = analysis.plateau
    if plateau is None or plateau.high < WIDE * plateau.low:
        return None
    return warning(Code.WIDE_RANGE, measure_longer(analysis), low=plateau.low, high=plateau.high)


def _few_steps(analysis: "Analysis") -> Finding | None:
    """Return the warning that a few steps, each at another size, do not show the noise between steps; or None."""
    plan, sizes = analysis.setting.plan, [step.pool_size for step in analysis.steps if step.valid]
    if plan.rate is not None or analysis.setting.recording is not None:
        return None
    repeated = len(sizes) > len({*sizes})
    if repeated or not 1 < len(sizes) < ENOUGH_STEPS:
        return None
    return warning(Code.FEW_STEPS, steps=len(sizes), search=plan.search is not None)


def _budget_spent(analysis: "Analysis") -> Finding | None:
    from poolsize.runs.plan import SearchEnd

    search, plateau = analysis.setting.plan.search, analysis.plateau
    if search is None or analysis.run.ended != SearchEnd.BUDGET or plateau is None:
        return None
    return warning(
        Code.BUDGET_SPENT,
        measure_longer(analysis),
        budget_seconds=search.budget_seconds,
        loss_low=plateau.loss_low,
        loss_high=plateau.loss_high,
    )


def _verification(analysis: "Analysis") -> list[Finding]:
    failed = [
        warning(
            Code.VERIFICATION_FAILED,
            pool_size=step.pool_size,
            load=step.load,
            checks=[result.check for result in step.failed_checks],
            values=dict(step.failed_checks[0].values),
        )
        for step in analysis.verified
        if step.failed_checks
    ]
    missing = analysis.setting.plan.verify and not analysis.verified
    return [*failed, warning(Code.NOTHING_VERIFIED)] if missing else failed


def _retried(analysis: "Analysis") -> Finding | None:
    """Return the warning that steps were excluded, or None; an overload that was measured twice is an answer."""
    overloaded = {size.pool_size for size in analysis.sizes if size.failed(Check.ARRIVALS)}
    sizes = [step.pool_size for step in analysis.excluded if step.pool_size not in overloaded]
    return warning(Code.RETRIED, sizes=sizes) if sizes else None


def _speed_corrected(analysis: "Analysis") -> Finding | None:
    changes = analysis.speed_corrections
    return warning(Code.SPEED_CORRECTED, steps=len(changes), low=min(changes), high=max(changes)) if changes else None


def _left_out(analysis: "Analysis") -> Finding | None:
    limited = [size.pool_size for size in analysis.sizes if size.failed(Check.USERS_LIMITED)]
    return warning(Code.LEFT_OUT, sizes=limited, users=analysis.setting.plan.users) if limited else None


def _size_unconfirmed(analysis: "Analysis") -> Finding | None:
    """Return the warning that nothing shows whether the application used the swept sizes, or None."""
    if analysis.setting.application is None:
        return None
    confirmed = any(step.server_connections is not None or step.counter("pool_max") for step in analysis.steps)
    return None if confirmed else warning(Code.SIZE_UNCONFIRMED)


def _clients(analysis: "Analysis") -> Finding | None:
    """Return the warning which clients the pool size is for; None for the only pool of an application."""
    application = analysis.setting.application
    if application is None:
        return warning(Code.TOTAL)
    if application.pools == 1:
        return None
    return warning(Code.EACH_POOL, instances=application.instances, processes=application.processes)


def _of_the_setting(analysis: "Analysis") -> list[Finding]:
    setting = analysis.setting
    findings = []
    if setting.recording is not None:
        findings.append(warning(Code.RECORDING))
    if setting.server is not None and not setting.server.durable:
        findings.append(warning(Code.NOT_DURABLE))
    if setting.cores_from == "assumed":
        findings.append(warning(Code.CORES_ASSUMED, cores=setting.cores))
    if setting.server is not None and setting.server.thread_pool:
        findings.append(warning(Code.THREAD_POOL))
    return findings


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
    values = {"pool_size": size, "utilisation": _utilisation(analysis, size), "rate": analysis.setting.plan.rate}
    if not larger:
        return warning(Code.HIGH_UTILISATION, sweep_larger(analysis), **values)
    spare = {"larger_size": larger[0], "larger_utilisation": _utilisation(analysis, larger[0])}
    return warning(Code.HIGH_UTILISATION, None, **values, **spare)


def _utilisation(analysis: "Analysis", size: int) -> float:
    return analysis.at(size).utilisation or 0.0
