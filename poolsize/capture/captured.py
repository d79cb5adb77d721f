"""A source of a capture -> the captured workload: its kinds of transactions, their names and parameters."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, chain
from itertools import count as numbers_from
from math import inf, isfinite, isnan, sqrt
from pathlib import Path
from time import time
from typing import Literal

import numpy as np

from poolsize.bounds import shortened
from poolsize.capture.columns import places_of, reads_only
from poolsize.capture.digests import weighted
from poolsize.capture.events import Event, Tally
from poolsize.capture.kinds import KindCounter, KindTally, StatementTally
from poolsize.capture.logs import GeneralLog, SlowLog, log_events
from poolsize.capture.parameters import parameters_of
from poolsize.capture.statement_history import StatementHistory
from poolsize.capture.transactions import MOST_STATEMENTS, LeftOut, Reason, rebuilt
from poolsize.capture.workload import (
    CapturedStatement,
    CapturedWorkload,
    CaptureSource,
    Parameter,
    SourceKind,
    TransactionKind,
)
from poolsize.errors import BadInput
from poolsize.units import count, milliseconds, minutes

LogKind = Literal["slow log", "general log"]
MOST_TALLIES, MOST_PARAMETERS_OF_ALL = 40, 2_000
"""Kinds whose parameters are fitted, and these parameters."""
COVERED = 0.995
"""Share of the time, and of the statements, from which on further kinds count among the others."""
LONGEST_NAME, LONGEST_VERSIONS = 50, 200
OF_DRIVERS: Mapping[Reason, str] = {
    "setting": "SET, USE, SELECT @@name, PREPARE or DEALLOCATE",
    "monitoring": "of performance_schema, information_schema, sys or mysql",
    "empty": "BEGIN, COMMIT or ROLLBACK without a statement",
    "two-phase": "XA END or XA PREPARE",
}
"""What drivers, pools and monitoring send: it is no work of the application, and the coverage does not count it."""
LEFT_OUT: Mapping[Reason, str] = {
    **{reason: f"{words}, which the coverage does not count" for reason, words in OF_DRIVERS.items()},
    "too long": "too long to be read",
    "not whole": "cut off in the source, or not SQL",
    "prepared": "EXECUTE of a statement that the source does not show",
    "cut": f"behind the first {MOST_STATEMENTS:,} statements of a transaction or of a text",
    "other": "of a kind that is not known",
}
LEAST_OF_FASTEST_MS = 10
"""A server runs some statement of a whole log, such as a COMMIT or the read of a row, in less."""
LEAST_PAUSE_SECONDS, LONG_PAUSE = 60, 0.1
"""A longer pause is named, if it is also a larger share of the log's time."""
MOST_HELD_ERROR = 0.25
"""Standard error of a mean that is shown, as a share of the mean."""
MOST_VARIANTS, MOST_CANDIDATES = 8, 500
"""Kinds that stand for transactions on tables in shards, and the transactions among which they are chosen."""
_FIRST_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+[(`]*(?:\w+`?\.`?)?(\w+)", re.IGNORECASE)


def workload_of_logs(
    paths: Sequence[Path], kind: LogKind, *, keeps_values: bool, progress: Callable[[int], None]
) -> CapturedWorkload:
    """Return the workload in logs of one server. progress: gets the bytes that were read.

    Raises BadInput for files that are no such logs, and where they hold no transaction.
    """
    tally = Tally()
    events = log_events(paths, SlowLog if kind == "slow log" else GeneralLog, tally, progress)
    return captured_workload(events, kind, tally, lambda: list(_log_notes(tally)), keeps_values=keeps_values)


def workload_of_server(
    history: StatementHistory, seconds: float, *, keeps_values: bool, progress: Callable[[float], None]
) -> CapturedWorkload:
    """Return the workload that a server runs in the next so many seconds. progress: gets the seconds that passed.

    Raises BadInput where nothing was seen, and WorkFailed when the server goes away.
    """
    tally = Tally({history.server.version}, first=time())

    def events() -> Iterator[Event]:
        yield from history.events(seconds, progress)
        tally.last, tally.statements = time(), history.read

    workload = captured_workload(
        events(), "statement history", tally, lambda: history.notes, keeps_values=keeps_values
    )  # fmt: skip
    return weighted(workload, history.digests, history.seconds) if history.digests else workload


def with_counters(
    workload: CapturedWorkload, history: StatementHistory, seconds: float, progress: Callable[[float], None]
) -> CapturedWorkload:
    """Return a log's workload with the weights that the server counts in the next so many seconds."""
    history.count(seconds, progress)
    if not history.digests:
        raise BadInput(" ".join(["the server counted no statements.", *history.notes]))
    return weighted(workload, history.digests, history.seconds)


def _log_notes(tally: Tally) -> Iterator[str]:
    """Yield the gaps of a log, as sentences."""
    if tally.without_thread:
        yield (
            f"{count(tally.without_thread, 'statement')} without a session: each is a transaction of its own. Add "
            "the session's id to the log (log_slow_verbosity, log_slow_extra)."
        )
    for path, (statements, last) in tally.cut_files.items():
        until = f", until {datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M:%S} UTC" if isfinite(last) else ""
        yield f"{path.name} is cut off: its gzip file has no end. It has {count(statements, 'statement')}{until}."
    if LEAST_OF_FASTEST_MS < 1000 * tally.fastest < inf:
        yield (
            f"No statement took less than {milliseconds(1000 * tally.fastest)}: long_query_time was probably not 0. "
            "Faster statements are missing, so rate and mix are not production's. Record with long_query_time = 0."
        )
    if (lasts := tally.last - tally.first) and tally.longest_pause > max(LEAST_PAUSE_SECONDS, LONG_PAUSE * lasts):
        pause, whole = minutes(tally.longest_pause), minutes(lasts)
        yield (
            f"The log has no statement for {pause} of its {whole}, and the rate is the mean of the whole time. Leave "
            "out what is of another time."
        )
    if tally.unreadable:
        yield f"{count(tally.unreadable, 'entry', 'entries')} of the log can't be read."
    if not isfinite(tally.first):
        yield "The log has no times: rate and think time are not known."


def captured_workload(
    events: Iterable[Event],
    kind: SourceKind,
    tally: Tally,
    notes: Callable[[], Sequence[str]],
    *,
    keeps_values: bool,
) -> CapturedWorkload:
    """Return the workload of a source.

    tally, notes: the counts of the source, and its gaps, when its events have ended. keeps_values: literals may be
    shown. Raises BadInput for a source without transactions.
    """
    counter, left_out = KindCounter(), LeftOut()
    for transaction in rebuilt(events, left_out):
        counter.add(transaction)
    counter.merge_families()
    if not counter.kinds:
        why = f" ({' '.join(notes())})" if notes() else ""
        raise BadInput(f"the {kind} has no transaction that a workload could repeat{why}: capture a longer time")
    tallies = _most_important(counter)
    names: set[str] = set()
    kinds = [
        made for each in tallies
        for made in _kinds(each, names, keeps_values=keeps_values, is_coarse=tally.is_coarse)
    ]  # fmt: skip
    statements, seconds = (
        sum((amount for reason, amount in amounts.items() if reason not in OF_DRIVERS), start=in_transactions)
        for in_transactions, amounts in (
            (float(counter.statements), left_out.statements), (counter.seconds, left_out.seconds)
        )
    )  # fmt: skip
    lasts = tally.last - tally.first
    return CapturedWorkload(
        _source(kind, tally),
        tuple(kinds),
        _other_share(sum(each.executions for each in tallies), statements),
        _other_share(sum(each.seconds for each in tallies), seconds) if seconds else None,
        _six_digits(sum(each.count for each in tallies) / lasts) if lasts > 0 else None,
        _six_digits(max(0.0, 1000 * counter.think_seconds / counter.thinks)) if counter.thinks else None,
        (*notes(), *_notes(counter, left_out)),
    )


def _source(kind: SourceKind, tally: Tally) -> CaptureSource:
    since, until = (
        datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds") if isfinite(moment) else None
        for moment in (tally.first, tally.last)
    )
    return CaptureSource(
        kind, shortened(", ".join(sorted(tally.versions)), LONGEST_VERSIONS), since, until, tally.statements
    )


def _other_share(covered: float, total: float) -> float:
    """Return the share that is not covered, between 0 and 1 in spite of rounding."""
    return min(max(round(1 - covered / total, 6), 0.0), 1.0) if total else 0.0


def _six_digits(mean: float) -> float:
    return float(f"{mean:.6g}")


def _notes(counter: KindCounter, left_out: LeftOut) -> Iterator[str]:
    """Yield the statements and transactions that the workload leaves out, as sentences."""
    if counter.cut_off:
        words = "is in no kind: a part of it is" if counter.cut_off == 1 else "are in no kind: parts of them are"
        yield f"{count(counter.cut_off, 'transaction')} {words} missing in the source."
    commands = sorted(reason for reason in left_out.statements if reason.isupper())
    for reasons, words in (*(([reason], words) for reason, words in LEFT_OUT.items()), (commands, ", ".join(commands))):
        if statements := sum(left_out.statements.get(reason, 0) for reason in reasons):
            seconds = sum(left_out.seconds.get(reason, 0.0) for reason in reasons)
            took = f", with {milliseconds(1000 * seconds)} in the server" if seconds else ""
            yield f"{count(statements, 'statement')} {'is' if statements == 1 else 'are'} left out{took}: {words}."


def _most_important(counter: KindCounter) -> list[KindTally]:
    """Return the kinds that together have nearly all of the time and of the statements, by descending time."""
    tallies = list(counter.kinds.values())
    time_of = np.array([tally.seconds for tally in tallies])
    executions = np.array([float(tally.executions) for tally in tallies])
    chosen = np.zeros(len(tallies), dtype=bool)
    for amounts in (time_of, executions):
        descending = np.argsort(-amounts, kind="stable")
        before = np.cumsum(amounts[descending]) - amounts[descending]
        chosen[descending[before < COVERED * amounts.sum()]] = True
    order = np.lexsort((-executions, -time_of))
    largest = [tallies[place] for place in order if chosen[place]][:MOST_TALLIES]
    parameters = accumulate(sum(text.count("%s") for text in tally.samples[0].texts) for tally in largest)
    return [tally for tally, number in zip(largest, parameters, strict=True) if number <= MOST_PARAMETERS_OF_ALL]


def _kinds(tally: KindTally, names: set[str], *, keeps_values: bool, is_coarse: bool) -> Iterator[TransactionKind]:
    """Yield the kind of a tally, or several if tables in shards have been merged.

    names: of the kinds before. is_coarse: whether starts are known to the second only.
    """
    samples = sorted(tally.samples)
    variants = _variants([sample.texts for sample in samples])
    parameters_of_each = parameters_of(samples, variants[0], keeps_values=keeps_values)
    seconds = tally.seconds / tally.count
    for place, texts in enumerate(variants):
        statements = [
            _statement(statement, text, parameters)
            for statement, text, parameters in zip(tally.statements, texts, parameters_of_each, strict=True)
        ]
        yield TransactionKind(
            _name(texts, names),
            tally.count // len(variants) + (place < tally.count % len(variants)),
            tuple(statements),
            _six_digits(1000 * seconds) if seconds else None,
            _held_ms(tally, is_coarse=is_coarse),
            tally.is_explicit,
            tally.ends,
            not all(map(reads_only, texts)),
        )


def _held_ms(tally: KindTally, *, is_coarse: bool) -> float | None:
    """Return how long a transaction holds its connection on average; None where it is not known.

    is_coarse: whether starts are known to the second only. A transaction that is held for s seconds then spans the
    turn of a second with the probability s, so that the mean of n has the standard error sqrt(s / n).
    """
    seconds, held = (each / tally.count for each in (tally.seconds, tally.held_seconds))
    is_single = not tally.is_explicit and tally.executions == tally.count
    error = sqrt(max(held, 1 / tally.count) / tally.count) if is_coarse and not is_single else 0.0
    if isnan(held) or error > MOST_HELD_ERROR * held:
        return None
    return _six_digits(1000 * max(held, seconds)) or None


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


def _name(texts: Sequence[str], names: set[str]) -> str:
    """Return a new name for a kind, after its first write or its first statement."""
    text = next((text for text in texts if not reads_only(text)), texts[0])
    verb, table = re.search(r"[A-Za-z]+", text), _FIRST_TABLE.search(text)
    words = f"{verb[0] if verb else 'run'}_{table[1] if table else 'statement'}"
    stem = re.sub(r"[^a-z0-9]+", "_", words.lower())[:LONGEST_NAME].strip("_")
    name = next(name for name in chain([stem], (f"{stem}_{number}" for number in numbers_from(2))) if name not in names)
    names.add(name)
    return name


def _statement(tally: StatementTally, text: str, parameters: Sequence[Parameter]) -> CapturedStatement:
    placed = zip(parameters, places_of(text), strict=True)
    return CapturedStatement(
        text,
        tuple(replace(parameter, table=place.table, column=place.column) for parameter, place in placed),
        *_ends_and_mean(tally.repeats),
        _six_digits(tally.rows_sent / tally.known_results) if tally.known_results else None,
        reads_only(text),
        *_ends_and_mean(tally.rows),
    )


def _ends_and_mean(counts: Counter[int]) -> tuple[tuple[int, int], float]:
    """Return the lowest, the highest and the mean number. counts: how often each number was seen."""
    total = sum(number * times for number, times in counts.items())
    return (min(counts), max(counts)), _six_digits(total / counts.total())
