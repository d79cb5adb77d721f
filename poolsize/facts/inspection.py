"""What can be read from a running server before anything is measured: who holds connections, limits, cache, network."""

import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from statistics import median
from typing import Any

from poolsize.facts.platform import Platform, platform_of
from poolsize.facts.server import Cursor, Server, connection_bytes, query, read_cipher, read_server

SAMPLE_SECONDS = 1.0
"""The buffer pool's hit rate is that of so many seconds."""
FEWEST_STATEMENTS = 100
"""With fewer statements in the sample, its hit rate says nothing of the load."""
ROUND_TRIPS = 21
IDLE = {"Sleep", "Daemon"}
"""Commands of connections that are not at work."""
HOLDERS = ("holders_processlist", "holders_threads", "holders_locking")
"""Queries for the holders of connections; the first that works and returns a row is used."""
WITHOUT_SCHEMA = HOLDERS[2:]
"""The queries that work where performance_schema is off."""


class Missing(StrEnum):
    """What the account may not read; the values are printed in JSON."""

    PROCESS = "process"
    PROGRAMS = "programs"


@dataclass(frozen=True)
class Holder:
    """Connections of one account from one host and one program.

    program: as its driver says; None where it is not known. active: connections that run a statement.
    longest_idle_seconds: of its idle connections; None without one.
    """

    account: str
    host: str
    program: str | None
    connections: int
    active: int
    longest_idle_seconds: int | None


@dataclass(frozen=True)
class Inspection:
    """A running server as one connection sees it.

    platform: who runs the server, or None. is_here: whether the server runs on this machine.
    open_connections: now. max_used_connections: since the server's start; max_used_at: when, or None where the server
        does not say. refused: connections refused by max_connections; None where the server does not say.
    aborted_connects: failed attempts to connect. aborted_clients: connections that ended without a goodbye.
    wait_timeout_seconds, interactive_timeout_seconds: after which the server ends idle connections.
    thread_pool: setting of the thread pool -> its value; empty without a thread pool.
    binlog_durable: whether a commit waits until the binary log is on the disk; None without a binary log.
    connection_bytes: memory of an idle connection.
    cipher: of this connection's encryption, or None. round_trip_ms: median of a statement that does nothing.
    cache_hit_rate: share of statements that need no page from disk, at least: 1 - pages read / statements in
        SAMPLE_SECONDS; None without enough statements. The hit rate by pages is always high, because the upper pages of
        an index are in the cache; what the formula asks is whether a connection waits for a disk.
    holders: most connections first, this connection left out. missing: what the account may not read.
    """

    server: Server
    platform: Platform | None
    is_here: bool
    open_connections: int
    max_used_connections: int
    max_used_at: str | None
    refused: int | None
    aborted_connects: int
    aborted_clients: int
    uptime_seconds: int
    wait_timeout_seconds: int
    interactive_timeout_seconds: int
    thread_pool: Mapping[str, str]
    binlog_durable: bool | None
    connection_bytes: int
    cipher: str | None
    round_trip_ms: float
    cache_hit_rate: float | None
    holders: tuple[Holder, ...]
    missing: tuple[Missing, ...]


def inspect_server(
    cursor: Cursor, own_id: int, handshake: str, *, by_loopback: bool, denied: type[Exception]
) -> Inspection:
    """Return what a connection can read from its server in SAMPLE_SECONDS. It only runs SHOW, SELECT and DO.

    denied: the cursor's exception for a statement that the account may not run, or that the server does not know.
    own_id: the connection's id on the server. handshake: the version that the server named when it was connected to.
    by_loopback: whether the connection stays on this machine; the server is here if it also has this machine's name.
    """
    server, variables = read_server(cursor), _pairs(cursor, "inspection_variables")
    status = _pairs(cursor, "inspection_status")
    reader = _Reader(cursor, denied)
    holders, missing = _holders(reader, own_id, variables, int(status["Threads_connected"]))
    refused = status.get("Connection_errors_max_connections")
    return Inspection(
        server=server,
        platform=platform_of(variables, handshake),
        is_here=by_loopback and variables.get("hostname") == socket.gethostname(),
        open_connections=int(status["Threads_connected"]),
        max_used_connections=int(status["Max_used_connections"]),
        max_used_at=status.get("Max_used_connections_time") or None,
        refused=None if refused is None else int(refused),
        aborted_connects=int(status["Aborted_connects"]),
        aborted_clients=int(status["Aborted_clients"]),
        uptime_seconds=int(status["Uptime"]),
        wait_timeout_seconds=int(variables["wait_timeout"]),
        interactive_timeout_seconds=int(variables["interactive_timeout"]),
        thread_pool=_thread_pool(variables) if server.thread_pool else {},
        binlog_durable=variables.get("sync_binlog") == "1" if variables.get("log_bin") == "ON" else None,
        connection_bytes=connection_bytes(cursor),
        cipher=read_cipher(cursor),
        round_trip_ms=_round_trip_ms(cursor),
        cache_hit_rate=_cache_hit_rate(cursor),
        holders=holders,
        missing=missing,
    )


def _pairs(cursor: Cursor, name: str) -> dict[str, str]:
    cursor.execute(query(name))
    return {str(key): str(value) for key, value in cursor.fetchall()}


def _thread_pool(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("thread_pool_")}


def _round_trip_ms(cursor: Cursor) -> float:
    times_ms = []
    for _ in range(ROUND_TRIPS):
        started = time.perf_counter()
        cursor.execute("DO 0")
        times_ms.append(1000 * (time.perf_counter() - started))
    return median(times_ms)


def _cache_hit_rate(cursor: Cursor) -> float | None:
    before = _pairs(cursor, "disk_reads")
    time.sleep(SAMPLE_SECONDS)
    after = _pairs(cursor, "disk_reads")
    statements, reads = (int(after[name]) - int(before[name]) for name in ("Questions", "Innodb_buffer_pool_reads"))
    return None if statements < FEWEST_STATEMENTS else max(0.0, 1 - reads / statements)


@dataclass(frozen=True)
class _Reader:
    cursor: Cursor
    denied: type[Exception]

    def rows(self, name: str) -> list[Any] | None:
        """Return the rows of a query, or None where it is denied."""
        try:
            self.cursor.execute(query(name))
            return list(self.cursor.fetchall())
        except self.denied:
            return None


def _holders(
    reader: _Reader, own_id: int, variables: Mapping[str, str], open_connections: int
) -> tuple[tuple[Holder, ...], tuple[Missing, ...]]:
    """Return who holds connections, and what the account may not see of them."""
    queries = HOLDERS if variables.get("performance_schema") == "ON" else WITHOUT_SCHEMA
    rows = next((rows for name in queries if (rows := reader.rows(name))), [])
    programs = reader.rows("programs") if variables.get("performance_schema") == "ON" else []
    missing = []
    if len(rows) < open_connections and not any(str(row[1]) != str(rows[0][1]) for row in rows):
        missing.append(Missing.PROCESS)
    if programs is None:
        missing.append(Missing.PROGRAMS)
    named = {int(row[0]): str(row[1]) for row in programs or ()}
    seen = [
        (str(user), str(host or "").rsplit(":", 1)[0], named.get(int(number)), str(command), int(seconds or 0))
        for number, user, host, command, seconds in rows
        if int(number) != own_id and command != "Daemon" and user != "event_scheduler"
    ]
    return _grouped(seen), tuple(missing)


def _grouped(seen: Iterable[tuple[str, str, str | None, str, int]]) -> tuple[Holder, ...]:
    def key(row: tuple[str, str, str | None, str, int]) -> tuple[str, str, str]:
        return row[0], row[1], row[2] or ""

    holders = []
    for (account, host, program), group in groupby(sorted(seen, key=key), key):
        rows = list(group)
        idle = [seconds for *_, command, seconds in rows if command in IDLE]
        longest = max(idle, default=None)
        holders.append(Holder(account, host, program or None, len(rows), len(rows) - len(idle), longest))
    return tuple(sorted(holders, key=lambda holder: -holder.connections))
