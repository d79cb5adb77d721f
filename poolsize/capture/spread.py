"""Many values of a parameter, without its frequent values -> a range, a Zipf distribution, texts or moments."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, isnan, log, log10, sqrt
from typing import Any, Literal

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.literals import LONGEST_HARMLESS, Kept, Kind, Value, alphabet_of, value_of
from poolsize.capture.skew import Skew, fitted_skew
from poolsize.capture.workload import Range, Text, Tiers, Time, Zipf

FEW = 20
"""With fewer different values, an end of a range would be a literal, and is rounded to two digits."""
DENSE = 2
"""A range is dense when at least 1 of so many of its numbers occurs."""
DIFFERENT, GROWS = 0.98, 0.95
"""The share of different numbers, and the rank correlation with time, of numbers that count up."""
EVEN = 0.05
"""The largest distance (Kolmogorov's) from the seen values at which a distribution is good enough."""
EVEN_AGES = 0.1
NARROW = 0.1
"""Width of a range of ages, over the nearer end, in which their distribution does not show: ends have two digits."""
NEAR = 0.1
"""Width of a list's numbers, over the width of the numbers of all lists, for numbers that are near each other."""
MOSTLY = 0.8
"""Share of the values that are not the most frequent of a parameter."""
QUANTILES = 20
MOST_PIECES, LEAST_OF_PIECE, LEAST_GAIN_OF_PIECE = 8, 5, 3.0
"""Pieces of a range, different numbers of each, and the log-likelihood that a division must gain, over that of the
number of draws."""
MOST_REPEATED = 1.1
"""How often numbers repeat, over what even pieces of a range explain."""
TEN_YEARS = 315_360_000
LEAST_AGE, MOST_AGE = -240_000_000_000, 60_000_000_000
"""Seconds; within these, every moment is in the years 100 to 9700."""
LARGEST, SMALLEST = 2**64, -(2**63)


@dataclass(frozen=True)
class Seen:
    """The literals of a parameter in the order of time, when their statements started (nan where unknown), and values.

    values: of each literal.
    """

    literals: Sequence[Kept]
    started: Vector
    values: Mapping[Kept, Value]

    @classmethod
    def of(cls, seen: Sequence[tuple[float, Kept]]) -> "Seen":
        """Return literals with their values. Numbers and moments among other texts are texts themselves.

        seen: when statements started, and their literals.
        """
        literals = [literal for _, literal in seen]
        values = {literal: value_of(literal) for literal in dict.fromkeys(literals)}
        if len({value.kind for value in values.values() if value.is_quoted}) > 1:
            values = {key: value._replace(kind="text") if value.is_quoted else value for key, value in values.items()}
        return cls(literals, np.array([started for started, _ in seen], dtype=float), values)

    def only(self, keeps: Callable[[Kept], bool]) -> "Seen":
        """Return some of the literals alone."""
        kept = {literal: value for literal, value in self.values.items() if keeps(literal)}
        places = [place for place, literal in enumerate(self.literals) if literal in kept]
        return Seen([self.literals[place] for place in places], self.started[places], kept)

    @cached_property
    def counts(self) -> Counter[Kept]:
        """How often each literal was seen."""
        return Counter(self.literals)

    @cached_property
    def numbers(self) -> "Numbers":
        """The literals as whole numbers, in the unit of the longest decimals."""
        decimals = max(value.decimals for value in self.values.values())
        whole: Counter[int] = Counter()
        for literal, count in self.counts.items():
            value = self.values[literal]
            whole[value.number * 10 ** (decimals - value.decimals)] += count
        is_quoted = any(value.is_quoted for value in self.values.values())
        return Numbers(tuple(sorted(whole.items())), decimals, is_quoted)

    def skew(self, kind: Kind) -> Skew:
        """Return the skew of literals of a kind."""
        most = self.numbers.span if kind == "number" else None
        return fitted_skew(np.array(list(self.counts.values()), dtype=float), most)


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

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest number, rounded outward."""
        return rounded_ends(self.seen[0][0], self.seen[-1][0], len(self.seen))

    @cached_property
    def above_lowest(self) -> Vector:
        """How far each number is above the lowest: as floats, large numbers themselves would not differ."""
        return np.array([float(number - self.seen[0][0]) for number, _ in self.seen])

    @cached_property
    def draws(self) -> Vector:
        """How often each number was seen."""
        return np.array([float(count) for _, count in self.seen])


def counts_up(values: Sequence[Value]) -> bool:
    """Return whether values are different whole numbers in the order of time, as ids that someone counts."""
    lowest = min(value.number for value in values)
    numbers = np.array([float(value.number - lowest) for value in values])
    if any(value.kind != "number" for value in values) or len(np.unique(numbers)) < DIFFERENT * len(numbers):
        return False
    return bool(np.corrcoef(np.arange(len(numbers)), numbers.argsort().argsort())[0, 1] > GROWS)


def spread_numbers(numbers: Numbers, skew: Skew) -> Range | Zipf | Tiers:
    """Return a range; of whole numbers that are skewed, a Zipf distribution or tiers that fit the seen numbers."""
    ends, draws = numbers.ends, numbers.draws
    distinct = two_digits(skew.values) if skew.values * DENSE < numbers.span else None
    first = _first(numbers, skew.exponent) if skew.exponent and not numbers.decimals else None
    if first in ("low", "high") or (first and not _are_pieces(numbers, _piece_starts(numbers))):
        if first == "scattered" and skew.tiers:
            shares, sizes = zip(*skew.tiers, strict=True)
            return Tiers(*ends, shares, sizes, numbers.is_quoted)
        return Zipf(*ends, skew.exponent, first, distinct, numbers.is_quoted)
    if _distance(draws, (numbers.above_lowest + 1) / numbers.span) > _tolerance(draws):
        return _range_of_pieces(numbers, _piece_starts(numbers), None if skew.exponent else distinct)
    return Range(ends, numbers.decimals, distinct, numbers.is_quoted)


def _first(numbers: Numbers, exponent: float) -> Literal["low", "high", "scattered"] | None:
    """Return which number has the first rank; None where the frequent numbers lie together in between."""
    draws, span = numbers.draws, numbers.above_lowest[-1] + 1
    ranks = numbers.above_lowest + 1
    tolerance = _tolerance(draws)
    if _distance(draws, _zipf_shares(ranks, span, exponent)) <= tolerance:
        return "low"
    if _distance(draws[::-1], _zipf_shares(span + 1 - ranks[::-1], span, exponent)) <= tolerance:
        return "high"
    # A single frequent number moves many draws, wherever its place is; only the numbers beside it show a cluster.
    usual = np.minimum(draws, np.quantile(draws, MOSTLY))
    tolerance = max(EVEN, 2 / sqrt(len(ranks)))
    return "scattered" if _distance(usual, ranks / span) <= tolerance else None


def _zipf_shares(ranks: Vector, span: float, exponent: float) -> Vector:
    """Return the shares of all ranks up to each rank: the sum as an integral, whose first ranks are summed."""
    heads = np.cumsum(np.arange(1, min(span, 50) + 1) ** -exponent)
    first, power = len(heads), 1 - exponent

    def sums(last: Vector) -> Any:
        tails = (
            ((last + 0.5) ** power - (first + 0.5) ** power) / power
            if abs(power) > 1e-6
            else np.log((last + 0.5) / (first + 0.5))
        )
        return np.where(last <= first, heads[np.minimum(last, first).astype(int) - 1], heads[-1] + tails)

    shares: Vector = sums(ranks) / float(sums(np.array([span]))[0])
    return shares


def _distance(draws: Vector, shares: Vector) -> float:
    """Return Kolmogorov's distance. draws: of ascending values. shares: of all draws up to each value, by a model."""
    return float(np.abs(np.cumsum(draws) / draws.sum() - shares).max())


def _tolerance(draws: Vector) -> float:
    """Return the distance up to which a model is good enough: EVEN, or more where chance explains more."""
    return max(EVEN, 2 / sqrt(float(draws.sum())))


def even_pieces(numbers: Numbers) -> Range | None:
    """Return a range whose pieces explain how often each number was seen; None where numbers stand out."""
    starts = _piece_starts(numbers)
    has_pieces = len(starts) > 2 and _are_pieces(numbers, starts)
    return _range_of_pieces(numbers, starts, None) if has_pieces else None


def _piece_starts(numbers: Numbers) -> Vector:
    """Return the lowest numbers of pieces of a range, and the number above the last, where each piece is even inside.

    They are above the lowest number. The piece that gains most likelihood is divided, again and again.
    """
    values, sums = numbers.above_lowest, np.append(0.0, np.cumsum(numbers.draws))
    least = LEAST_GAIN_OF_PIECE * log(max(sums[-1], 2))
    starts = [0.0, values[-1] + 1]
    divisions = [_division(values, sums, *starts)]
    while len(starts) <= MOST_PIECES and (best := max(divisions)) > (least, 0.0):
        piece = divisions.index(best)
        starts.insert(piece + 1, best[1])
        divisions[piece : piece + 1] = (_division(values, sums, *starts[at : at + 2]) for at in (piece, piece + 1))
    return np.array(starts)


def _division(values: Vector, sums: Vector, low: float, high: float) -> tuple[float, float]:
    """Return the gain in log-likelihood of the best division of a piece, and where its upper part starts."""
    first, last = np.searchsorted(values, [low, high])
    inside = values[first:last]
    if len(inside) < 2 * LEAST_OF_PIECE:
        return 0.0, low
    upper = np.arange(LEAST_OF_PIECE, len(inside) - LEAST_OF_PIECE + 1)
    places = np.concatenate([inside[upper - 1] + 1, inside[upper]])
    below = np.tile(sums[first + upper], 2) - sums[first]
    total = sums[last] - sums[first]
    above = total - below
    gains = below * np.log(below / (places - low)) + above * np.log(above / (high - places))
    best = int(np.argmax(gains))
    return float(gains[best] - total * np.log(total / (high - low))), float(places[best])


def _draws_inside(numbers: Numbers, starts: Vector) -> Vector:
    return np.add.reduceat(numbers.draws, np.searchsorted(numbers.above_lowest, starts[:-1]))


def _are_pieces(numbers: Numbers, starts: Vector) -> bool:
    """Return whether numbers repeat no more often than if each piece of the range were even inside."""
    draws, inside = numbers.draws, _draws_inside(numbers, starts)
    expected = float((inside * (inside - 1) / np.diff(starts)).sum())
    return float((draws * (draws - 1)).sum()) <= MOST_REPEATED * expected + 6 * sqrt(expected)


def _range_of_pieces(numbers: Numbers, starts: Vector, distinct: int | None) -> Range:
    """Return the range of pieces, whose ends are rounded to two digits of the narrower piece beside them.

    starts: above the lowest number. Of a number that is not harmless, the last digit is never kept.
    """
    inside = _draws_inside(numbers, starts)
    (low, high), lowest = numbers.ends, numbers.seen[0][0]
    widths = np.diff(starts)
    ends = [low]
    for start, narrow in zip(starts[1:-1], np.minimum(widths[:-1], widths[1:]), strict=True):
        unit = 10 ** max(_least_power(low, high), floor(log10(max(narrow, 1.0))) - 1)
        ends.append(min(max((lowest + int(start) + unit // 2) // unit * unit, ends[-1]), high))
    shares = tuple(float(f"{share:.2g}") for share in inside / inside.sum())
    return Range((*ends, high), numbers.decimals, distinct, numbers.is_quoted, shares)


def rounded_ends(low: int, high: int, different: int) -> tuple[int, int]:
    """Return the ends of a range, rounded outward so that they are no literals.

    different: how many different values were seen. With few of them, two digits remain; with more, two digits of the
    range's width, and never all digits of a long number. A positive low end stays positive.
    """
    widest = max(abs(low), abs(high), 1) if different < FEW else max(high - low, 1)
    unit = 10 ** max(_least_power(low, high), floor(log10(widest)) - 1)
    bottom, top = low // unit * unit, -(-high // unit) * unit
    return _bounded(min(1, low) if bottom <= 0 <= low else bottom), _bounded(top)


def _least_power(low: int, high: int) -> int:
    """Return the digits that are rounded away at least: 1 of numbers that are not harmless."""
    return int(len(str(max(abs(low), abs(high)))) > LONGEST_HARMLESS)


def _bounded(number: int) -> int:
    return min(max(number, SMALLEST), LARGEST)


def two_digits(number: float) -> int:
    """Return a number with two significant digits."""
    unit = int(10 ** max(0, floor(log10(max(abs(number), 1))) - 1))
    return round(number / unit) * unit


def spread_texts(seen: Seen, skew: Skew) -> Text:
    """Return texts, or bytes: their lengths, their alphabet, how many there are, and a LIKE pattern's wildcards."""
    values = list(seen.values.values())
    texts = [value.text for value in values]
    begins: Literal["", "%"] = "%" if all(text.startswith("%") and len(text) > 1 for text in texts) else ""
    ends: Literal["", "%"] = "%" if all(text.endswith("%") and len(text) > 1 for text in texts) else ""
    lengths = [max(0, value.length - len(begins) - len(ends)) for value in values]
    bare = [text[len(begins) : len(text) - len(ends)] for text in texts]
    alphabet = "bytes" if values[0].kind == "bytes" else alphabet_of(bare)
    return Text(min(lengths), max(lengths), alphabet, two_digits(skew.values), skew.exponent, begins, ends)


def spread_moments(seen: Seen) -> Time:
    """Return moments by their ages. Where starts are unknown, the newest moment is now."""
    values = [seen.values[literal] for literal in seen.literals]
    newest = max(value.number for value in values)
    starts = (newest if isnan(started) else started for started in seen.started)
    ages = np.array([started - value.number for value, started in zip(values, starts, strict=True)])
    forms = {value.form for value in values}
    form: Literal["date", "datetime", "iso"] = "date" if forms == {""} else "iso" if "T" in forms else "datetime"
    midnight = form != "date" and all(value.number % 86_400 == 0 and not value.decimals for value in values)
    return Time(_age_ends(ages), form, max(value.decimals for value in values), midnight)


def list_width(lists: Sequence[Sequence[Kept]], seen: Seen) -> int | None:
    """Return the largest distance within a list, with two digits; None where lists are wider than NEAR of the range."""
    values = [[seen.values[literal] for literal in literals if literal in seen.values] for literals in lists]
    if any(value.kind != "number" or value.decimals for value in seen.values.values()):
        return None
    widths = [max(numbers) - min(numbers) for each in values if len(numbers := [value.number for value in each]) > 1]
    if not widths or not 0 < max(widths) <= NEAR * seen.numbers.span:
        return None
    return max(1, two_digits(max(widths)))


def unix_times(seen: Seen) -> Time | None:
    """Return numbers as moments in seconds or milliseconds since the epoch, where all are within years of the log."""
    if seen.numbers.decimals or len(seen.values) < 2 or np.isnan(seen.started).any():
        return None
    numbers = np.array([seen.values[literal].number for literal in seen.literals], dtype=float)
    forms: Mapping[Literal["unix", "unix_ms"], float] = {"unix": 1, "unix_ms": 1000}
    for form, unit in forms.items():
        ages = seen.started - numbers / unit
        if np.abs(ages).max() < TEN_YEARS:
            return Time(_age_ends(ages), form)
    return None


def _age_ends(ages: Vector) -> tuple[int, ...]:
    """Return ends of ranges of ages that hold equal shares of them, in seconds, of two digits."""
    ages = np.clip(np.sort(ages), LEAST_AGE, MOST_AGE)
    ends = rounded_ends(floor(ages[0]), -floor(-ages[-1]), 0)
    even = (ages - ages[0]) / max(np.ptp(ages), 1)
    is_narrow = ends[1] - ends[0] <= NARROW * min(map(abs, ends))
    if is_narrow or len(ages) < QUANTILES or np.abs(np.arange(1, len(ages) + 1) / len(ages) - even).max() < EVEN_AGES:
        return ends
    inner = np.quantile(ages, np.linspace(0, 1, QUANTILES + 1)[1:-1])
    return (ends[0], *(min(max(two_digits(value), ends[0]), ends[1]) for value in inner), ends[1])
