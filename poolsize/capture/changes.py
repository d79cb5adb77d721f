"""Two captured workloads -> the changes from the earlier to the later."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.workload import (
    CapturedWorkload,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Several,
    Tiers,
    TransactionKind,
    Zipf,
)
from poolsize.units import milliseconds, number, per_second

LEAST_SHARE = 0.01
"""A kind of a smaller share of the transactions, before and after, is not compared."""
LEAST_RATIO = 1.2
"""Rates, times, shares and ranges that change by less are the same."""
LEAST_STEP = 0.1
"""A Zipf exponent, or a share of the draws, that changes by less is the same."""
LEAST_DRAWS = 500
"""Transactions of a kind in each capture: with fewer, chance decides the distributions of parameters."""
VALUES: Mapping[str, str] = {
    "constant": "one value",
    "range": "numbers",
    "zipf": "numbers",
    "tiers": "numbers",
    "reference": "a value of an earlier statement",
    "sequence": "growing numbers",
    "text": "texts",
    "time": "moments",
    "several": "lists",
}
"""Kind of a parameter -> its values."""
SIGMAS = 4
"""Standard deviations of a share, by chance alone, that a change of the share must exceed."""


Pair = tuple[TransactionKind | None, TransactionKind | None]
"""A kind of the earlier capture, and the same kind of the later one."""


@dataclass(frozen=True)
class Change:
    """A change. kind: of transactions, by its later name; "" for the whole workload. text: a sentence."""

    kind: str
    text: str


def changes(earlier: CapturedWorkload, later: CapturedWorkload) -> tuple[Change, ...]:
    """Return the changes, the most important first: of rates, kinds, their shares, their times, rows and draws.

    Kinds are the same where their statements are, and else where their names are, if these end with no number. Shares
    differ only where chance does not explain the difference.
    """
    pairs = list(_pairs(earlier.kinds, later.kinds))
    of_draws = (
        Change(new.name, f"The kind {_names(old, new)}: {text}.")
        for old, new in pairs if old and new and min(old.weight, new.weight) >= LEAST_DRAWS
        for text in _of_draws(old, new)
    )  # fmt: skip
    return (*_of_whole(earlier, later), *_of_kinds(earlier, later, pairs), *of_draws)


def _of_whole(earlier: CapturedWorkload, later: CapturedWorkload) -> Iterator[Change]:
    for name, before, after, show in (
        ("arrival rate", earlier.arrival_rate, later.arrival_rate, per_second),
        ("mean think time", earlier.think_ms, later.think_ms, milliseconds),
    ):
        if _differ(before, after):
            yield Change("", f"The {name} was {show(before or 0.0)} and is {show(after or 0.0)}.")


def _of_kinds(earlier: CapturedWorkload, later: CapturedWorkload, pairs: Iterable[Pair]) -> Iterator[Change]:
    totals = [max(sum(kind.weight for kind in workload.kinds), 1) for workload in (earlier, later)]
    for old, new in pairs:
        was, is_now = (each.weight / total if each else 0.0 for each, total in zip((old, new), totals, strict=True))
        if max(was, is_now) < LEAST_SHARE:
            continue
        if old is None or new is None:
            name, verb = (new.name, "is new") if new else (old.name if old else "", "is gone")
            yield Change(name, f"The kind {name} {verb}: {100 * max(was, is_now):.1f} % of the transactions.")
            continue
        if _shares_differ(was, is_now, totals):
            text = f"was {100 * was:.1f} % of the transactions and is {100 * is_now:.1f} %"
            yield Change(new.name, f"The kind {_names(old, new)} {text}.")
        for text in _of_kind(old, new):
            yield Change(new.name, f"The kind {_names(old, new)}: {text}.")


def _pairs(earlier: Sequence[TransactionKind], later: Sequence[TransactionKind]) -> Iterator[Pair]:
    """Yield each later kind with the same earlier kind, or None; then the earlier kinds that are gone."""
    remaining, earlier_of = list(earlier), dict[str, TransactionKind]()
    for identity in (_key, _statements, _plain_name):
        by_identity = {identity(kind): kind for kind in remaining}
        for new in later:
            if new.name not in earlier_of and (old := by_identity.pop(identity(new), None)):
                earlier_of[new.name] = old
                remaining.remove(old)
    yield from ((earlier_of.get(new.name), new) for new in later)
    yield from ((old, None) for old in remaining)


def _names(old: TransactionKind, new: TransactionKind) -> str:
    return new.name if old.name == new.name else f"{new.name} ({old.name} before)"


def _shares_differ(was: float, is_now: float, totals: list[int]) -> bool:
    pooled = (was * totals[0] + is_now * totals[1]) / sum(totals)
    chance = (pooled * (1 - pooled) * sum(1 / total for total in totals)) ** 0.5
    return _differ(was, is_now) and abs(was - is_now) > SIGMAS * chance


def _of_kind(old: TransactionKind, new: TransactionKind) -> Iterator[str]:
    """Yield the changes of a kind, as parts of sentences."""
    if _differ(old.mean_ms, new.mean_ms):
        yield f"its time in the server was {milliseconds(old.mean_ms or 0)} and is {milliseconds(new.mean_ms or 0)}"
    if _runs(old) != _runs(new):
        yield f"it ran {_runs(old)} and runs {_runs(new)}"
    if _statements(old) != _statements(new):
        yield "its statements changed"


def _of_draws(old: TransactionKind, new: TransactionKind) -> Iterator[str]:
    """Yield the changes of executions, rows and parameters of a kind, as parts of sentences."""
    if _statements(old) != _statements(new):
        return
    for place, (before, after) in enumerate(zip(old.statements, new.statements, strict=True), start=1):
        for name, was, is_now in (
            ("executions", before.repeats_mean, after.repeats_mean),
            ("rows of a result", before.rows_sent_mean, after.rows_sent_mean),
        ):
            if _differ(was, is_now):
                yield f"statement {place} had {number(was or 0.0)} {name} and has {number(is_now or 0.0)}"
        for index, (parameter, later) in enumerate(zip(before.parameters, after.parameters, strict=True), start=1):
            if change := _of_parameter(parameter, later):
                yield f"parameter {later.column or index} of statement {place} {change}"


def _of_parameter(old: Parameter, new: Parameter) -> str:
    """Return the change of a parameter, as a part of a sentence, or ""."""
    match old, new:
        case Several(), Several():
            if _differ(old.mean, new.mean):
                return f"had {number(old.mean)} values and has {number(new.mean)}"
            return _of_parameter(old.item, new.item)
        case Heavy(), Heavy():
            return _of_frequent(old, new) or _of_parameter(old.tail, new.tail)
        case Tiers(), Tiers():
            return _of_sums(
                _sums(old.shares, accumulate(old.sizes, initial=0)),
                _sums(new.shares, accumulate(new.sizes, initial=0)),
                "on its {} most frequent numbers",
            )
        case Range() | Zipf(), Range() | Zipf():
            return _of_numbers(old, new)
    was, is_now = (VALUES[(each.tail if isinstance(each, Heavy) else each).kind] for each in (old, new))
    return "" if was == is_now else f"had {was} and has {is_now}"


def _of_frequent(old: Heavy, new: Heavy) -> str:
    values = zip_longest(old.values, new.values, fillvalue=HeavyValue(0.0))
    for rank, (was, is_now) in enumerate(values, start=1):
        if abs(was.share - is_now.share) >= LEAST_STEP:
            shares = f"{100 * was.share:.0f} % of the draws and has it in {100 * is_now.share:.0f} %"
            return f"had its {'most frequent value' if rank == 1 else f'value of rank {rank}'} in {shares}"
    was, is_now = old.values[0], new.values[0]
    is_other = was.value is not None and is_now.value is not None and was.value != is_now.value
    return f"had the most frequent value {was.value} and has {is_now.value}" if is_other else ""


def _of_numbers(old: Range | Zipf, new: Range | Zipf) -> str:
    exponent, exponent_now = (each.exponent if isinstance(each, Zipf) else 0.0 for each in (old, new))
    if abs(exponent - exponent_now) >= LEAST_STEP:
        return f"had the Zipf exponent {exponent:.2f} and has {exponent_now:.2f}"
    width, width_now = _width(old), _width(new)
    if _differ(width, width_now):
        return f"had a range of {number(width)} and has {number(width_now)}"
    if isinstance(old, Range) and isinstance(new, Range):
        was, is_now = (
            _sums(each.shares or [1.0] * (len(each.ends) - 1), [end / 10**each.decimals for end in each.ends])
            for each in (old, new)
        )
        return _of_sums(was, is_now, "up to {}")
    return ""


def _sums(shares: Iterable[float], ends: Iterable[float]) -> tuple[Vector, Vector]:
    """Return the ends of groups of numbers, and the share of the draws up to each of them."""
    sums = np.cumsum([0.0, *shares])
    return np.array([float(end) for end in ends]), sums / sums[-1]


def _of_sums(old: tuple[Vector, Vector], new: tuple[Vector, Vector], where: str) -> str:
    """Return the end at which the shares of the draws differ most, or "". where: of the draws, with {} for the end."""
    ends = np.concatenate([old[0], new[0]])
    was, is_now = (np.interp(ends, *each) for each in (old, new))
    place = int(np.argmax(np.abs(was - is_now)))
    if abs(was[place] - is_now[place]) < LEAST_STEP:
        return ""
    shares = f"{100 * was[place]:.0f} % of its draws {where.format(number(ends[place]))}"
    return f"had {shares} and has {100 * is_now[place]:.0f} %"


def _width(numbers: Zipf | Range) -> float:
    if isinstance(numbers, Zipf):
        return float(numbers.high - numbers.low)
    return float(numbers.ends[-1] - numbers.ends[0]) / float(10**numbers.decimals)


def _differ(before: float | None, after: float | None) -> bool:
    """Return whether two numbers differ by LEAST_RATIO or more; False where either number is not known."""
    return before is not None and after is not None and max(before, after) > LEAST_RATIO * min(before, after)


def _statements(kind: TransactionKind) -> tuple[object, ...]:
    return tuple((statement.text, len(statement.parameters)) for statement in kind.statements)


def _runs(kind: TransactionKind) -> str:
    return f"in a transaction that ends with {kind.ends.upper()}" if kind.is_explicit else "under autocommit"


def _key(kind: TransactionKind) -> tuple[object, ...]:
    return (_runs(kind), *_statements(kind))


def _plain_name(kind: TransactionKind) -> tuple[object, ...]:
    """Return the name of a kind; its key where the name ends with a number, which depends on the kinds before."""
    return _key(kind) if re.search(r"_\d+$", kind.name) else (kind.name,)
