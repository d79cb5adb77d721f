"""Parameters that repeat a value of the same transaction: an earlier literal, with a distance, or an inserted id."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.columns import is_insert
from poolsize.capture.literals import Kept, Value, value_of
from poolsize.capture.spread import counts_up
from poolsize.capture.workload import Reference

LEAST_TRANSACTIONS = 20
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


@dataclass(frozen=True)
class Position:
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
    def of(cls, statement: int, parameter: int, literals: Sequence[Sequence[Kept]]) -> "Position":
        """Return a position. literals: of all executions in each transaction."""
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


def references_of(texts: Sequence[str], positions: Sequence[Position]) -> dict[tuple[int, int], Reference]:
    """Return the references among the parameters of a kind of transaction, by statement and parameter.

    texts: of the statements. positions: in the order of the transaction.
    """
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


def _equal(position: Position, earlier: Sequence[Position]) -> Reference | None:
    """Return a reference to the first earlier parameter that has the same value in nearly all transactions."""
    for other in earlier if position.varies else ():
        is_equal = position.codes == other.codes
        if other.statement != position.statement:
            is_equal = is_equal & (position.is_same > 0)
        if is_equal.mean() >= EQUAL:
            return Reference("parameter", other.statement, other.parameter)
    return None


def _near(position: Position, earlier: Sequence[Position]) -> Reference | None:
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


def _inserted(position: Position, earlier: Sequence[Position], texts: Sequence[str]) -> Reference | None:
    """Return a reference to the id that the nearest earlier INSERT generated, for a number that grows with time."""
    if not position.grows or not position.is_same.all():
        return None
    with_own_id = {other.statement for other in earlier if other.grows}
    inserts = {place for place, text in enumerate(texts[: position.statement]) if is_insert(text)}
    return Reference("inserted", max(inserts - with_own_id)) if inserts - with_own_id else None
