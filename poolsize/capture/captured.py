"""Counted kinds of transactions -> the captured workload: which kinds stand, their names and their parameters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from math import isnan
from typing import Any, Literal

import numpy as np

from poolsize.bounds import shortened
from poolsize.capture.columns import Place, is_insert, places_of, reads_only
from poolsize.capture.events import Tally
from poolsize.capture.kinds import KindCounter, KindTally, Sample, StatementTally
from poolsize.capture.literals import UNSEEN, Kept
from poolsize.capture.parameters import Seen, parameter_of, unseen_parameter
from poolsize.capture.references import Position, references_of
from poolsize.capture.transactions import LeftOut, Reason
from poolsize.capture.workload import (
    CapturedStatement,
    CapturedWorkload,
    CaptureSource,
    Heavy,
    Parameter,
    Several,
    TransactionKind,
)
from poolsize.units import count

MOST_TALLIES = 40
COVERED = 0.995
"""Share of the time, and of the statements, from which on further kinds count among the others."""
LONGEST_NAME, LONGEST_VERSIONS = 50, 200
UNREAD: tuple[Reason, ...] = ("too long", "not whole", "cut")
"""Why a statement of the workload is in no transaction."""
LEFT_OUT: Mapping[Reason, str] = {
    "too long": "too long to be read",
    "not whole": "cut off in the source, or not SQL",
    "cut": "in a transaction of more statements than are kept",
    "not of the workload": "settings of a session, definitions of tables, or administration",
}
MOST_VARIANTS, MOST_CANDIDATES = 8, 500
"""Kinds that stand for transactions on tables in shards, and the transactions among which they are chosen."""
MOST_FOR_REFERENCES = 4_000
"""Transactions of a kind that references are searched in."""
MOST_LISTED = 300_000
"""Literals of all lists of a parameter that are used."""
_FIRST_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+[(`]*(?:\w+`?\.`?)?(\w+)", re.IGNORECASE)


def captured_workload(
    counter: KindCounter,
    source: CaptureSource,
    left_out: LeftOut,
    notes: Iterable[str] = (),
    *,
    keeps_values: bool = False,
) -> CapturedWorkload:
    """Return the workload of all transactions. keeps_values: literals may be shown."""
    counter.merge_families()
    tallies = _most_important(counter)
    seen: Counter[str] = Counter()
    kinds = [kind for tally in tallies for kind in _kinds(tally, seen, keeps_values=keeps_values)]
    statements = counter.statements + sum(left_out.statements.get(reason, 0) for reason in UNREAD)
    seconds = counter.seconds + sum(left_out.seconds.get(reason, 0.0) for reason in UNREAD)
    lasts = (
        (datetime.fromisoformat(source.until) - datetime.fromisoformat(source.since)).total_seconds()
        if source.since and source.until
        else 0.0
    )
    return CapturedWorkload(
        source,
        tuple(kinds),
        _other_share(sum(tally.executions for tally in tallies), statements),
        _other_share(sum(tally.seconds for tally in tallies), seconds),
        _six_digits(counter.transactions / lasts) if lasts > 0 else None,
        _six_digits(1000 * counter.think_seconds / counter.thinks) if counter.thinks else None,
        (*notes, *_notes(counter, left_out)),
    )


def capture_source(kind: Literal["slow log", "general log", "statement history"], tally: Tally) -> CaptureSource:
    """Return the description of a source that was read."""
    since, until = (
        None if isnan(moment) else datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
        for moment in (tally.first, tally.last)
    )
    versions = shortened(", ".join(sorted(tally.versions)), LONGEST_VERSIONS)
    return CaptureSource(kind, versions, since, until, tally.statements)


def _other_share(covered: float, total: float) -> float:
    """Return the share that is not covered, between 0 and 1 in spite of rounding."""
    return min(max(round(1 - covered / total, 6), 0.0), 1.0) if total else 0.0


def _notes(counter: KindCounter, left_out: LeftOut) -> Iterator[str]:
    """Yield what the workload leaves out."""
    if counter.cut_off:
        yield f"{count(counter.cut_off, 'transaction')} began before the source or ended after it: no kind has them."
    for reason, words in LEFT_OUT.items():
        if statements := left_out.statements.get(reason, 0):
            yield f"{count(statements, 'statement')} {'is' if statements == 1 else 'are'} left out: {words}."


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
    return [tallies[place] for place in order if chosen[place]][:MOST_TALLIES]


def _name(texts: Sequence[str], seen: Counter[str]) -> str:
    """Return a name for a kind, after its first write or its first statement. seen: how often each name was given."""
    text = next((text for text in texts if not reads_only(text)), texts[0])
    verb, table = re.search(r"[A-Za-z]+", text), _FIRST_TABLE.search(text)
    words = [match[match.lastindex or 0] for match in (verb, table) if match]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower())[:LONGEST_NAME].strip("_") or "statement"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}_{seen[name]}"


def _kinds(tally: KindTally, seen: Counter[str], *, keeps_values: bool) -> Iterator[TransactionKind]:
    """Yield the kind of a tally, or several if tables in shards have been merged. seen: as in _name."""
    samples = sorted(tally.samples)
    variants = _variants([sample.texts for sample in samples])
    drawn = _parameters(samples, variants[0], keeps_values=keeps_values)
    held = tally.held_seconds / tally.count
    for place, texts in enumerate(variants):
        statements = [
            _statement(statement, tally.count, text, tuple(map(_placed, parameters, places_of(text))))
            for statement, text, parameters in zip(tally.statements, texts, drawn, strict=True)
        ]
        yield TransactionKind(
            _name(texts, seen),
            tally.count // len(variants) + (place < tally.count % len(variants)),
            tuple(statements),
            _six_digits(1000 * tally.seconds / tally.count),
            None if isnan(held) else _six_digits(1000 * max(held, 0.0)),
            tally.is_explicit,
            tally.ends,
            not all(map(reads_only, texts)),
        )


def _variants(texts: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return up to MOST_VARIANTS of some transactions' texts, which together have as many tables as possible."""
    candidates = list(dict.fromkeys(texts))[:MOST_CANDIDATES]
    chosen: list[tuple[str, ...]] = []
    covered: set[tuple[int, str]] = set()
    while candidates and len(chosen) < MOST_VARIANTS:
        best = max(candidates, key=lambda variant: len(set(enumerate(variant)) - covered))
        candidates.remove(best)
        chosen.append(best)
        covered.update(enumerate(best))
    return chosen


def _parameters(samples: Sequence[Sample], texts: Sequence[str], *, keeps_values: bool) -> list[list[Parameter]]:
    """Return how the parameters of each statement are drawn."""
    places = [places_of(text) for text in texts]
    some = samples[:: len(samples) // MOST_FOR_REFERENCES + 1]
    references = references_of(texts, list(_positions(some, places)))
    return [
        [
            references.get((index, parameter))
            or _drawn(_seen(samples, index, parameter), place, texts[index], keeps_values=keeps_values)
            for parameter, place in enumerate(places[index])
        ]
        for index in range(len(texts))
    ]


def _placed(parameter: Parameter, place: Place) -> Parameter:
    """Return a parameter, and what is drawn within it, with the column of a place."""
    changes: dict[str, Any] = {"table": place.table, "column": place.column}
    if isinstance(parameter, Heavy):
        changes["tail"] = _placed(parameter.tail, place)
    if isinstance(parameter, Several):
        changes["item"] = _placed(parameter.item, place)
    return replace(parameter, **changes)


def _six_digits(mean: float) -> float:
    """Return a mean with six significant digits."""
    return float(f"{mean:.6g}")


def _statement(
    tally: StatementTally, transactions: int, text: str, parameters: tuple[Parameter, ...]
) -> CapturedStatement:
    return CapturedStatement(
        text,
        parameters,
        (tally.repeats.low, tally.repeats.high),
        _six_digits(tally.repeats.total / transactions),
        _six_digits(tally.rows_sent / tally.known_results) if tally.known_results else None,
        reads_only(text),
        (tally.rows.low, tally.rows.high),
        _six_digits(tally.rows.total / tally.repeats.total),
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
            executions = list(chain(*rows))
            last = executions if len(executions) == len(rows) else [row[-1] for row in rows]
            yield Position(index, parameter, last, executions, is_same)


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
    flat = [(started, literal) for started, literal in flat if literal is not UNSEEN]
    literals = Seen([literal for _, literal in flat], np.array([started for started, _ in flat]))
    item = (
        parameter_of(literals, place, in_insert=is_insert(text), keeps_values=keeps_values)
        if flat
        else unseen_parameter(place)
    )
    if not lengths:
        return item
    return Several(
        item, min(lengths), max(lengths), _six_digits(sum(lengths) / len(lengths)), place.table, place.column
    )
