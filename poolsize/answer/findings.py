"""The sentences beside a measured answer: why it is that size, and what to be careful of."""

from typing import TYPE_CHECKING

from poolsize.answer.price import Limited, compared
from poolsize.answer.verdict import longer
from poolsize.units import count, milliseconds, number, per_second, percent

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.plateau import Plateau

QUEUES_INSIDE = 1.2
"""A connection held that much longer waits in the database for what the others hold."""
WIDE = 4
"""A range whose ends are further apart than this factor wants a longer measurement."""
DISAGREE = 2.0
"""Estimators whose sizes differ by this factor are said to disagree."""
TOTAL = "It is the total for all clients of the database: divide it over instances and processes."
"""What to be careful of in any size."""


def reasons(analysis: "Analysis", answer: Limited, formula_size: int, current: int | None) -> tuple[str, ...]:
    """Why the answer is that size. answer: the plateau's, or what the latency limits make of it."""
    assert analysis.plateau is not None
    size = answer.pool_size
    said = [
        (_reached if analysis.setting.plan.rate is None else _carried)(analysis, analysis.plateau),
        answer.reason,
        compared(analysis, size, current) if current is not None else "",
        _held(analysis, size),
        _cause(analysis),
        *_verified(analysis),
        _queues_inside(analysis, size),
        _both_needs(analysis, size),
        _two_kinds(analysis, size),
        _job_queue(analysis),
        _disagreement(analysis),
        _formula(analysis, formula_size),
    ]
    return tuple(filter(None, said))


def warnings(analysis: "Analysis") -> tuple[str, ...]:
    """What to be careful of, the gravest first."""
    said = [
        *_failures(analysis),
        _wide(analysis),
        _budget_spent(analysis),
        *_unverified(analysis),
        _measured_again(analysis),
        _left_out(analysis),
        *_of_the_setting(analysis),
        TOTAL if analysis.plateau else "",
    ]
    return tuple(filter(None, said))


def _reached(analysis: "Analysis", found: "Plateau") -> str:
    from poolsize.analysis.plateau import CERTAINTY

    makes = f"By the curve through all steps, {count(found.pool_size, 'connection')} make"
    makes += f"{'s' if found.pool_size == 1 else ''} {per_second(found.throughput)}, "
    between, sure = "", f"{percent(CERTAINTY)} sure"
    if not analysis.measured(found.pool_size):
        low, high = analysis.around(found.pool_size)
        between = f" It lies between {low} and {high}, which were measured."
    if found.pool_size == analysis.best_size:
        return f"{makes}its best; no smaller size is {sure} to come within {percent(found.tolerance)} of it.{between}"
    return (
        f"{makes}within {percent(found.tolerance)} of its best, {per_second(found.best)} with {analysis.best_size}; no "
        f"smaller size is {sure} to come as near.{between}"
    )


def _carried(analysis: "Analysis", found: "Plateau") -> str:
    rate = per_second(analysis.setting.plan.rate or 0.0)
    smaller = [size.pool_size for size in analysis.sizes if size.pool_size < found.pool_size]
    than = f"smaller pools ({', '.join(map(str, smaller))}) did not" if smaller else "nothing smaller was measured"
    return f"{count(found.pool_size, 'connection')} carried {rate}; {than}."


def _held(analysis: "Analysis", size: int) -> str:
    chosen = analysis.nearest(size)
    if not chosen.usage.mean > 0:
        return ""
    who = "A caller" if chosen.pool_size == size else f"With {chosen.pool_size}, the nearest measured, a caller"
    return (
        f"{who} waited {milliseconds(chosen.wait.mean)} for a connection and held it for "
        f"{milliseconds(chosen.usage.mean)} on average."
    )


def _cause(analysis: "Analysis") -> str:
    if analysis.cause is None or analysis.cause.name == "unknown":
        return ""
    return f"What holds it there: {analysis.cause.name}; {analysis.cause.evidence}."


def _verified(analysis: "Analysis") -> list[str]:
    assert analysis.plateau is not None
    return [
        f"At {percent(one.load)} of what it can do, {per_second(one.rate)} by the clock, a caller waited "
        f"{milliseconds(one.wait.p95)} and was served within {milliseconds(one.total.p95)} (p95 of each)."
        for one in analysis.verified
        if one.pool_size == analysis.plateau.pool_size and not one.failed_checks
    ]


def _queues_inside(analysis: "Analysis", size: int) -> str:
    chosen, largest = analysis.nearest(size), analysis.telling[-1]
    by_clock = analysis.setting.plan.rate is not None  # then nobody needs to queue
    if by_clock or not largest.usage.mean > QUEUES_INSIDE * chosen.usage.mean:
        return ""
    return (
        f"With {count(largest.pool_size, 'connection')} it was {per_second(largest.throughput.mean)}, and each "
        f"was held for {milliseconds(largest.usage.mean)}: callers queue in the database instead of in the pool."
    )


def _both_needs(analysis: "Analysis", size: int) -> str:
    """What the database alone needs and what this client needs, and why they differ."""
    database, found = analysis.database_sizes, analysis.nearest(size).demands
    if database is None or found is None:
        return ""
    alone, (low, high) = database
    told = f"about {alone}" if low == high else f"about {alone} ({low} to {high})"
    server = f"{milliseconds(found.server_ms)} on {count(found.server_cores, 'core')}"
    if alone >= size:
        return f"The database alone needs {told}: a transaction takes {server} of its processor."
    return (
        f"The database alone needs {told}, inferred from the {server} that a transaction takes of its processor; this "
        f"client needs {size}, for it holds each connection through {milliseconds(found.client_ms)} of its own "
        "processor's time as well."
    )


def _two_kinds(analysis: "Analysis", size: int) -> str:
    kinds = analysis.two_kinds
    if kinds is None or size < 2:
        return ""
    short, long = kinds.pools(size)
    return (
        f"There are two kinds of transactions: {percent(kinds.short.share)} hold a connection for "
        f"{milliseconds(kinds.short.usage_ms)}, {percent(kinds.long.share)} for {milliseconds(kinds.long.usage_ms)}. "
        f"Give each a pool of its own, {short} for the short ones and {long} for the long ones, so that the short "
        "never wait behind the long."
    )


def _job_queue(analysis: "Analysis") -> str:
    users = analysis.setting.plan.users
    if not any(size.pool_size == users for size in analysis.sizes) or analysis.setting.recording is not None:
        return ""
    assert analysis.plateau is not None
    return (
        f"With as many callers as connections ({users}) nobody waits for one. If your callers are the workers of a job "
        f"queue, run {analysis.plateau.pool_size} of them, as many as the pool has, and let the jobs wait in the queue."
    )


def _disagreement(analysis: "Analysis") -> str:
    answers = analysis.answers
    sizes = [size for size in answers.values() if size]
    if len(sizes) < 2 or max(sizes) < DISAGREE * min(sizes):
        return ""
    told = ", ".join(f"{name} {size if size else 'none'}" for name, size in answers.items())
    return f"The estimators disagree ({told}): poolsize analyze shows how far each can be trusted."


def _formula(analysis: "Analysis", connections: int) -> str:
    return (
        f"The formula said {connections} ({analysis.setting.cores} cores * 2 + {analysis.setting.disks} effective "
        "disks): where to start, not where to end."
    )


def _failures(analysis: "Analysis") -> list[str]:
    """A line for each check that failed anywhere: where, and what it saw the last time."""
    return [
        f"Check {name} failed with {', '.join(map(str, details))} connections: {details[max(details)]}."
        for name, details in analysis.failures.items()
        if name != "users_limited"
    ]


def _wide(analysis: "Analysis") -> str:
    found = analysis.plateau
    if found is None or found.high < WIDE * found.low:
        return ""
    return f"The range is wide, from {found.low} to {found.high}; to narrow it, {longer(analysis)}."


def _budget_spent(analysis: "Analysis") -> str:
    search = analysis.setting.plan.search
    if search is None or analysis.run.ended != "budget" or analysis.plateau is None:
        return ""
    found = analysis.plateau
    return (
        f"The search spent its {number(search.budget_seconds)} s before it was certain: the size gives up between "
        f"{percent(found.loss_low)} and {percent(found.loss_high)} of the throughput; to know it better, "
        f"{longer(analysis)}."
    )


def _unverified(analysis: "Analysis") -> list[str]:
    said = []
    for one in analysis.verified:
        if one.failed_checks:
            names = ", ".join(check.name for check in one.failed_checks)
            said.append(
                f"{count(one.pool_size, 'connection')} at {percent(one.load)} of what it can do failed its checks "
                f"({names}): {one.failed_checks[0].detail}."
            )
    if analysis.setting.plan.verify and not analysis.verified:
        said.append("Nothing was verified: the sweep found no size whose capacity could be taken a part of.")
    return said


def _measured_again(analysis: "Analysis") -> str:
    void = analysis.run.void
    if not void:
        return ""
    again = ", ".join(str(step.pool_size) for step in void)
    return f"Steps that failed a check and were measured again, by their connections: {again}; see poolsize analyze."


def _left_out(analysis: "Analysis") -> str:
    limited = [str(size.pool_size) for size in analysis.sizes if size.failed("users_limited")]
    if not limited:
        return ""
    return f"Left out: {', '.join(limited)}, pools that {count(analysis.setting.plan.users, 'user')} never filled."


def _of_the_setting(analysis: "Analysis") -> list[str]:
    setting = analysis.setting
    said = []
    if setting.recording is not None:
        said.append("It is a recording of one machine with one load: sweep your own server before you rely on it.")
    if setting.server is not None and not setting.server.durable:
        said.append("The server does not wait for the disk when it commits (innodb_flush_log_at_trx_commit is not 1).")
    if setting.cores_from == "assumed":
        said.append(
            f"The formula assumed that the database's host has {count(setting.cores, 'core')}, as the load's "
            "machine has: give its --cores."
        )
    if setting.server is not None and setting.server.thread_pool:
        said.append("The server's thread pool is on: it flattens the curve's tail.")
    return said
