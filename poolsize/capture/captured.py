"""Counted kinds of transactions -> the captured workload: which kinds stand, their names and their parameters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import isnan

import numpy as np

from poolsize.capture.columns import Place, is_insert, places_of, reads_only
from poolsize.capture.kinds import KindCounter, KindTally, Sample, StatementTally
from poolsize.capture.literals import Kept
from poolsize.capture.parameters import Seen, parameter_of
from poolsize.capture.references import Position, references_of
from poolsize.capture.workload import (
    CapturedStatement,
    CapturedWorkload,
    CaptureSource,
    Parameter,
    Several,
    TransactionKind,
)

MOST_KINDS = 40
COVERED = 0.995
"""Share of the time, and of the statements, from which on further kinds count among the others."""
LONGEST_NAME = 50
MOST_LISTED = 300_000
"""Literals of all lists of a parameter that are used."""
_FIRST_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+[(`]*(?:\w+`?\.`?)?(\w+)", re.IGNORECASE)


def captured_workload(
    counter: KindCounter, source: CaptureSource, seconds: float, notes: Iterable[str], *, keeps_values: bool
) -> CapturedWorkload:
    """Return the workload of all transactions.

    seconds: from the first statement to the last, nan where unknown. keeps_values: literals may be shown.
    """
    tallies = _most_important(counter)
    names = _unique_names(tallies)
    kinds = tuple(_kind(tally, name, keeps_values=keeps_values) for tally, name in zip(tallies, names, strict=True))
    return CapturedWorkload(
        source,
        kinds,
        1 - sum(tally.executions for tally in tallies) / max(source.statements, 1),
        1 - sum(tally.seconds for tally in tallies) / counter.seconds if counter.seconds else 0.0,
        counter.transactions / seconds if seconds > 0 else None,
        1000 * counter.think_seconds / counter.thinks if counter.thinks else None,
        tuple(notes),
    )


def _most_important(counter: KindCounter) -> list[KindTally]:
    """Return the kinds that together have nearly all of the time and of the statements, by descending time."""
    tallies = list(counter.kinds.values())
    time = np.array([tally.seconds for tally in tallies])
    executions = np.array([float(tally.executions) for tally in tallies])
    chosen = np.zeros(len(tallies), dtype=bool)
    for amounts in (time, executions):
        descending = np.argsort(-amounts, kind="stable")
        before = np.cumsum(amounts[descending]) - amounts[descending]
        chosen[descending[before < COVERED * amounts.sum()]] = True
    order = np.lexsort((-executions, -time))
    return [tallies[place] for place in order if chosen[place]][:MOST_KINDS]


def _unique_names(tallies: Sequence[KindTally]) -> list[str]:
    """Return a name for each kind, after its first write or its first statement: update_orders, select_orders_2."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for tally in tallies:
        texts = [statement.text for statement in tally.statements]
        text = next((text for text in texts if not reads_only(text)), texts[0])
        verb, table = re.search(r"[A-Za-z]+", text), _FIRST_TABLE.search(text)
        words = [match[match.lastindex or 0] for match in (verb, table) if match]
        name = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower())[:LONGEST_NAME].strip("_") or "statement"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return names


def _kind(tally: KindTally, name: str, *, keeps_values: bool) -> TransactionKind:
    samples = sorted(tally.samples)
    texts = [statement.text for statement in tally.statements]
    places = [places_of(text) for text in texts]
    references = references_of(texts, list(_positions(samples, places)))
    statements = []
    for index, statement in enumerate(tally.statements):
        parameters: list[Parameter] = []
        for parameter, place in enumerate(places[index]):
            reference = references.get((index, parameter))
            if reference is None:
                seen = _seen(samples, index, parameter)
                parameters.append(_drawn(seen, place, statement.text, keeps_values=keeps_values))
            else:
                parameters.append(replace(reference, table=place.table, column=place.column))
        statements.append(_statement(statement, tally.count, tuple(parameters)))
    held = tally.held_seconds / tally.count
    return TransactionKind(
        name,
        tally.count,
        tuple(statements),
        1000 * tally.seconds / tally.count,
        None if isnan(held) else 1000 * max(held, 0.0),
        tally.is_explicit,
        tally.ends,
        not all(map(reads_only, texts)),
    )


def _statement(tally: StatementTally, transactions: int, parameters: tuple[Parameter, ...]) -> CapturedStatement:
    return CapturedStatement(
        tally.text,
        parameters,
        (tally.repeats.low, tally.repeats.high),
        tally.repeats.total / transactions,
        tally.rows_sent / tally.known_results if tally.known_results else None,
        reads_only(tally.text),
        (tally.rows.low, tally.rows.high),
        tally.rows.total / tally.repeats.total,
    )


def _positions(samples: Sequence[Sample], places: Sequence[Sequence[Place]]) -> Iterator[Position]:
    """Yield the parameters of a kind that are single values, in the order of the transaction."""
    for index, parameters in enumerate(places):
        for parameter in range(len(parameters)):
            of_samples = [_singles(sample, index, parameter) for sample in samples]
            rows = [literals for literals in of_samples if literals]
            if len(rows) < len(of_samples):
                continue
            is_same = np.array([float(all(literal == row[-1] for literal in row)) for row in rows])
            yield Position(index, parameter, [row[-1] for row in rows], list(chain(*rows)), is_same)


def _singles(sample: Sample, index: int, parameter: int) -> list[Kept]:
    """Return a parameter's literals in a transaction, without lists of values."""
    literals = (row[parameter] for row in sample.literals[index])
    return [literal for literal in literals if not isinstance(literal, tuple)]


def _seen(samples: Sequence[Sample], index: int, parameter: int) -> list[tuple[float, Kept | tuple[Kept, ...]]]:
    """Return when a parameter's literals were seen, and the literals, by time."""
    return [(sample.started, row[parameter]) for sample in samples for row in sample.literals[index]]


def _drawn(
    seen: Sequence[tuple[float, Kept | tuple[Kept, ...]]], place: Place, text: str, *, keeps_values: bool
) -> Parameter:
    """Return how a parameter is drawn, which may be a list."""
    lengths = [len(literal) for _, literal in seen if isinstance(literal, tuple)]
    flat = [
        (started, item) for started, literal in seen for item in (literal if isinstance(literal, tuple) else (literal,))
    ][:MOST_LISTED]
    literals = Seen([literal for _, literal in flat], np.array([started for started, _ in flat]))
    item = parameter_of(literals, place, in_insert=is_insert(text), keeps_values=keeps_values)
    if not lengths:
        return item
    return Several(item, min(lengths), max(lengths), sum(lengths) / len(lengths), place.table, place.column)
