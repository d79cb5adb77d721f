"""Logs that tests write: entries as MySQL, MariaDB and Percona Server write them."""

from collections.abc import Sequence
from pathlib import Path

from poolsize.capture.events import Event, StatementEvent, Tally
from poolsize.capture.logs import SlowLog, log_events

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


def read(path: Path, content: str | bytes, tally: Tally | None = None) -> list[Event]:
    """The events of a slow log with this content, which is written to a path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(log_events([path], SlowLog, tally or Tally()))


def texts(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, StatementEvent)]
