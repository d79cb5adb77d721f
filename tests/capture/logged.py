"""Statements as servers have logged them, logs with such statements, and the workload that is captured from them."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from poolsize.capture.captured import captured_workload
from poolsize.capture.events import Event, StatementEvent, Tally
from poolsize.capture.logs import Log, SlowLog, log_events
from poolsize.capture.workload import CapturedWorkload

START = 1_780_000_000.0
"""28 May 2026, 20:26:40 UTC."""
STATEMENT_SECONDS, PAUSE_SECONDS = 0.001, 0.5


def captured(transactions: Iterable[Sequence[str]], *, keeps_values: bool = False) -> CapturedWorkload:
    """Return the workload of transactions, which are run one after the other by 8 sessions. A text is a statement."""
    tally = Tally()
    events = map(tally.counted, logged(transactions))
    return captured_workload(events, "slow log", tally, lambda: (), keeps_values=keeps_values)


def logged(transactions: Iterable[Sequence[str]]) -> Iterator[StatementEvent]:
    """Yield the statements of transactions."""
    now = START
    for number, statements in enumerate(transactions):
        for text in statements:
            yield StatementEvent(number % 8 + 1, now, STATEMENT_SECONDS, text, rows_sent=1)
            now += STATEMENT_SECONDS
        now += PAUSE_SECONDS / 8


def explicit(*statements: str) -> tuple[str, ...]:
    """Return a transaction with its BEGIN and its COMMIT."""
    return ("BEGIN", *statements, "COMMIT")


def repeated(count: int, make: Callable[[random.Random, int], Sequence[str]], seed: int = 1) -> list[Sequence[str]]:
    """Return transactions that a function of a generator of random numbers and of a number makes."""
    chance = random.Random(seed)
    return [make(chance, number) for number in range(count)]


def zipf_ids(exponent: float, values: int, draws: int, *, seed: int, scattered: bool) -> list[int]:
    """Return ids from 1 to `values`, drawn from a Zipf distribution; those of the first ranks are low, or anywhere."""
    generator = np.random.default_rng(seed)
    shares = np.arange(1, values + 1) ** -float(exponent)
    ranks = generator.choice(values, draws, p=shares / shares.sum())
    ids = generator.permutation(values) + 1 if scattered else np.arange(1, values + 1)
    return [int(number) for number in ids[ranks]]


STARTED = (
    "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n"
    "Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock\n"
    "Time                 Id Command    Argument\n"
)
SECOND = 1_700_000_000
"""2023-11-14 22:13:20 UTC."""


def mysql_entry(text: str, thread: int = 8, at: str = "22:13:20.500000", seconds: float = 0.25, use: str = "") -> str:
    """An entry of MySQL 5.7 to 9. at: when it was written, the end of the statement."""
    return (
        f"# Time: 2023-11-14T{at}Z\n# User@Host: app[app] @ web1 [10.0.0.7]  Id: {thread:5}\n"
        f"# Query_time: {seconds:.6f}  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 20\n"
        f"{f'use {use};{chr(10)}' if use else ''}SET timestamp={SECOND};\n{text};\n"
    )


def mariadb_entry(text: str, thread: int = 8, seconds: float = 0.25, schema: str = "shop", time: str = "") -> str:
    """An entry of MariaDB, which writes the time where it differs from that of the entry before."""
    return (
        f"{f'# Time: {time}{chr(10)}' if time else ''}# User@Host: app[app] @ web1 [10.0.0.7]\n"
        f"# Thread_id: {thread}  Schema: {schema}  QC_hit: No\n"
        f"# Query_time: {seconds:.6f}  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 20\n"
        f"# Rows_affected: 0  Bytes_sent: 60\nSET timestamp={SECOND};\n{text};\n"
    )


def read(path: Path, content: str | bytes, tally: Tally | None = None, *, kind: type[Log] = SlowLog) -> list[Event]:
    """The events of a log with this content, which is written to a path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(log_events([path], kind, tally or Tally()))


def texts(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, StatementEvent)]
