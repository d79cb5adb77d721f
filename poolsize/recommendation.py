"""Analysis + facts -> Recommendation: a size, the range it can't be told apart from, and when to say no."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

from poolsize.errors import WorkFailed
from poolsize.start import StartingPoint, starting_point
from poolsize.units import count, milliseconds, per_second, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.plateau import Plateau
    from poolsize.analysis.summary import Analysis, SizeSummary

QUEUES_INSIDE = 1.2
"""A connection held that much longer waits in the database for what the others hold."""
ROOM = 1.25
"""How much more than the server the load must be able to do, so as not to be what is measured."""
WIDE = 4
"""A range whose ends are further apart than this factor wants a longer measurement."""
NOISY_SPAN = 8
"""A range whose ends are further apart than this factor is no answer."""

Verdict = Literal["measured", "edge", "users-limited", "generator-limited", "noisy"]


@dataclass(frozen=True)
class Formula:
    """The formula's answer for the database's host: connections = cores * 2 + effective_disks."""

    cores: int
    effective_disks: float
    connections: int


@dataclass(frozen=True)
class Neighbour:
    """What another size would cost: a share of the best throughput lost, and callers' p95 (total) there."""

    pool_size: int
    throughput_loss: float
    p95_ms: float


@dataclass(frozen=True)
class Recommendation:
    """The answer.

    basis: "formula" before anything was measured, else "measured".
    pool_size: connections for all clients of the database together; None where the verdict forbids a number.
    range: sizes that can't be told apart from it; for a formula, the sizes to look at first.
    verdict: None for a formula; "measured"; "edge": the best lies at the end of what was swept;
        "users-limited": the curve went flat because callers ran out; "generator-limited": a load process
        was the bottleneck; "noisy": the sizes can't be told apart, so there is no number.
    throughput: transactions per second at pool_size, None for a formula.
    database_size: what the server alone needs, whatever the client; None where that was not measured.
    estimates: estimator -> its size. regret: every measured size's price, ascending.
    sweep_sizes: sizes worth measuring next.
    """

    basis: Literal["formula", "measured"]
    pool_size: int | None
    range: tuple[int, int] | None
    formula: Formula
    verdict: Verdict | None
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    throughput: float | None
    database_size: int | None
    estimates: Mapping[str, int | None]
    regret: tuple[Neighbour, ...]
    sweep_sizes: tuple[int, ...]


def from_formula(start: StartingPoint) -> Recommendation:
    """Recommend the starting point itself: the sizes to sweep are half of it to twice."""
    return Recommendation(
        basis="formula",
        pool_size=start.pool_size,
        range=(max(start.deadlock_floor or 1, start.pool_size // 2), start.pool_size * 2),
        formula=Formula(start.cores, start.effective_disks, start.connections),
        verdict=None,
        reasons=start.reasons,
        warnings=start.warnings,
        throughput=None,
        database_size=None,
        estimates={},
        regret=(),
        sweep_sizes=start.sizes,
    )


def recommend(analysis: "Analysis") -> Recommendation:
    """Recommend the plateau of a complete run. Raises WorkFailed when planned steps are missing."""
    if analysis.missing_steps:
        raise WorkFailed(
            f"the run is incomplete: {analysis.missing_steps} of "
            f"{len(analysis.setting.plan.steps())} steps were not measured; finish it with poolsize sweep --resume"
        )
    start = starting_point(analysis.setting.cores, disks=analysis.setting.disks)
    formula = Formula(start.cores, start.effective_disks, start.connections)
    if analysis.plateau is None or analysis.plateau.high > NOISY_SPAN * analysis.plateau.low:
        return _no_size(analysis, formula)
    best = max(size.throughput.mean for size in analysis.telling)
    plateau = analysis.plateau
    chosen = analysis.at(plateau.pool_size)
    verdict, advice = _verdict(analysis, chosen)
    return Recommendation(
        basis="measured",
        pool_size=plateau.pool_size,
        range=(plateau.low, plateau.high),
        formula=formula,
        verdict=verdict,
        reasons=_reasons(analysis, plateau, chosen, best, formula),
        warnings=((advice,) if advice else ()) + _warnings(analysis),
        throughput=chosen.throughput.mean,
        database_size=None,
        estimates={name: one.pool_size for name, one in analysis.estimates.items()} or {"plateau": plateau.pool_size},
        regret=tuple(
            Neighbour(size.pool_size, max(0.0, 1 - size.throughput.mean / best), size.total.p95)
            for size in analysis.telling
        ),
        sweep_sizes=_sizes_beyond(verdict, analysis),
    )


def _no_size(analysis: "Analysis", formula: Formula) -> Recommendation:
    """Nothing measured can be believed: say so, and what to do, instead of a number."""
    verdict, advice = _why_no_size(analysis)
    return Recommendation(
        basis="measured",
        pool_size=None,
        range=None,
        formula=formula,
        verdict=verdict,
        reasons=(),
        warnings=(advice, *_warnings(analysis)),
        throughput=None,
        database_size=None,
        estimates={"plateau": None},
        regret=(),
        sweep_sizes=(),
    )


def _why_no_size(analysis: "Analysis") -> tuple[Verdict, str]:
    """What spoiled every size, and the way out."""
    plan = analysis.setting.plan

    def everywhere(check: str) -> bool:
        return all(size.failed(check) for size in analysis.sizes)

    if plan.rate is not None and everywhere("arrivals"):
        return "noisy", (
            f"No pool that was measured served {per_second(plan.rate)}: sweep larger --pool-sizes, or find out what "
            "the database can do by leaving --rate out."
        )
    if everywhere("generator"):
        return "generator-limited", (
            f"The load process itself was busy or late at every size. {_more_load(analysis.sizes[-1])}"
        )
    if everywhere("users_limited"):
        return "users-limited", (
            f"No pool was ever full with {plan.users} users: use --users {4 * plan.users} or smaller --pool-sizes."
        )
    if analysis.plateau is None:
        return "noisy", "No step passed its checks; see them with poolsize analyze, and measure again."
    return "noisy", (
        f"Anything from {analysis.plateau.low} to {analysis.plateau.high} connections may be right: "
        f"measure longer, --step-time {max(30, 4 * plan.step_seconds)}s, or with --repeats 3."
    )


def _verdict(analysis: "Analysis", chosen: "SizeSummary") -> tuple[Verdict, str]:
    """Whether the plateau may be taken for the answer, and if not, what would make it one."""
    size, users = chosen.pool_size, analysis.setting.plan.users
    smallest, largest = analysis.telling[0].pool_size, analysis.telling[-1].pool_size
    too_small = any(other.pool_size < size and other.failed("arrivals") for other in analysis.sizes)
    best = max(analysis.telling, key=lambda other: other.throughput.mean)
    further = ",".join(map(str, _sizes_beyond("edge", analysis)))
    if chosen.failed("generator") or best.failed("generator"):
        return "generator-limited", (
            f"The load process itself was busy or late: {count(size, 'connection')} is what this client can use, "
            f"and the database may take more. {_more_load(chosen)}"
        )
    if size == largest and any(other.failed("users_limited") for other in analysis.sizes):
        return "users-limited", (
            f"Larger pools than {size} were never full with {users} users, so they say nothing: "
            f"use --users {4 * analysis.sizes[-1].pool_size}."
        )
    if smallest == largest and not too_small:
        return "edge", f"Only {size} was measured, so there is nothing to compare it with: name more --pool-sizes."
    if size == largest and not too_small:
        return "edge", (
            f"Throughput was still rising at {size}, the largest size measured: "
            f"sweep further with --pool-sizes {further}."
        )
    if size == smallest and size > 1 and not too_small:
        return "edge", (
            f"The smallest size that counts, {size}, is already enough: sweep below it with --pool-sizes {further}."
        )
    return "measured", ""


def _more_load(chosen: "SizeSummary") -> str:
    """What would put the limit back where it belongs, from what a transaction takes of each side."""
    needs = "Give the load a core or a machine of its own."
    found = chosen.demands
    if found is None or found.inferred or not found.server_ms:
        return f"{needs} --processes 2 or more share the work."
    processes = ceil(ROOM * found.client_ms * found.server_cores / found.server_ms)
    share = (
        f"A transaction takes the client {milliseconds(found.client_ms)} of processor time and the server "
        f"{milliseconds(found.server_ms)} on {count(found.server_cores, 'core')}"
    )
    if processes <= found.client_processes:
        return f"{share}: {needs}"
    return f"{share}: use --processes {processes}, on cores that the server does not need, or --expect-workers."


def _sizes_beyond(verdict: Verdict, analysis: "Analysis") -> tuple[int, ...]:
    """Sizes worth measuring next: beyond the end that the answer lies at, else none."""
    if verdict != "edge" or analysis.plateau is None:
        return ()
    size = analysis.plateau.pool_size
    if size == analysis.telling[-1].pool_size:
        return (size, size * 2, size * 4, size * 8)
    return tuple(sorted({max(1, size // 8), max(1, size // 4), max(1, size // 2), size}))


def _reached(chosen: "SizeSummary", best: float, tolerance: float) -> str:
    reached = f"{count(chosen.pool_size, 'connection')} reached {per_second(chosen.throughput.mean)}, "
    if chosen.throughput.mean < best:
        return f"{reached}within {percent(tolerance)} of the best measured, {per_second(best)}; no smaller size did."
    return f"{reached}the best measured; no smaller size came within {percent(tolerance)} of it."


def _carried(analysis: "Analysis", chosen: "SizeSummary") -> str:
    rate = per_second(analysis.setting.plan.rate or 0.0)
    smaller = [size.pool_size for size in analysis.sizes if size.pool_size < chosen.pool_size]
    than = f"smaller pools ({', '.join(map(str, smaller))}) did not" if smaller else "nothing smaller was measured"
    return f"{count(chosen.pool_size, 'connection')} carried {rate}; {than}."


def _reasons(
    analysis: "Analysis", plateau: "Plateau", chosen: "SizeSummary", best: float, formula: Formula
) -> tuple[str, ...]:
    held = f"held it for {milliseconds(chosen.usage.mean)} on average."
    reasons = [
        _reached(chosen, best, plateau.tolerance) if analysis.setting.plan.rate is None else _carried(analysis, chosen),
        f"A caller waited {milliseconds(chosen.wait.mean)} for a connection and {held}",
    ]
    if analysis.cause is not None and analysis.cause.name != "unknown":
        reasons.append(f"What holds it there: {analysis.cause.name}; {analysis.cause.evidence}.")
    reasons += [
        f"At {percent(one.load)} of what it can do, {per_second(one.rate)} by the clock, a caller waited "
        f"{milliseconds(one.wait.p95)} and was served within {milliseconds(one.total.p95)} (p95 of each)."
        for one in analysis.verified
        if one.pool_size == chosen.pool_size and not one.failed_checks
    ]
    largest = analysis.telling[-1]
    if largest.usage.mean > QUEUES_INSIDE * chosen.usage.mean:
        reasons.append(
            f"With {count(largest.pool_size, 'connection')} it was {per_second(largest.throughput.mean)}, and each "
            f"was held for {milliseconds(largest.usage.mean)}: callers queue in the database instead of in the pool."
        )
    reasons.append(
        f"The formula said {formula.connections} "
        f"({formula.cores} cores * 2 + {formula.effective_disks:g} effective disks): where to start, not where to end."
    )
    return tuple(reasons)


def _failures(analysis: "Analysis") -> list[str]:
    """A line for each check that failed anywhere: where, and what it saw the last time."""
    failed: dict[str, dict[int, str]] = {}
    for size in analysis.sizes:
        for check in size.failed_checks:
            failed.setdefault(check.name, {})[size.pool_size] = check.detail
    return [
        f"Check {name} failed with {', '.join(map(str, details))} connections: {details[max(details)]}."
        for name, details in failed.items()
        if name != "users_limited"
    ]


def _warnings(analysis: "Analysis") -> tuple[str, ...]:
    warnings = _failures(analysis)
    if analysis.plateau and analysis.plateau.high >= WIDE * analysis.plateau.low:
        warnings.append(
            f"The range is wide, from {analysis.plateau.low} to {analysis.plateau.high}: measure longer, with "
            f"--step-time {max(30, 2 * analysis.setting.plan.step_seconds)}s or --repeats 3, to narrow it."
        )
    for one in analysis.verified:
        if one.failed_checks:
            names = ", ".join(check.name for check in one.failed_checks)
            warnings.append(
                f"{count(one.pool_size, 'connection')} at {percent(one.load)} of what it can do failed its checks "
                f"({names}): {one.failed_checks[0].detail}."
            )
    if analysis.setting.plan.verify and not analysis.verified:
        warnings.append("Nothing was verified: the sweep found no size whose capacity could be taken a part of.")
    if analysis.void:
        again = ", ".join(str(step.pool_size) for step in analysis.void)
        warnings.append(
            f"Steps that failed a check and were measured again, by their connections: {again}; see poolsize analyze."
        )
    limited = [str(size.pool_size) for size in analysis.sizes if size.failed("users_limited")]
    if limited:
        warnings.append(f"Left out: {', '.join(limited)}, pools that {analysis.setting.plan.users} users never filled.")
    if not analysis.setting.server.durable:
        warnings.append(
            "The server does not wait for the disk when it commits (innodb_flush_log_at_trx_commit is not 1)."
        )
    if analysis.setting.cores_from == "assumed":
        warnings.append(
            f"The formula assumed that the database's host has {count(analysis.setting.cores, 'core')}, as the load's "
            "machine has: give its --cores."
        )
    if analysis.setting.server.thread_pool:
        warnings.append("The server's thread pool is on: it flattens the curve's tail.")
    warnings.append("It is the total for all clients of the database: divide it over instances and processes.")
    return tuple(warnings)
