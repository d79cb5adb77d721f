"""Whether what is configured still fits what is observed: a line for each condition that no longer holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.observe.names import shown
from poolsize.observe.observation import Observation
from poolsize.observe.pool_answer import PoolAnswer, pool_answers
from poolsize.observe.store import is_observation, load_observation
from poolsize.units import milliseconds, number, per_second

EXCEEDS = 1.05
"""Figures beyond a measured range by at most this factor are within it."""


def drift(observation: Observation, reference: str) -> tuple[str, ...]:
    """Return a sentence for each condition of a reference that an observation no longer fits; empty where it fits.

    reference: the path of a run or of an observation, or a pool size. Raises BadInput, and WorkFailed for a run that
    has no answer.
    """
    check_reference(reference)
    answers = pool_answers(observation)
    if not answers:
        raise BadInput("no pool in the observation has connections in use: observe for longer, or another source")
    return tuple(_of_sizes(answers, _size(reference))) + tuple(_of_reference(answers, reference))


def check_reference(reference: str) -> None:
    """Raise the errors of `drift` for a reference, before an observation that takes long."""
    if _size(reference) is not None:
        return
    if not Path(reference).is_file():
        raise BadInput(f"`check` {reference!a} is no file: name a run or an observation, or give a pool size")
    if is_observation(reference):
        load_observation(reference)
    else:
        from poolsize.command_line.run_file import complete_run

        complete_run(reference)


def _size(reference: str) -> int | None:
    """Return the pool size that a reference is; None for a path. Raises BadInput for a size that no pool has."""
    if not reference.isdecimal():
        return None
    if len(reference) > len(str(LARGEST_POOL)) or not 1 <= int(reference) <= LARGEST_POOL:
        raise BadInput(f"`check` {shown(reference)}: give a pool size of 1 to {LARGEST_POOL:,}, or ./NAME for a file")
    return int(reference)


def _of_sizes(answers: Sequence[PoolAnswer], size: int | None) -> Iterator[str]:
    """Yield where a need is above a pool size: the typed size, or that of the pool itself for None."""
    for answer in answers:
        pool_size = answer.busiest.size if size is None else size
        if pool_size is not None and answer.need > pool_size:
            at_least = "at least " if answer.censored else ""
            yield f"{shown(answer.name)}: the need is {at_least}{answer.need:,}, above the pool size of {pool_size:,}."


def _of_reference(answers: Sequence[PoolAnswer], reference: str) -> Iterator[str]:
    if _size(reference) is not None:
        return
    if is_observation(reference):
        yield from _since(answers, pool_answers(load_observation(reference)))
    else:
        yield from _beyond_run(answers, reference)


def _since(answers: Sequence[PoolAnswer], before: Sequence[PoolAnswer]) -> Iterator[str]:
    """Yield which needs are above the 95 % ranges of those of the observation before."""
    of_before = {answer.name: answer for answer in before}
    for answer in answers:
        then = of_before.get(answer.name)
        if then is None:
            yield f"{shown(answer.name)}: the stored observation does not have this pool."
        elif answer.need > (high := then.need_range()[1]):
            at_least = "at least " if answer.censored else ""
            was = f"{then.need:,}" if high == then.need else f"{then.need:,} (at most {high:,})"
            yield f"{shown(answer.name)}: the need was {was}, and is {at_least}{answer.need:,}."


def _beyond_run(answers: Sequence[PoolAnswer], path: str) -> Iterator[str]:
    """Yield which conditions of a run's answer the pools are beyond."""
    from poolsize.command_line.run_file import client_times_of, complete_run, supply_of

    analysis = complete_run(path)
    known = [(answer.rate, answer.busiest.usage_ms) for answer in answers]
    rates = [rate for rate, _ in known if rate]
    usage_ms = sum(rate * usage_ms for rate, usage_ms in known if rate and usage_ms) / sum(rates) if rates else None
    supply = supply_of(path, analysis, client_times_of(usage_ms, None, None))
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
