"""How a captured workload draws its values: skewed numbers, texts, moments, and values that its copy of the data has.

It also deletes the rows that it inserted. A generated locustfile imports these names; a locustfile of yours may, too.
"""

import os
import random
import re
import string
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate, count, islice
from math import exp, expm1, log, log1p
from threading import Lock
from typing import Any
from uuid import uuid4

from poolsize.facts.server import quoted

MOST_ROWS = 200_000
"""Rows of a table that a search for its values reads."""
MOST_VALUES = 10_000
"""Values of a column that a process keeps."""
SCATTERING = 0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35
"""Odd numbers whose products mix the bits of a rank."""
SLOTS = 1_000
"""Processes that can count up without a common value; the ids of workers on a machine follow each other."""
ALPHABETS: Mapping[str, str] = {
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "letters": string.ascii_lowercase,
    "alphanumeric": string.ascii_lowercase + string.digits,
    "ascii": string.ascii_letters + string.digits + " .,-",
    "unicode": string.ascii_letters + " äéßøλж",
}
INSERTED_ROW = re.compile(r"\bVALUES? ?(\((?:[^()]|\([^()]*\))*\))", re.IGNORECASE)
Draw = Callable[[], Any]


def between(*ends: int, distinct: int | None = None) -> int:
    """Return a number between two neighbours among `ends`: all pairs of neighbours are equally likely.

    distinct: the number of different values; None where all numbers occur.
    """
    return pieces(ends, (1.0,) * (len(ends) - 1), distinct=distinct)


def pieces(ends: tuple[int, ...], shares: tuple[float, ...], *, distinct: int | None = None) -> int:
    """Return a number between two neighbours among `ends`. shares: of the draws, for each pair of neighbours."""
    place = random.random() if distinct is None else (random.randrange(distinct) + 0.5) / distinct
    sums = _sums(shares)
    pair = min(bisect(sums, place), len(sums) - 1) - 1
    low, high = ends[pair : pair + 2]
    part = (place - sums[pair]) / (sums[pair + 1] - sums[pair])
    return low + min(int(part * (high - low + 1)), high - low)


@cache
def _sums(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Return the sums of the shares before each share and after the last, which are 0 to 1."""
    return tuple(part / sum(shares) for part in accumulate(shares, initial=0.0))


def tiers(low: int, high: int, shares: tuple[float, ...], sizes: tuple[int, ...]) -> int:
    """Return a number of a group. shares: of the draws. sizes: of the groups, which are scattered over low to high."""
    group = min(bisect(_sums(shares), random.random()), len(sizes)) - 1
    rank = sum(sizes[:group]) + random.randrange(sizes[group])
    return low + scattered(rank, high - low + 1)


def scattered(rank: int, values: int) -> int:
    """Return the place of a rank, both from 0 to values - 1, in a fixed permutation that looks random.

    It is a Feistel network over a power of 4, applied again while the place is beyond the values. Source: Black and
    Rogaway, Ciphers with Arbitrary Finite Domains, 2002.
    """
    half = ((values - 1).bit_length() + 1) // 2
    while True:
        left, right = divmod(rank, 1 << half)
        for factor in SCATTERING:
            left, right = right, left ^ (right + 1) * factor >> 16 & (1 << half) - 1
        rank = left << half | right
        if rank < values:
            return rank


def zipf(low: int, high: int, exponent: float, first: str = "low", *, distinct: int | None = None) -> int:
    """Return a number from low to high; that of rank r has a probability in proportion to r**-exponent.

    first: the number of rank 1, "low" or "high"; "scattered" spreads the ranks over the range. distinct: the number of
    ranks; None where each number has a rank.
    Source: Hörmann and Derflinger, Rejection-inversion to generate variates from monotone discrete distributions, 1996.
    """
    ranks = distinct or high - low + 1
    start, end, squeeze = _zipf_bounds(ranks, exponent)
    while True:
        area = end + random.random() * (start - end)
        x = _inverse_integral(area, exponent)
        rank = min(max(int(x + 0.5), 1), ranks)
        if rank - x <= squeeze or area >= _integral(rank + 0.5, exponent) - exp(-exponent * log(rank)):
            break
    place = scattered(rank - 1, ranks) if first == "scattered" else rank - 1
    offset = place * (high - low + 1) // ranks
    return high - offset if first == "high" else low + offset


@cache
def _zipf_bounds(values: int, exponent: float) -> tuple[float, float, float]:
    """Return the areas below the first and the last rank, and the distance within which a rank is always taken."""
    squeeze = 2 - _inverse_integral(_integral(2.5, exponent) - exp(-exponent * log(2)), exponent)
    return _integral(1.5, exponent) - 1, _integral(values + 0.5, exponent), squeeze


def _integral(x: float, exponent: float) -> float:
    """Return the integral of t**-exponent from 1 to x."""
    power = (1 - exponent) * log(x)
    return log(x) if abs(power) < 1e-9 else expm1(power) / (1 - exponent)


def _inverse_integral(area: float, exponent: float) -> float:
    scaled = area * (1 - exponent)
    return exp(area) if abs(scaled) < 1e-9 else exp(log1p(max(scaled, -1 + 1e-15)) / (1 - exponent))


def about(low: int, high: int, mean: float) -> int:
    """Return a number from low to high; all draws together have this mean."""
    if mean <= low:
        return low
    if mean >= high:
        return high
    # The mean of u**power, for u from 0 to 1, is 1 / (power + 1). Rounding up or down by chance keeps the mean.
    power = (high - low) / (mean - low) - 1
    return int(low + (high - low) * random.random() ** power + random.random())


def several(draw: Draw, low: int, high: int, mean: float, *, within: int | None = None) -> tuple[Any, ...]:
    """Return a list of values for IN: as many as `about` draws.

    within: the largest distance between two numbers, which then are near a single draw.
    """
    length = max(1, about(low, high, mean))
    if within is None:
        return tuple(draw() for _ in range(length))
    first = draw()
    below = random.randint(0, within)
    others = (int(first) - below + random.randint(0, within) for _ in range(length - 1))
    return (first, *map(type(first), others))


def text(shortest: int, longest: int, alphabet: str) -> str | bytes:
    """Return random characters. alphabet: a key of ALPHABETS, "uuid", "email" or "bytes"."""
    length = random.randint(shortest, longest)
    if alphabet == "uuid":
        return str(uuid4())
    if alphabet == "bytes":
        return random.randbytes(length)
    if alphabet == "email":
        return "".join(random.choices(ALPHABETS["letters"], k=max(1, length - 12))) + "@example.com"
    return "".join(random.choices(ALPHABETS[alphabet], k=length))


def pattern(value: Any, shortest: int, longest: int, *, begins: bool = False, ends: bool = False) -> str:
    """Return the first characters of a value, with % before or behind it, for LIKE."""
    part = str(value)[: random.randint(shortest, longest)]
    return f"{'%' if begins else ''}{part}{'%' if ends else ''}"


def ago(*ages: int, form: str = "datetime", decimals: int = 0, midnight: bool = False) -> Any:
    """Return a moment before now, in UTC. ages: in seconds, as the ends of `between`.

    form: "date" and "datetime" give values that a cursor writes; "iso" a text; "unix" and "unix_ms" a number.
    """
    moment = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=between(*ages) + random.random())
    if midnight:
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    unit = 10 ** (6 - decimals)
    moment = moment.replace(microsecond=moment.microsecond // unit * unit)
    match form:
        case "date":
            return moment.date()
        case "datetime":
            return moment
        case "iso":
            return moment.isoformat()
    seconds = moment.replace(tzinfo=UTC).timestamp()
    return int(seconds * 1000 if form == "unix_ms" else seconds)


def later(value: Any, low: int, high: int) -> Any:
    """Return a drawn value and a whole number from low to high; seconds are added to a moment."""
    more = random.randint(low, high)
    if isinstance(value, str):
        return type(value)(int(value) + more) if value.lstrip("-").isdigit() else value
    return value + more if isinstance(value, int | float) else value + timedelta(seconds=more)


def insert(cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Execute an INSERT of several rows. statement: with the values of a row, and %s where a row has its own."""
    before, row, after = _parts_of_insert(statement)
    text = before + ", ".join([row] * len(rows)) + after
    cursor.execute(text, tuple(value for values in rows for value in values))


@cache
def _parts_of_insert(statement: str) -> tuple[str, str, str]:
    """Return an INSERT's text up to VALUES, the row in its parentheses, and the text behind the row."""
    row = INSERTED_ROW.search(statement)
    assert row is not None, statement
    return statement[: row.start(1)], row[1], statement[row.end(1) :]


class _OfCopy:
    """A column of the copy. A process reads the column once, on the connection of the first user that needs a value."""

    def __init__(self, table: str, column: str) -> None:
        """table: "" where the log does not show the table."""
        self._table, self._column = _quoted_table(table), quoted(column)
        self._lock = Lock()
        self._known: Any = None

    def _read_once(self, cursor: Any) -> Any:
        with self._lock:
            if self._known is None:
                self._known = self._read(cursor)
        return self._known

    def _read(self, cursor: Any) -> Any:
        """Return the values of the column in the first rows of the table, the most frequent first."""
        if not self._table:
            return []
        cursor.execute(
            f"SELECT value FROM (SELECT {self._column} AS value FROM {self._table} LIMIT {MOST_ROWS}) AS part "
            f"WHERE value IS NOT NULL GROUP BY value ORDER BY COUNT(*) DESC, value LIMIT {MOST_VALUES}"
        )
        return [value for (value,) in cursor.fetchall()]


class Frequent(_OfCopy):
    """Draws frequent values with their shares of the log, and a tail for the other draws.

    The log's values are not known here. The most frequent value of the copy's column replaces the log's most frequent
    value, the second replaces the second, and so on. Beyond the column's values, a draw of the tail replaces it.
    """

    def __init__(
        self, table: str, column: str, shares: Sequence[float], tail: Draw, known: Mapping[Any, float] | None = None
    ) -> None:
        """shares: of all draws, in descending order. known: values that are not looked up -> their shares."""
        super().__init__(table, column)
        self._shares, self._tail, self._own = shares, tail, tuple(known or {})
        self._ends = list(accumulate((*(known or {}).values(), *shares)))

    def draw(self, cursor: Any) -> Any:
        """Return a value. The first call reads the copy."""
        values = self._known or self._read_once(cursor)
        place = bisect(self._ends, random.random())
        return values[place] if place < len(values) else self._tail()

    def _read(self, cursor: Any) -> Any:
        others = (value for value in super()._read(cursor) if value not in self._own) if self._shares else ()
        values = list(islice(others, len(self._shares)))
        return [*self._own, *values, *(self._tail() for _ in self._shares[len(values) :])]


class Existing(_OfCopy):
    """Draws values of a column of the copy, so that a search finds rows; random texts where the column is empty."""

    def __init__(
        self,
        table: str,
        column: str,
        otherwise: Draw,
        *,
        distinct: int = MOST_VALUES,
        exponent: float = 0.0,
        unless_unique: bool = False,
    ) -> None:
        """distinct: number of values in the log. exponent: of their Zipf distribution; 0 if all are equally likely.

        unless_unique: random texts where a unique index has the column, which would not take a value twice.
        """
        super().__init__(table, column)
        self._otherwise, self._distinct, self._exponent = otherwise, distinct, exponent
        self._unique_of = (table, column) if unless_unique else None

    def draw(self, cursor: Any) -> Any:
        """Return a value. The first call reads the copy."""
        values = self._known or self._read_once(cursor)
        if not values:
            return self._otherwise()
        return values[zipf(1, len(values), self._exponent) - 1] if self._exponent else random.choice(values)

    def _read(self, cursor: Any) -> Any:
        if self._unique_of and _is_unique(cursor, *self._unique_of):
            return []
        values = super()._read(cursor)
        random.shuffle(values)
        return values[: self._distinct]


class Next(_OfCopy):
    """Counts up from above all values of a column of the copy. Each process has values of its own."""

    def __init__(self, table: str, column: str, above: int) -> None:
        """above: the highest value of the log, which counts where the table is not known."""
        super().__init__(table, column)
        self._above = above

    def draw(self, cursor: Any) -> int:
        """Return the next value. The first call reads the copy."""
        value: int = next(self._known or self._read_once(cursor))
        return value

    def _read(self, cursor: Any) -> "count[int]":
        highest = (_highest_of(cursor, self._table, self._column) or 0) if self._table else self._above
        return count(int(highest) + 1 + os.getpid() % SLOTS, SLOTS)


_highest: dict[str, Any] = {}
"""Table -> the highest number of its column when the sweep began; None for an empty table."""


def delete_inserted(cursor: Any, columns: Mapping[str, str]) -> None:
    """Delete the rows that were inserted since the first call, of the last table first; for `before_step`.

    columns: table -> the column whose values grow with each row; "" for the table's auto-increment column. The rows of
    a table without such a column stay.
    """
    for table, column in reversed(list(columns.items())):
        if not (column := column or _auto_increment(cursor, table)):
            continue
        if table in _highest:
            condition = f"{quoted(column)} > %s OR %s IS NULL"
            cursor.execute(f"DELETE FROM {_quoted_table(table)} WHERE {condition}", (_highest[table],) * 2)
        else:
            _highest[table] = _highest_of(cursor, _quoted_table(table), quoted(column))


def _highest_of(cursor: Any, table: str, column: str) -> Any:
    cursor.execute(f"SELECT MAX({column}) FROM {table}")
    (highest,) = cursor.fetchone() or (None,)
    return highest


def _auto_increment(cursor: Any, table: str) -> str:
    """Return the auto-increment column of a table, or ""."""
    schema, _, name = table.rpartition(".")
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = COALESCE(%s, DATABASE()) "
        "AND table_name = %s AND extra LIKE '%%auto_increment%%'",
        (schema or None, name),
    )
    row = cursor.fetchone()
    return str(row[0]) if row else ""


def _is_unique(cursor: Any, table: str, column: str) -> bool:
    """Return whether a unique index has the column, alone or beside others."""
    text = f"SHOW INDEX FROM {_quoted_table(table)} WHERE Column_name = %s AND Non_unique = 0"
    return bool(cursor.execute(text, (column,)))


def _quoted_table(table: str) -> str:
    return ".".join(map(quoted, table.split("."))) if table else ""
