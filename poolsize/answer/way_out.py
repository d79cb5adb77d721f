"""The ways to a better answer: measure longer, beyond the measured sizes, or with more workers."""

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

from poolsize.answer.finding import Remedy, WayOut

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.size_summary import SizeSummary

ROOM = 1.25
"""The load generator's throughput must exceed the server's by this factor, so that the server is the bottleneck."""
MOST_USERS = 10_000
"""With more users, the load generator's own cost disturbs the measurement; shorter pauses make as much load."""
FAR_APART = 3
"""Neighbouring sizes with this ratio or more leave a gap in which the plateau may start anywhere."""
LONGER = 4
"""This multiple of the load makes a range half as wide."""


def measure_longer(analysis: "Analysis") -> WayOut:
    """Return the way to a narrower range: fill a gap between the measured sizes, or measure longer."""
    plan = analysis.setting.plan
    if gap := _gap(analysis):
        return WayOut(Remedy.FILL_GAP, {"below": gap[0], "above": gap[1]})
    if plan.search is not None:
        return WayOut(Remedy.SEARCH_LONGER, {"budget_minutes": max(1, LONGER * plan.search.budget_seconds // 60)})
    return WayOut(Remedy.MEASURE_LONGER, {"step_seconds": max(30, LONGER * plan.step_seconds), "repeats": 3})


def sweep_beyond(analysis: "Analysis", size: int) -> WayOut:
    """Return the way to measure beyond the end of the measured sizes at which the answer lies. size: the answer."""
    return _sweep(analysis, sizes_beyond(analysis, size))


def sweep_larger(analysis: "Analysis") -> WayOut:
    """Return the way to measure larger sizes than the largest valid size."""
    return _sweep(analysis, _larger_sizes(analysis))


def sizes_beyond(analysis: "Analysis", size: int) -> tuple[int, ...]:
    """Return the sizes worth measuring next, ascending, where the answer lies at an end of the measured sizes.

    size: the answer.
    """
    sizes = [summary.pool_size for summary in analysis.valid_sizes]
    if size == sizes[0] and len(sizes) > 1:
        return tuple(sorted({max(1, size // 8), max(1, size // 4), max(1, size // 2), size}))
    return _larger_sizes(analysis)


def more_workers(size: "SizeSummary") -> WayOut:
    """Return the way out of a saturated load generator: more workers.

    size: the summary whose service demands show how many workers make the database the bottleneck. The number is left
    out where the service demands are not known, or where the run has that many workers already.
    """
    demands = size.demands
    if demands is None or demands.inferred or not demands.server_ms:
        return WayOut(Remedy.MORE_WORKERS)
    workers = ceil(ROOM * demands.client_ms * demands.server_cores / demands.server_ms)
    values = {
        "pool_size": size.pool_size,
        "client_ms": demands.client_ms,
        "server_ms": demands.server_ms,
        "server_cores": demands.server_cores,
    }
    return WayOut(Remedy.MORE_WORKERS, values | ({"workers": workers} if workers > demands.client_processes else {}))


def _sweep(analysis: "Analysis", sizes: tuple[int, ...]) -> WayOut:
    if analysis.setting.recording is not None:
        return WayOut(Remedy.SWEEP_RECORDING_BEYOND)
    users = users_for(analysis, sizes[-1])
    enough = {"users": users} if users > analysis.setting.plan.users else {}
    return WayOut(Remedy.SWEEP_BEYOND, {"pool_sizes": sizes, **enough, "shorter_pauses": users > MOST_USERS})


def users_for(analysis: "Analysis", pool_size: int) -> int:
    """Return a number of users that fills all pools of a size: twice their connections, and those who pause meanwhile.

    At most, connections / usage time transactions end in a unit of time, each followed by a pause (Little's law). The
    usage time is that of the largest valid size, for it hardly falls at larger ones.
    """
    usage_ms = (analysis.valid_sizes or analysis.sizes)[-1].usage.mean
    connections = analysis.setting.connections(pool_size)
    pausing = connections * analysis.run.think_time_ms / usage_ms if usage_ms > 0 else 0.0
    return ceil(2 * connections + pausing)


def _larger_sizes(analysis: "Analysis") -> tuple[int, ...]:
    return tuple(analysis.valid_sizes[-1].pool_size * times for times in (1, 2, 4, 8))


def _gap(analysis: "Analysis") -> tuple[int, int] | None:
    """Return the sizes on both sides of the widest gap in the answer's range; None where no gap is wide."""
    assert analysis.plateau is not None
    sizes, plateau = [size.pool_size for size in analysis.valid_sizes], analysis.plateau
    inside = [
        (above / below, below, above)
        for below, above in pairwise(sizes)
        if plateau.low < above and below < plateau.high
    ]
    if not inside or max(inside)[0] < FAR_APART:
        return None
    return max(inside)[1:]
