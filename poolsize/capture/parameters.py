"""The literals of a kind's parameters -> their draws: constants, ranges, skewed values, texts, moments, references.

A reference repeats a value of the same transaction: an earlier literal, with a distance, or an inserted id.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import nan

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.columns import Place, is_insert, places_of
from poolsize.capture.kinds import LEAST_TRANSACTIONS, Sample
from poolsize.capture.literals import UNSEEN, Kept, Kind, LongText, Value, value_of
from poolsize.capture.skew import Skew
from poolsize.capture.spread import (
    DENSE,
    Seen,
    counts_up,
    even_pieces,
    list_width,
    spread_moments,
    spread_numbers,
    spread_texts,
    unix_times,
)
from poolsize.capture.workload import (
    MOST_HEAVY,
    Constant,
    Drawn,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Reference,
    Several,
    Tail,
    Text,
)
from poolsize.capture.workload import Sequence as Growing

LEAST_SHARE, LEAST_COUNT = 0.01, 20
"""Of a frequent value."""
SURPLUS = 1.5
"""A value is frequent by itself if it has so many times the draws of the fitted distribution."""
SEEN_OFTEN = 10
"""Draws for each of a few values, from which on all of them are frequent."""
LEAST_GROWING = 20
MOST_LISTED = 300_000
"""Literals of all lists of a parameter that are used."""
EQUAL = 0.98
"""Share of the transactions in which a literal equals an earlier literal, for a reference."""
MOST_BY_CHANCE = 0.5
"""Share of pairs of transactions with the same literal, from which on equality shows nothing."""
NARROW = 0.1
"""Spread of the distance to an earlier literal of the statement, over the literals' own spread, for a reference."""
LARGEST_EXACT = 2**53
"""Larger whole numbers are not exact as floats."""
MOST_COMPARED = 100
"""Parameters of a transaction that are compared with each other."""
MOST_FOR_REFERENCES = 4_000
"""Transactions of a kind that references are searched in."""


def parameters_of(samples: Sequence[Sample], texts: Sequence[str], *, keeps_values: bool) -> list[list[Parameter]]:
    """Return how the parameters of each statement of a kind are drawn, without their columns.

    samples: by time. texts: of the statements. keeps_values: literals may be shown.
    """
    places = [places_of(text) for text in texts]
    some = samples[:: len(samples) // MOST_FOR_REFERENCES + 1]
    references = (
        _references(texts, list(islice(_positions(some, places), MOST_COMPARED)))
        if len(some) >= LEAST_TRANSACTIONS
        else {}
    )
    return [
        [
            references.get((index, parameter)) or parameter_of(
                [(sample.started, row[parameter]) for sample in samples for row in sample.literals[index]],
                is_limit=place.is_limit, in_insert=is_insert(text), keeps_values=keeps_values,
            )
            for parameter, place in enumerate(places[index])
        ]
        for index, text in enumerate(texts)
    ]  # fmt: skip


def parameter_of(
    occurrences: Sequence[tuple[float, Kept | tuple[Kept, ...]]], *, is_limit: bool, in_insert: bool, keeps_values: bool
) -> Parameter:
    """Return how a parameter is drawn, which may be a list.

    occurrences: when statements started (nan where unknown), and the parameter's literal or list, by time. is_limit: of
    rows. in_insert: the statements add rows. keeps_values: literals may be shown. The column is not set.
    """
    lists = [literal for _, literal in occurrences if isinstance(literal, tuple)]
    flat = [
        (started, item)
        for started, literal in occurrences
        for item in (literal if isinstance(literal, tuple) else (literal,))
    ][:MOST_LISTED]
    literals = Seen.of([(started, literal) for started, literal in flat if literal is not UNSEEN])
    item = (
        _item(literals, is_limit=is_limit, in_insert=in_insert, keeps_values=keeps_values) if literals.values
        else Constant("10") if is_limit
        else Text(1, 6, "digits", 0)  # from the column's values on the copy
    )  # fmt: skip
    if not lists:
        return item
    lengths = [len(each) for each in lists]
    mean = float(f"{sum(lengths) / len(lengths):.6g}")
    return Several(item, min(lengths), max(lengths), mean, list_width(lists, literals))


def _item(seen: Seen, *, is_limit: bool, in_insert: bool, keeps_values: bool) -> Drawn:
    def shown(literal: Kept) -> str | None:
        """Return a literal as SQL, None for a value that must not be shown."""
        value = seen.values[literal]
        can_show = keeps_values or value.is_harmless(is_limit=is_limit)
        return as_sql(value, literal) if can_show and not isinstance(literal, LongText) else None

    if len(seen.values) == 1 and (constant := shown(seen.literals[0])) is not None:
        return Constant(constant)
    kind = _main_kind(seen)
    is_long = in_insert and len(seen.literals) >= LEAST_GROWING
    if is_long and counts_up([seen.values[literal] for literal in seen.literals]):
        return Growing(seen.numbers.ends[1], seen.numbers.is_quoted)
    frequent, tail = _split(seen, kind)
    if not frequent:
        return tail
    first = sorted(frequent, key=lambda literal: -seen.counts[literal])[:MOST_HEAVY]
    values = (HeavyValue(round(seen.counts[literal] / len(seen.literals), 4), shown(literal)) for literal in first)
    return Heavy(tuple(values), tail)


def as_sql(value: Value, literal: Kept) -> str:
    """Return a literal as SQL. value: of the literal."""
    if isinstance(literal, str):
        text = literal.encode(errors="replace").decode()
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"x'{value.text}'" if value.kind == "bytes" else value.text


def _main_kind(seen: Seen) -> Kind:
    """Return the most frequent kind of the literals; "keyword" only where all are keywords."""
    weights: Counter[Kind] = Counter()
    for literal, count in seen.counts.items():
        weights[seen.values[literal].kind] += count
    del weights["keyword"]
    return weights.most_common(1)[0][0] if weights else "keyword"


def _split(seen: Seen, kind: Kind) -> tuple[Collection[Kept], Tail]:
    """Return the frequent literals, and the tail of the others. kind: of most of the literals."""
    if kind == "keyword":
        return list(seen.values), Range((0, 1))
    main = seen.only(lambda literal: seen.values[literal].kind == kind)
    others = [literal for literal in seen.values if literal not in main.values and _is_frequent(literal, seen)]
    if kind == "moment":
        return others, spread_moments(main)
    if kind == "number" and (age := unix_times(main)):
        return others, age
    if kind == "number" and len(main.values) > MOST_HEAVY and (pieces := even_pieces(main.numbers)):
        return others, pieces
    skew = main.skew(kind)
    frequent = _standing_out(main, kind, skew)
    if 0 < len(frequent) < len(main.values):
        main = main.only(lambda literal: literal not in frequent)
        skew = main.skew(kind)
    return [*others, *frequent], spread_numbers(main.numbers, skew) if kind == "number" else spread_texts(main, skew)


def _is_frequent(literal: Kept, seen: Seen) -> bool:
    """Return whether a literal is frequent enough for the list of frequent values."""
    if seen.values[literal].kind == "keyword":
        return True
    is_frequent = seen.counts[literal] >= max(LEAST_COUNT, LEAST_SHARE * len(seen.literals))
    return is_frequent and not isinstance(literal, LongText)


def _standing_out(main: Seen, kind: Kind, skew: Skew) -> set[Kept]:
    """Return the literals that are far more frequent than in the fitted distribution, or all of a few literals."""
    candidates = [literal for literal in main.values if _is_frequent(literal, main)]
    different, draws = len(main.values), len(main.literals)
    is_even = kind == "number" and different > 2 and not skew.exponent and main.numbers.span < DENSE * different
    if different <= MOST_HEAVY and draws >= SEEN_OFTEN * different and not is_even:
        return set(candidates)
    candidates.sort(key=lambda literal: -main.counts[literal])
    seen = np.array([main.counts[literal] for literal in candidates]) / draws
    expected = skew.share(np.arange(1.0, len(candidates) + 1))
    noise = 3 * (expected / draws) ** 0.5
    return {literal for literal, out in zip(candidates, seen > SURPLUS * expected + noise, strict=True) if out}


@dataclass(frozen=True)
class _Position:
    """A parameter of a transaction that is a single value, with its literals, as numbers and as codes.

    statement, parameter: indices. numbers: of all executions, nan for other literals. codes: of the last execution in
    each transaction, equal for equal values. is_same: in each transaction, whether all executions have the same
    literal. varies: whether equality is no chance. grows: whether the numbers are different ids in the order of time.
    """

    statement: int
    parameter: int
    numbers: Vector
    codes: Vector
    is_same: Vector
    varies: bool
    grows: bool

    @classmethod
    def of(cls, statement: int, parameter: int, literals: Sequence[Sequence[Kept]]) -> "_Position":
        """literals: of all executions in each transaction."""
        values = [[value_of(literal) for literal in executions] for executions in literals]
        last = [executions[-1] for executions in values]
        codes = np.array([hash(value.text) for value in last], dtype=float)
        shares = np.unique(codes, return_counts=True)[1] / len(codes)
        return cls(
            statement,
            parameter,
            _numbers([value for executions in values for value in executions]),
            codes,
            np.array([float(len({value.text for value in executions}) == 1) for executions in values]),
            float(shares @ shares) <= MOST_BY_CHANCE,
            counts_up(last),
        )


def _positions(samples: Sequence[Sample], places: Sequence[Sequence[Place]]) -> Iterator[_Position]:
    """Yield the parameters of a kind that are single values, in the order of the transaction."""
    for index, parameters in enumerate(places):
        for parameter in range(len(parameters)):
            literals = [[row[parameter] for row in sample.literals[index]] for sample in samples]
            singles = [[each for each in rows if not isinstance(each, tuple)] for rows in literals]
            if all(singles):
                yield _Position.of(index, parameter, singles)


def _references(texts: Sequence[str], positions: Sequence[_Position]) -> dict[tuple[int, int], Reference]:
    """Return the references among the positions of a kind, by statement and parameter. texts: of the statements."""
    references: dict[tuple[int, int], Reference] = {}
    for place, position in enumerate(positions):
        earlier = positions[:place]
        reference = _equal(position, earlier) or _near(position, earlier) or _inserted(position, earlier, texts)
        if reference:
            references[position.statement, position.parameter] = reference
    return references


def _numbers(values: Sequence[Value]) -> Vector:
    numbers = [
        value.number if value.kind == "moment" else value.number / 10**value.decimals if value.kind == "number" else nan
        for value in values
    ]
    return np.array(numbers, dtype=float)


def _equal(position: _Position, earlier: Sequence[_Position]) -> Reference | None:
    """Return a reference to the first earlier parameter that has the same value in nearly all transactions."""
    for other in earlier if position.varies else ():
        is_equal = position.codes == other.codes
        if other.statement != position.statement:
            is_equal = is_equal & (position.is_same > 0)
        if is_equal.mean() >= EQUAL:
            return Reference("parameter", other.statement, other.parameter)
    return None


def _near(position: _Position, earlier: Sequence[_Position]) -> Reference | None:
    """Return a reference to a parameter of the same statement at a distance that varies little, as in BETWEEN."""
    spread = np.ptp(position.numbers)
    if not spread > 0:  # nan, too
        return None
    for other in earlier:
        if other.statement == position.statement and len(other.numbers) == len(position.numbers):
            distance = position.numbers - other.numbers
            is_whole = np.all(distance == np.round(distance)) and np.abs(distance).max() < LARGEST_EXACT
            if is_whole and np.ptp(distance) <= NARROW * spread:
                ends = int(distance.min()), int(distance.max())
                return Reference("parameter", other.statement, other.parameter, *ends)
    return None


def _inserted(position: _Position, earlier: Sequence[_Position], texts: Sequence[str]) -> Reference | None:
    """Return a reference to the id that the nearest earlier INSERT generated, for a number that grows with time."""
    if not position.grows or not position.is_same.all():
        return None
    with_own_id = {other.statement for other in earlier if other.grows}
    inserts = {place for place, text in enumerate(texts[: position.statement]) if is_insert(text)}
    return Reference("inserted", max(inserts - with_own_id)) if inserts - with_own_id else None
