"""The workers' shares of a step: connections and arrivals."""

from collections.abc import Mapping

from poolsize.load.worker_step import WorkerShare
from poolsize.runs.plan import PlannedStep, SweepPlan


def split(pool_size: int, workers: list[str]) -> dict[str, int]:
    """Return worker -> its connections, as equal as whole numbers can be; they add up to exactly pool_size."""
    base, larger = divmod(pool_size, len(workers))
    return {worker: base + (place < larger) for place, worker in enumerate(workers)}


def worker_shares(
    plan: SweepPlan, schema: str, planned: PlannedStep, connections: Mapping[str, int]
) -> dict[str, WorkerShare]:
    """Return worker -> its share. Arrivals are split like the connections."""
    return {
        worker: WorkerShare(
            connections=part,
            rate=None if planned.rate is None else planned.rate * part / planned.pool_size,
            think_seconds=plan.think_time_ms / 1000,
            timeout_seconds=plan.pool_timeout_seconds,
            pool=plan.pool,
            schema=schema,
        )
        for worker, part in connections.items()
    }
