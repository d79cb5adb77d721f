"""Whether a measured answer may be taken for one, and if not, what would make it one."""

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Literal

from poolsize.units import count, milliseconds, per_second

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis, SizeSummary

ROOM = 1.25
"""How much more than the server the load must be able to do, so as not to be what is measured."""
RISING, HALF_A_DOUBLING = 0.01, 2**0.5
"""A curve that gains more than that over half a doubling has not gone flat."""
FAR_APART = 3
"""Neighbours on a grid whose ratio is larger leave the answer to what lies between."""
LONGER = 4
"""A range gets half as wide by so many times the load."""
NOISY_SPAN = 8
"""A range whose ends are further apart than this factor is no answer."""

Verdict = Literal["measured", "edge", "users-limited", "generator-limited", "noisy"]


def why_no_size(analysis: "Analysis") -> tuple[Verdict, str] | None:
    """What forbids a number, and the way out; None where nothing does."""
    found = analysis.plateau
    if found is None or found.high > NOISY_SPAN * found.low:
        return _spoiled_everywhere(analysis) or ("noisy", _noisy(analysis))
    chosen = analysis.nearest(found.pool_size)
    if _generator_limited(analysis) and chosen.demands is None:
        return "generator-limited", (
            "The load process itself was busy or late, and what a transaction takes of the client and of the server "
            f"can't be told apart here. {_more_load(chosen)}"
        )
    return None


def _spoiled_everywhere(analysis: "Analysis") -> tuple[Verdict, str] | None:
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
        smaller = ["smaller --pool-sizes"] if analysis.sizes[0].pool_size > 1 or analysis.setting.recording else []
        enough = [] if analysis.setting.recording else [f"--users {4 * max(plan.users, analysis.sizes[-1].pool_size)}"]
        more = " or ".join([*enough, *smaller])
        return "users-limited", f"No pool was ever full with {count(plan.users, 'user')}: use {more}."
    return None


def _noisy(analysis: "Analysis") -> str:
    found = analysis.plateau
    if found is None:
        return "No step passed its checks; see them with poolsize analyze, and measure again."
    return f"Anything from {found.low} to {found.high} connections may be right: {longer(analysis)}."


def verdict(analysis: "Analysis") -> tuple[Verdict, str]:
    """The verdict on the plateau of a run that has one, and what to do about it (empty when all is well)."""
    assert analysis.plateau is not None
    size = analysis.plateau.pool_size
    if _generator_limited(analysis):
        return "generator-limited", (
            f"The load process itself was busy or late: {count(size, 'connection')} is what this client can use, "
            f"and the database may take more. {_more_load(analysis.nearest(size))}"
        )
    if any(other.pool_size < size and other.failed("arrivals") for other in analysis.sizes):
        return "measured", ""  # a rate that smaller pools were seen not to carry
    return _at_an_end(analysis, size) or ("measured", "")


def _at_an_end(analysis: "Analysis", size: int) -> tuple[Verdict, str] | None:
    """Whether the answer lies at an end of what was swept, or the curve still rises at its end."""
    users = analysis.setting.plan.users
    smallest, largest = analysis.telling[0].pool_size, analysis.telling[-1].pool_size
    rising = size == largest or (2 * size > largest and _still_rising(analysis, largest))
    if rising and any(other.failed("users_limited") for other in analysis.sizes):
        enough = max(4 * analysis.sizes[-1].pool_size, 2 * users)
        more = _further(analysis) if analysis.setting.recording else f"use --users {enough}"
        return "users-limited", (
            f"Larger pools than {largest} were never full with {count(users, 'user')}, so they say nothing: {more}."
        )
    if smallest == largest:
        return "edge", f"Only {size} was measured, so there is nothing to compare it with: {_further(analysis)}."
    if rising:
        return "edge", f"Throughput was still rising at {largest}, the largest size measured: {_further(analysis)}."
    if size == smallest and size > 1:
        return "edge", f"The smallest size that counts, {size}, is already enough: {_further(analysis)}."
    return None


def _still_rising(analysis: "Analysis", largest: int) -> bool:
    """Whether the curve ends at its best and has not gone flat before."""
    if analysis.best_size != largest:
        return False
    before = max(analysis.telling[0].pool_size, round(largest / HALF_A_DOUBLING))
    return analysis.throughput_at(largest) > (1 + RISING) * analysis.throughput_at(before)


def sizes_beyond(analysis: "Analysis") -> tuple[int, ...]:
    """Sizes worth measuring next where the answer lies at an end: beyond that end."""
    assert analysis.plateau is not None
    size, sizes = analysis.plateau.pool_size, [one.pool_size for one in analysis.telling]
    if size == sizes[0] and len(sizes) > 1:
        return tuple(sorted({max(1, size // 8), max(1, size // 4), max(1, size // 2), size}))
    return tuple(sizes[-1] * times for times in (1, 2, 4, 8))


def longer(analysis: "Analysis") -> str:
    """What to type for a narrower range: several times the load."""
    plan = analysis.setting.plan
    if gap := _gap(analysis):
        return f"sweep sizes between {gap[0]} and {gap[1]}, which are far apart"
    if plan.search is not None:
        return f"search again with --budget {max(1, LONGER * plan.search.budget_seconds // 60)}m"
    return f"measure longer, with --step-time {max(30, LONGER * plan.step_seconds)}s or --repeats 3"


def _gap(analysis: "Analysis") -> tuple[int, int] | None:
    """The widest step between measured sizes in the answer's range, if it is wide."""
    assert analysis.plateau is not None
    sizes, found = [size.pool_size for size in analysis.telling], analysis.plateau
    inside = [
        (above / below, below, above) for below, above in pairwise(sizes) if found.low < above and below < found.high
    ]
    if not inside or max(inside)[0] < FAR_APART:
        return None
    return max(inside)[1:]


def _further(analysis: "Analysis") -> str:
    if analysis.setting.recording is not None:
        return "sweep beyond it with other --pool-sizes, if the recording has them"
    sizes = sizes_beyond(analysis)
    users = f" --users {2 * sizes[-1]}" if sizes[-1] >= analysis.setting.plan.users else ""
    return f"sweep beyond it with --pool-sizes {','.join(map(str, sizes))}{users}"


def _generator_limited(analysis: "Analysis") -> bool:
    assert analysis.plateau is not None
    best = analysis.best_size or analysis.plateau.pool_size
    return any(analysis.nearest(size).failed("generator") for size in (analysis.plateau.pool_size, best))


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
