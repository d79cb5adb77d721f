"""A fleet's pools as text for a terminal."""

from poolsize.answer.fleet_plan import FleetPlan
from poolsize.present.text.bullets import bullets
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.table import Table
from poolsize.units import count

COLUMNS = ("service", "instances", "processes", "pool size", "connections", "in a deploy")


def fleet_text(plan: FleetPlan) -> str:
    """Return the answer, a table with a row for each service, the reasons, the warnings, and the lines to configure."""
    warnings = warning_sentences(plan.findings)
    parts = [
        _headline(plan),
        _table(plan).as_text() if plan.pools else "",
        bullets(reason_sentences(plan.findings)),
        "Caution:\n" + bullets(warnings) if warnings else "",
        _engines(plan),
    ]
    return "\n\n".join(filter(None, parts))


def _headline(plan: FleetPlan) -> str:
    if not plan.pools:
        return f"No pool size fits: {count(plan.size, 'connection')} can't be divided among these processes."
    if len(plan.pools) > 1:
        return f"Pool sizes for {count(plan.size, 'connection')}, for each process of a service:"
    (pool,) = plan.pools
    processes = count(pool.service.pools, "process").replace("processs", "processes")
    return f"Pool size: {count(pool.pool_size, 'connection')} in each of {processes}."


def _table(plan: FleetPlan) -> Table:
    rows = [
        (
            pool.service.name,
            _range(pool.service.instances, pool.service.max_instances),
            *(f"{value:,}" for value in (pool.service.processes, pool.pool_size, pool.connections)),
            f"{pool.max_connections:,}",
        )
        for pool in plan.pools
    ]
    if len(plan.pools) > 1:
        rows.append(("together", "", "", "", f"{plan.connections:,}", f"{plan.max_connections:,}"))
    return Table(COLUMNS, tuple(rows))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _engines(plan: FleetPlan) -> str:
    if len(plan.pools) == 1:
        return f"For each process: {_engine(plan.pools[0].pool_size)}"
    return "\n".join(
        ["For each process:", *(f"  {_engine(pool.pool_size)}  # {pool.service.name}" for pool in plan.pools)]
        if plan.pools
        else []
    )


def _engine(pool_size: int) -> str:
    return f"create_engine(url, pool_size={pool_size}, max_overflow=0)"
