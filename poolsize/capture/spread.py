"""Many values of a parameter, none of which stands by itself -> a range, a Zipf distribution, texts or moments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, isnan, log10, sqrt
from typing import Any, Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.literals import LONGEST_HARMLESS, Kept, Value, alphabet_of
from poolsize.capture.skew import Skew, fitted_skew
from poolsize.capture.workload import Range, Text, Time, Zipf

FEW = 20
"""With fewer different values, an end of a range would be a literal: it is rounded to two digits."""
DENSE = 2
"""A range is dense when at least 1 of so many of its numbers occurs."""
EVEN = 0.05
"""The largest distance (Kolmogorov's) from what was seen at which a distribution is good enough."""
MOSTLY = 0.8
"""Share of the values that are not the most frequent of a parameter."""
QUANTILES = 20
LEAST_AGE, MOST_AGE = -240_000_000_000, 60_000_000_000
"""Seconds; within these, every moment is in the years 100 to 9700."""
LARGEST, SMALLEST = 2**64, -(2**63)


@dataclass(frozen=True)
class Counts:
    """How often each literal was seen, and what each is."""

    counts: Mapping[Kept, int]
    values: Mapping[Kept, Value]

    @cached_property
    def draws(self) -> int:
        """The literals that were seen."""
        return sum(self.counts.values())

    def of(self, literals: Iterable[Kept]) -> "Counts":
        """Return some of the literals alone."""
        return Counts({literal: self.counts[literal] for literal in literals}, self.values)

    @cached_property
    def numbers(self) -> "Numbers":
        """The literals as whole numbers, in the unit of the longest decimals."""
        values = [self.values[literal] for literal in self.counts]
        decimals = max(value.decimals for value in values)
        whole: dict[int, int] = {}
        for value, count in zip(values, self.counts.values(), strict=True):
            number = value.number * 10 ** (decimals - value.decimals)
            whole[number] = whole.get(number, 0) + count
        return Numbers(tuple(sorted(whole.items())), decimals, any(value.is_quoted for value in values))


@dataclass(frozen=True)
class Numbers:
    """Whole numbers in ascending order, each with how often it was seen; all over 10**decimals."""

    seen: tuple[tuple[int, int], ...]
    decimals: int
    is_quoted: bool

    @property
    def span(self) -> int:
        """How many numbers there are from the lowest to the highest."""
        return self.seen[-1][0] - self.seen[0][0] + 1


def skew_of(known: Counts, kind: str) -> Skew:
    """Return the skew of literals of a kind."""
    most = known.numbers.span if kind == "number" else None
    return fitted_skew(np.array(list(known.counts.values()), dtype=float), most)


def spread_numbers(numbers: Numbers, skew: Skew) -> Range | Zipf:
    """Return a range, or a Zipf distribution if the numbers are whole and the distribution is like what was seen."""
    ends = rounded_ends(numbers.seen[0][0], numbers.seen[-1][0], len(numbers.seen))
    values = np.array([float(number) for number, _ in numbers.seen])
    draws = np.array([float(count) for _, count in numbers.seen])
    distinct = two_digits(skew.values) if skew.values * DENSE < numbers.span else None
    if skew.exponent and not numbers.decimals:
        first = _first(values, draws, skew.exponent)
        if first is not None:
            return Zipf(*ends, skew.exponent, first, distinct, numbers.is_quoted)
    if _distance(draws, (values - values[0] + 1) / (values[-1] - values[0] + 1)) > _tolerance(draws):
        return Range(_quantiles(values, draws, ends), numbers.decimals, None, numbers.is_quoted)
    return Range(ends, numbers.decimals, distinct, numbers.is_quoted)


def _first(values: Vector, draws: Vector, exponent: float) -> Literal["low", "high", "scattered"] | None:
    """Return which number has the first rank; None where the frequent numbers lie together in between.

    values: ascending. draws: of each value.
    """
    span = values[-1] - values[0] + 1
    ranks = values - values[0] + 1
    tolerance = _tolerance(draws)
    if _distance(draws, _zipf_shares(ranks, span, exponent)) <= tolerance:
        return "low"
    if _distance(draws[::-1], _zipf_shares(span + 1 - ranks[::-1], span, exponent)) <= tolerance:
        return "high"
    # A frequent number is anywhere if ranks are scattered, and moves the draws; that others are near it is a cluster.
    usual = np.minimum(draws, np.quantile(draws, MOSTLY))
    tolerance = max(EVEN, 2 / sqrt(len(values)))
    return "scattered" if _distance(usual, ranks / span) <= tolerance else None


def _zipf_shares(ranks: Vector, span: float, exponent: float) -> Vector:
    """Return the shares of all ranks up to each rank: the sum as an integral, whose first ranks are summed."""
    first = np.arange(1, min(span, 50) + 1) ** -exponent
    heads = np.cumsum(first)

    def sums(last: Vector) -> Any:
        rest = (last + 0.5) ** (1 - exponent) - (len(first) + 0.5) ** (1 - exponent)
        power = 1 - exponent
        tails = rest / power if abs(power) > 1e-6 else np.log((last + 0.5) / (len(first) + 0.5))
        return np.where(last <= len(first), heads[np.minimum(last, len(first)).astype(int) - 1], heads[-1] + tails)

    shares: Vector = sums(ranks) / float(sums(np.array([span]))[0])
    return shares


def _distance(draws: Vector, shares: Vector) -> float:
    """Return Kolmogorov's distance. draws: of ascending values. shares: of all draws up to each value, by a model."""
    seen = np.cumsum(draws) / draws.sum()
    return float(np.abs(seen - shares).max())


def _tolerance(draws: Vector) -> float:
    """Return the distance up to which a model is good enough: EVEN, or more where chance explains more."""
    return max(EVEN, 2 / sqrt(float(draws.sum())))


def _quantiles(values: Vector, draws: Vector, ends: tuple[int, int]) -> tuple[int, ...]:
    """Return ends of ranges that hold equal shares of the draws, rounded to 1/1000 of the whole range."""
    places = np.searchsorted(np.cumsum(draws), np.linspace(0, draws.sum(), QUANTILES + 1)[1:-1])
    unit = 10 ** max(0, floor(log10(max(ends[1] - ends[0], 1))) - 3)
    inner = [min(max(round(float(values[place]) / unit) * unit, ends[0]), ends[1]) for place in places]
    return (ends[0], *inner, ends[1])


def rounded_ends(low: int, high: int, different: int) -> tuple[int, int]:
    """Return the ends of a range, rounded outward so that they are no literals.

    different: how many different values were seen. With few of them, two digits remain; with more, two digits of the
    range's width, and never all digits of a long number. A positive low end stays positive.
    """
    largest = max(abs(low), abs(high), 1)
    widest = largest if different < FEW else max(high - low, 1)
    unit = 10 ** max(len(str(largest)) > LONGEST_HARMLESS, floor(log10(widest)) - 1)
    bottom, top = low // unit * unit, -(-high // unit) * unit
    return _bounded(min(1, low) if bottom <= 0 <= low else bottom), _bounded(top)


def _bounded(number: int) -> int:
    return min(max(number, SMALLEST), LARGEST)


def two_digits(count: int) -> int:
    """Return a count with two significant digits."""
    unit = int(10 ** max(0, floor(log10(max(count, 1))) - 1))
    return round(count / unit) * unit


def spread_texts(known: Counts, skew: Skew) -> Text:
    """Return texts, or bytes: their lengths, their alphabet, how many there are, and a LIKE pattern's wildcards."""
    values = [known.values[literal] for literal in known.counts]
    texts = [value.text for value in values]
    begins: Literal["", "%"] = "%" if all(text.startswith("%") and len(text) > 1 for text in texts) else ""
    ends: Literal["", "%"] = "%" if all(text.endswith("%") and len(text) > 1 for text in texts) else ""
    wild = len(begins) + len(ends)
    lengths = [max(0, value.length - wild) for value in values]
    bare = [text[len(begins) : len(text) - len(ends)] for text in texts]
    return Text(
        min(lengths),
        max(lengths),
        "bytes" if values[0].kind == "bytes" else alphabet_of(bare),
        two_digits(skew.values),
        skew.exponent,
        begins,
        ends,
    )


def spread_moments(moments: Sequence[tuple[Value, float]]) -> Time:
    """Return moments by their ages. moments: each with when its statement started, nan where unknown."""
    newest = max(value.number for value, _ in moments)
    ages = np.array([(newest if isnan(started) else started) - value.number for value, started in moments])
    forms = {value.form for value, _ in moments}
    decimals = max(value.decimals for value, _ in moments)
    midnight = forms != {""} and all(value.number % 86_400 == 0 and not value.decimals for value, _ in moments)
    form: Literal["date", "datetime", "iso"] = "date" if forms == {""} else "iso" if "T" in forms else "datetime"
    return Time(age_ends(ages), form, decimals, midnight)


def age_ends(ages: Vector) -> tuple[int, ...]:
    """Return ends of ranges of ages that hold equal shares of them, in seconds, of two digits."""
    ages = np.clip(np.sort(ages), LEAST_AGE, MOST_AGE)
    ends = rounded_ends(floor(ages[0]), -floor(-ages[-1]), 0)
    is_even = np.abs(np.arange(1, len(ages) + 1) / len(ages) - (ages - ages[0]) / max(np.ptp(ages), 1)).max() < 0.1
    if is_even or len(ages) < QUANTILES:
        return ends
    inner = np.quantile(ages, np.linspace(0, 1, QUANTILES + 1)[1:-1])
    return (ends[0], *(min(max(round_to_two(value), ends[0]), ends[1]) for value in inner), ends[1])


def round_to_two(value: float) -> int:
    """Return a number with two significant digits."""
    return two_digits(round(value)) if value >= 0 else -two_digits(round(-value))
