"""Parameters that repeat a value of the same transaction: an earlier literal, with a distance, or an inserted id."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.capture.columns import is_insert
from poolsize.capture.literals import Kept, Value, value_of
from poolsize.capture.workload import Reference

LEAST_TRANSACTIONS = 20
EQUAL = 0.98
"""Share of the transactions in which a literal equals an earlier literal, for a reference."""
MOST_BY_CHANCE = 0.5
"""Share of pairs of transactions with the same literal, from which on equality shows nothing."""
NARROW = 0.1
"""Spread of the distance to an earlier literal of the statement, over the literals' own spread, for a reference."""
GROWS = 0.95
"""Rank correlation with time of an id that a server generates."""
LARGEST_EXACT = 2**53
"""Larger whole numbers are not exact as floats."""
MOST_COMPARED = 300
"""Parameters of a transaction that are compared with each other."""


@dataclass(frozen=True)
class Position:
    """A parameter of a transaction: indices of the statement and of the parameter, and the literals of it.

    last: the literal of the last execution in each transaction. executions: of all executions; the same object where
    no statement repeats. is_same: in each
    transaction, whether all executions have the same literal.
    """

    statement: int
    parameter: int
    last: Sequence[Kept]
    executions: Sequence[Kept]
    is_same: Vector


def references_of(texts: Sequence[str], positions: Sequence[Position]) -> dict[tuple[int, int], Reference]:
    """Return the references among the parameters of a kind of transaction, by statement and parameter.

    texts: of the statements. positions: in the order of the transaction.
    """
    if not positions or len(positions[0].last) < LEAST_TRANSACTIONS:
        return {}
    columns = [_Column.of(position) for position in positions[:MOST_COMPARED]]
    references: dict[tuple[int, int], Reference] = {}
    for place, column in enumerate(columns):
        key = column.position.statement, column.position.parameter
        earlier = columns[:place]
        reference = _equal(column, earlier) or _near(column, earlier) or _inserted(column, earlier, texts)
        if reference:
            references[key] = reference
    return references


@dataclass(frozen=True)
class _Column:
    """A position with its literals as codes, equal for equal values, and as numbers, nan for other literals.

    varies: whether equality is no chance. grows: whether the numbers are different ids in the order of time.
    """

    position: Position
    codes: Vector
    numbers: Vector
    varies: bool
    grows: bool

    @classmethod
    def of(cls, position: Position) -> "_Column":
        values = [value_of(literal) for literal in position.executions]
        last = values if position.last is position.executions else [value_of(literal) for literal in position.last]
        codes = np.array([hash(value.text) for value in last], dtype=float)
        shares = np.unique(codes, return_counts=True)[1] / len(codes)
        varies = float(shares @ shares) <= MOST_BY_CHANCE
        return cls(position, codes, _numbers(values), varies, _grows(last))


def _numbers(values: Sequence[Value]) -> Vector:
    numbers = [
        value.number if value.kind == "moment" else value.number / 10**value.decimals if value.kind == "number" else nan
        for value in values
    ]
    return np.array(numbers, dtype=float)


def _grows(values: Sequence[Value]) -> bool:
    numbers = _numbers(values)
    if any(value.kind != "number" for value in values) or len(np.unique(numbers)) < EQUAL * len(numbers):
        return False
    return bool(np.corrcoef(np.arange(len(numbers)), numbers.argsort().argsort())[0, 1] > GROWS)


def _equal(column: _Column, earlier: Sequence[_Column]) -> Reference | None:
    """Return a reference to the first earlier parameter that has the same value in nearly all transactions."""
    if not column.varies:
        return None
    for other in earlier:
        is_equal = (column.codes == other.codes) & (
            column.position.is_same > 0 if other.position.statement != column.position.statement else True
        )
        if is_equal.mean() >= EQUAL:
            return Reference("parameter", other.position.statement, other.position.parameter)
    return None


def _near(column: _Column, earlier: Sequence[_Column]) -> Reference | None:
    """Return a reference to a parameter of the same statement at a distance that varies little, as in BETWEEN."""
    spread = np.ptp(column.numbers)
    if not spread > 0:  # nan, too
        return None
    for other in earlier:
        if other.position.statement == column.position.statement and len(other.numbers) == len(column.numbers):
            distance = column.numbers - other.numbers
            is_whole = np.all(distance == np.round(distance)) and np.abs(distance).max() < LARGEST_EXACT
            if is_whole and np.ptp(distance) <= NARROW * spread:
                return Reference(
                    "parameter", other.position.statement, other.position.parameter,
                    int(distance.min()), int(distance.max()),
                )  # fmt: skip
    return None


def _inserted(column: _Column, earlier: Sequence[_Column], texts: Sequence[str]) -> Reference | None:
    """Return a reference to the id that the nearest earlier INSERT generated, for a number that grows with time."""
    if not column.grows or not column.position.is_same.all():
        return None
    with_own_id = {other.position.statement for other in earlier if other.grows}
    inserts = {place for place, text in enumerate(texts[: column.position.statement]) if is_insert(text)}
    return Reference("inserted", max(inserts - with_own_id)) if inserts - with_own_id else None
