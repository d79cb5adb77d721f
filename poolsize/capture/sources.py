"""A source of a capture -> the captured workload: logs, a server's statement history, or both."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isnan
from pathlib import Path
from time import time
from typing import Literal

from poolsize.capture.captured import capture_source, captured_workload
from poolsize.capture.digests import weighted
from poolsize.capture.events import Event, Tally
from poolsize.capture.general_log import general_log_events
from poolsize.capture.kinds import KindCounter
from poolsize.capture.slow_log import slow_log_events
from poolsize.capture.statement_history import StatementHistory
from poolsize.capture.transactions import LeftOut, rebuilt
from poolsize.capture.workload import CapturedWorkload, CaptureSource
from poolsize.errors import BadInput
from poolsize.units import count

LogKind = Literal["slow log", "general log"]
EVENTS_BETWEEN = 2_000
"""Events between two reports of progress."""


def workload_of_logs(
    paths: Sequence[Path], kind: LogKind, *, keeps_values: bool, progress: Callable[[int], None] = lambda _: None
) -> CapturedWorkload:
    """Return the workload in logs of one server. progress: hears the bytes that were read.

    Raises BadInput for files that are no such logs, and where they hold no transaction.
    """
    tally = Tally()
    read = slow_log_events if kind == "slow log" else general_log_events
    events = _reporting(read(paths, tally), lambda: progress(tally.bytes_read))
    counter, left_out = _counted(events)
    source = capture_source(kind, tally)
    return _captured(counter, source, left_out, list(_log_notes(tally)), keeps_values=keeps_values)


def workload_of_server(
    history: StatementHistory, seconds: float, *, keeps_values: bool, progress: Callable[[float], None]
) -> CapturedWorkload:
    """Return the workload that a server runs in the next so many seconds. progress: hears the seconds that passed.

    Raises BadInput where nothing was seen, and WorkFailed when the server goes away.
    """
    tally = Tally({history.server_version}, first=time())
    counter, left_out = _counted(history.events(seconds, progress))
    tally.last, tally.statements = time(), counter.statements
    source = capture_source("statement history", tally)
    workload = _captured(counter, source, left_out, history.notes, keeps_values=keeps_values)
    return weighted(workload, history.digests, history.seconds) if history.digests else workload


def with_counters(
    workload: CapturedWorkload, history: StatementHistory, seconds: float, progress: Callable[[float], None]
) -> CapturedWorkload:
    """Return a log's workload with the weights that the server counts in the next so many seconds."""
    history.count(seconds, progress)
    if not history.digests:
        raise BadInput(f"the server counts no statements: {' '.join(history.notes) or 'leave `url` out'}")
    return weighted(workload, history.digests, history.seconds)


def _counted(events: Iterable[Event]) -> tuple[KindCounter, LeftOut]:
    counter, left_out = KindCounter(), LeftOut()
    for transaction in rebuilt(events, left_out):
        counter.add(transaction)
    return counter, left_out


def _captured(
    counter: KindCounter, source: CaptureSource, left_out: LeftOut, notes: Sequence[str], *, keeps_values: bool
) -> CapturedWorkload:
    if not counter.kinds:
        why = f" ({' '.join(notes)})" if notes else ""
        raise BadInput(f"the {source.kind} has no transaction that a workload could repeat{why}: capture a longer time")
    return captured_workload(counter, source, left_out, notes, keeps_values=keeps_values)


def _reporting(events: Iterator[Event], report: Callable[[], None]) -> Iterator[Event]:
    for number, event in enumerate(events):
        if number % EVENTS_BETWEEN == 0:
            report()
        yield event
    report()


def _log_notes(tally: Tally) -> Iterator[str]:
    """Yield what a log does not show."""
    if tally.without_thread:
        yield (
            f"{count(tally.without_thread, 'statement')} without a session: each is a transaction of its own. Add "
            "the session's id to the log (log_slow_verbosity, log_slow_extra)."
        )
    if tally.unreadable:
        yield f"{count(tally.unreadable, 'entry', 'entries')} of the log can't be read."
    if isnan(tally.first):
        yield "The log has no times: rate and think time are not known."
