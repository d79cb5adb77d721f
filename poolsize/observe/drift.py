"""Whether what is configured still fits what is observed: a line for each condition that no longer holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.observe.observation import Observation, shown
from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.observe.store import is_observation, load_observation
from poolsize.observe.text import need_text, silence, unanswered, verdict
from poolsize.observe.together import Together
from poolsize.units import milliseconds, number, per_second, percent

if TYPE_CHECKING:
    from poolsize.analysis.analysis import Analysis

CURRENT = "current"
"""The name of today's pool sizes, each of its own pool."""
EXCEEDS = 1.05
"""Figures beyond a measured range by at most this factor are within it."""


@dataclass(frozen=True)
class Reference:
    """What an observation is compared with: a pool size, an observation, a run, or None for today's sizes.

    name: as printed.
    """

    name: str
    content: "int | Observation | Analysis | None"


def read_reference(name: str) -> Reference:
    """Return the reference of this name: the path of a run or of an observation, a pool size, or CURRENT.

    Raises BadInput, and WorkFailed for a run that is not complete.
    """
    if name == CURRENT:
        return Reference("today's pool sizes", None)
    if name.isdecimal():
        if len(name) > len(str(LARGEST_POOL)) or not 1 <= int(name) <= LARGEST_POOL:
            raise BadInput(f"`check` {shown(name)}: give a pool size of 1 to {LARGEST_POOL:,}, or ./NAME for a file")
        return Reference(name, int(name))
    if not Path(name).is_file():
        raise BadInput(f"`check` {name!a} is no file: give a run, an observation, a pool size, or the word {CURRENT}")
    if is_observation(name):
        return Reference(name, load_observation(name))
    from poolsize.command_line.run_file import complete_run

    return Reference(name, complete_run(name))


def drift(answers: Sequence[PoolAnswer], reference: Reference, of_all: Together | None = None) -> tuple[str, ...]:
    """Return a sentence for each condition of a reference that pools no longer fit; empty where they fit.

    answers: of all pools of an observation. of_all: their connections, with the reference's
    pool size or today's sizes, beside the limit of the server.
    Raises WorkFailed for a run that has no answer, and BadInput for that of an application which the database does not
    limit.
    """
    names, content = {answer.name for answer in answers}, reference.content
    answers = [answer for answer in answers if answer.is_used]
    before = pool_answers(content) if isinstance(content, Observation) else ()
    ended = {answer.name for answer in before if answer.silent_since is not None}
    silent = [
        f"{shown(answer.name)}: {silence(answer.silent_since)}"
        for answer in answers
        if answer.silent_since is not None and answer.name not in ended
    ]
    size = content if isinstance(content, int) else None
    of_sizes = *silent, *_of_sizes(answers, size), *_beyond_limit(of_all, size)
    if content is None or size is not None:
        return of_sizes
    if isinstance(content, Observation):
        return (
            *of_sizes,
            *_since(answers, before, censored=False),
            *(
                f"{shown(answer.name)}: the stored observation has this pool, and this observation does not."
                for answer in before
                if answer.is_used and answer.name not in names
            ),
        )
    assert not isinstance(content, int)
    return *of_sizes, *_beyond_run(answers, reference.name, content)


def unproven(observation: Observation, answers: Sequence[PoolAnswer], reference: Reference) -> Iterator[str]:
    """Yield a sentence for each pool of which nothing shows whether it fits. answers: of all pools that have.

    Such a pool cut demand off, now or in the reference; or its use is not known, or no pool was used.
    """
    used = [answer for answer in answers if answer.is_used]
    yield from unanswered(observation, answers)
    yield from (f"{shown(answer.name)}: {verdict(answer)}." for answer in answers if not used)
    for answer in used:
        if answer.censored:
            yield f"{shown(answer.name)}: no answer. Demand was cut off: the need is at least {answer.need:,}."
        elif reference.content is None and answer.busiest.size is None:
            yield f"{shown(answer.name)}: no answer. Today's pool size is not known."
    if isinstance(reference.content, Observation):
        yield from _since(used, pool_answers(reference.content), censored=True)


def still_fits(answers: Sequence[PoolAnswer], reference: Reference, of_all: Together | None) -> str:
    """Return that all pools fit, and the highest need. answers: with a used pool at least. of_all: as in drift."""
    highest = max((answer for answer in answers if answer.is_used), key=lambda answer: answer.need)
    fit = f"All pools still fit {reference.name}. The highest need is {need_text(highest)} ({shown(highest.name)})."
    is_read = of_all is None or of_all.limit.usable is not None
    return fit if is_read else f"{fit} The server's max_connections was not read: the sum of all pools is not checked."


def _of_sizes(answers: Sequence[PoolAnswer], size: int | None) -> Iterator[str]:
    """Yield which needs are above a pool size. size: of each pool; None for the pool's own."""
    for answer in answers:
        pool_size = answer.busiest.size if size is None else size
        if pool_size is not None and answer.need > pool_size:
            yield f"{shown(answer.name)}: the need is {need_text(answer)}, above the pool size of {pool_size:,}."


def _beyond_limit(of_all: Together | None, size: int | None) -> Iterator[str]:
    """Yield that the server admits fewer connections than all pools may open in a deploy."""
    if of_all and of_all.exceeds_today:
        limit, sizes = of_all.limit, "Today's pool sizes" if size is None else f"Pools of {size:,}"
        yield (
            f"{sizes} allow {of_all.today_in_deploy:,} connections in a deploy with {percent(limit.surge)} "
            f"more instances. The server admits {limit.usable:,} (max_connections {limit.max_connections:,}, less "
            f"{limit.reserve:,} in reserve). The needs take {'at least ' if of_all.is_least else ''}"
            f"{of_all.needed_in_deploy:,}."
        )


def _since(answers: Sequence[PoolAnswer], before: Sequence[PoolAnswer], *, censored: bool) -> Iterator[str]:
    """Yield which needs are above the 95 % ranges of those of the observation before.

    censored: of the pools whose demand was cut off then, or of the others.
    """
    of_before = {answer.name: answer for answer in before}
    for answer in answers:
        then = of_before.get(answer.name)
        if then is None:
            if not censored:
                yield f"{shown(answer.name)}: the stored observation does not have this pool."
        elif not then.is_used:
            if not censored:
                yield f"{shown(answer.name)}: no connection was in use then, and the need is {need_text(answer)}."
        elif bool(then.censored) == censored and answer.need > (high := then.need_range()[1]):
            was = f" (at most {high:,})" if high != then.need and not censored else ""
            yield f"{shown(answer.name)}: the need was {need_text(then)}{was}, and is {need_text(answer)}."


def _beyond_run(answers: Sequence[PoolAnswer], path: str, analysis: "Analysis") -> Iterator[str]:
    """Yield which conditions of a run's answer the pools are beyond."""
    from poolsize.command_line.run_file import client_times_of, supply_of

    known = [(answer.rate, answer.busiest.usage_ms) for answer in answers]
    rates = [rate for rate, _ in known if rate]
    usage_ms = sum(rate * usage_ms for rate, usage_ms in known if rate and usage_ms) / sum(rates) if rates else None
    supply = supply_of(path, analysis, client_times_of(usage_ms, None, None), is_typed=False)
    plateau = supply.range[1] if supply.range else supply.connections
    sizes = [answer.size_together for answer in answers if answer.size_together is not None]
    if sum(sizes) > plateau:
        yield f"The pools may open {sum(sizes):,} connections, and by the run the database can use {plateau:,}."
    together = sum(answer.peak_together for answer in answers)
    if together > plateau:
        yield (
            f"{number(together)} connections are in use in the busiest period, and by the run the database can use "
            f"{plateau:,}."
        )
    highest = supply.highest_measured
    if highest is not None and sum(rates) > EXCEEDS * highest:
        yield f"Requests come at {per_second(sum(rates))}, and the run's highest throughput is {per_second(highest)}."
    longest_ms = max(size.usage.mean for size in analysis.valid_sizes)
    for answer, (_, mean_ms) in zip(answers, known, strict=True):
        if mean_ms is not None and mean_ms > EXCEEDS * longest_ms:
            yield (
                f"{shown(answer.name)}: the mean usage time is {milliseconds(mean_ms)}, and the longest of the run is "
                f"{milliseconds(longest_ms)}."
            )
