"""Connections that the server refuses where the pools together exceed its limit, and the pools that would not."""

from collections.abc import Sequence
from dataclasses import dataclass

from poolsize.analysis.attempts import curve_steps
from poolsize.answer.fleet import ServerLimit, Service, share_out
from poolsize.present.text.layout import Table, bullets
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Run, Step
from poolsize.units import count, percent


@dataclass(frozen=True)
class Refused:
    """The failed transactions at a total size of the pools, over all repeats but failed attempts.

    connections: of all pools together. pools: their number. limit: of the server. failed: share of the transactions
    that failed, by errors: the names under which they did. fleet_pool: size of each pool with which all pools stay
    within the limit, a rolling deploy included; None where no pool does.
    """

    connections: int
    pools: int
    limit: int
    failed: float
    errors: tuple[str, ...]
    fleet_pool: int | None


def refusals(run: Run) -> tuple[Refused, ...]:
    """Return the failed transactions of a run whose pools are lazy, by size; empty for other pools.

    Each user class has a pool of its own where there are several.
    """
    server = run.setting.server
    if run.plan.pool is not PoolKind.LAZY or server is None:
        return ()
    _, limit = server.limit
    steps = curve_steps(run.plan, run.steps)
    sizes = sorted({step.pool_size for step in steps})
    return tuple(_refused(size, limit, [step for step in steps if step.pool_size == size]) for size in sizes)


def _refused(connections: int, limit: int, steps: list[Step]) -> Refused:
    failed, succeeded = sum(step.error_count for step in steps), sum(sum(step.counted) for step in steps)
    pools = max([1, *(len(step.kinds) for step in steps)])
    return Refused(
        connections,
        pools,
        limit,
        failed / max(1, failed + succeeded),
        tuple(
            sorted(
                {name for step in steps for name, series in step.errors.items() if any(series[step.warm_up_seconds :])}
            )
        ),
        _fleet_pool(pools, limit),
    )


def _fleet_pool(pools: int, limit: int) -> int | None:
    """Return the size that `poolsize fleet` gives each of the pools at a limit."""
    if limit <= ServerLimit().reserve:
        return None
    server = ServerLimit(limit)
    assert server.usable is not None
    shared = share_out(server.usable, [Service("application", pools)], server)
    return shared[0].pool_size if shared else None


COLUMNS = ("all pools", "failed transactions", "errors")


def refused_text(refusals: Sequence[Refused]) -> str:
    """Return a table of the failed transactions by size, and the pools that stay within the limit.

    refusals: at least one.
    """
    rows = tuple(
        (f"{refused.connections:,}", percent(refused.failed), ", ".join(refused.errors) or "none")
        for refused in refusals
    )
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets([_fleet(refusals[0])])}"


def _fleet(refused: Refused) -> str:
    reserve, surge = ServerLimit().reserve, ServerLimit().surge
    server = f"The server admits {count(refused.limit, 'connection')}"
    if refused.fleet_pool is None:
        return f"{server}: too few for {count(refused.pools, 'pool')} and {reserve} for others."
    return (
        f"{server}. `poolsize fleet` gives each of {count(refused.pools, 'pool')} "
        f"{count(refused.fleet_pool, 'connection')}: {refused.pools * refused.fleet_pool:,} together, and {reserve} "
        f"stay free for others in a rolling deploy with {surge:.0%} more pools."
    )
