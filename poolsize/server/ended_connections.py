"""Ends connections on the server whose client has gone."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from math import nan
from time import monotonic, sleep
from typing import Any, Self

import pymysql

from poolsize.errors import WorkFailed
from poolsize.facts.server import connection_ids, number_of, only_row, query, read_pairs, text_of

KILLED_SECONDS = 30
"""The longest time that the server may take to roll back the transactions of an interrupted step."""
SAME_START_SECONDS = 2
"""Two readings of a server's start differ by less: time of day and uptime are whole seconds."""


@dataclass(frozen=True)
class ServerProcess:
    """A running server: where it runs, and when it started by its own clock, in seconds; NaN where it does not say.

    Numbers of connections are unique within it. Behind a proxy or after a failover, another server may answer.
    """

    address: str
    started: float

    @classmethod
    def of(cls, cursor: Any) -> Self:
        """Return the server that answers a cursor."""
        cursor.execute(query("process"))
        hostname, port, now = map(text_of, only_row(cursor, 3))
        uptime = number_of(read_pairs(cursor, "uptime"), "Uptime")
        try:
            started = float(now) - (nan if uptime is None else uptime)
        except ValueError:
            started = nan
        return cls(f"{hostname}:{port}", started)

    def is_same(self, other: "ServerProcess") -> bool:
        """Return whether both are one process: the same address, and the same start."""
        return self.address == other.address and abs(self.started - other.started) < SAME_START_SECONDS


def end_connections(cursor: Any, identifiers: Collection[int]) -> None:
    """Kill connections of the cursor's account, by the server's ids, and wait until their transactions are rolled back.

    Raises WorkFailed when they do not end.
    """
    cursor.execute("SELECT SUBSTRING_INDEX(USER(), '@', 1), CONNECTION_ID()")
    account, own = only_row(cursor, 2)
    deadline = monotonic() + KILLED_SECONDS
    while remaining := connection_ids(cursor, account).intersection(identifiers) - {int(own)}:
        if monotonic() > deadline:
            raise WorkFailed(f"{len(remaining)} of the workers' connections did not end")
        for identifier in remaining:
            with suppress(pymysql.MySQLError):  # it has ended meanwhile
                cursor.execute(f"KILL {identifier}")
        sleep(0.05)


def end_abandoned(cursor: Any, identifiers: Collection[int], opened_on: ServerProcess) -> None:
    """End connections that this process has lost and the server still has, as after a network was cut.

    opened_on: the server to which they were open; another server has given their ids to others. Raises WorkFailed when
    they do not end.
    """
    if identifiers and ServerProcess.of(cursor).is_same(opened_on):
        end_connections(cursor, identifiers)
