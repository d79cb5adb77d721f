"""What can be read from a running server before anything is measured: who holds connections, limits, cache, network."""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

from poolsize.facts.server import (
    Cursor,
    Server,
    connection_bytes,
    number_of,
    query,
    read_cipher,
    read_pairs,
    read_server,
    text_of,
)
from poolsize.facts.status import increases_per_second, read_status

SAMPLE_SECONDS = 1.0
"""The buffer pool's hit rate is that of so many seconds."""
FEWEST_STATEMENTS = 100
"""With fewer statements in the sample, its hit rate says nothing of the load."""
ROUND_TRIPS = 21
IDLE = {"Sleep", "Daemon"}
"""Commands of connections that are not at work."""
HOLDERS = ("holders_processlist", "holders_threads", "holders_locking")
"""Queries for the holders of connections; the first that works and returns a row is used, and the last needs no
performance_schema."""


class Platform(StrEnum):
    """The platforms that are recognised by their variables; the values are printed in JSON."""

    AURORA = "aurora"
    RDS = "rds"
    CLOUD_SQL = "cloud_sql"
    AZURE = "azure"
    TIDB = "tidb"
    VITESS = "vitess"
    PROXY = "proxy"


def platform_of(variables: Mapping[str, str], handshake: str) -> Platform | None:
    """Return the platform of a server, or None for a server of one's own.

    variables: server variable -> its value. handshake: the version that the server named when it was connected to. A
    proxy names a version of its own.
    """
    version, comment = variables.get("version", ""), variables.get("version_comment", "").lower()
    signs = {
        Platform.TIDB: "tidb" in version.lower(),
        Platform.VITESS: "vitess" in (version + handshake).lower(),
        Platform.AURORA: "aurora_version" in variables,
        Platform.RDS: variables.get("basedir", "").startswith("/rdsdbbin"),
        Platform.CLOUD_SQL: "google" in version + comment or any(name.startswith("cloudsql_") for name in variables),
        Platform.AZURE: "azure" in comment or "aad_auth_only" in variables,
        Platform.PROXY: handshake.removeprefix("5.5.5-").split("-")[0] != version.split("-")[0],
    }
    return next((platform for platform, shown in signs.items() if shown), None)


class Missing(StrEnum):
    """What the account may not read; the values are printed in JSON."""

    PROCESS = "process"
    PROGRAMS = "programs"


@dataclass(frozen=True)
class Holder:
    """Connections of one account from one host and one program.

    program: as its driver says; None where it is not known. active: connections that run a statement.
    longest_idle_seconds: of its idle connections; None if none is idle.
    """

    account: str
    host: str
    program: str | None
    connections: int
    active: int
    longest_idle_seconds: int | None


@dataclass(frozen=True)
class Inspection:
    """A running server as one connection sees it. A count, a limit or a size is None where the server does not say it.

    platform: who runs the server, or None. is_here: whether the server runs on this machine.
    open_connections: now. max_used_connections: since the server's start; max_used_at: when.
    refused: connections refused by max_connections.
    aborted_connects: failed attempts to connect. aborted_clients: connections aborted after the login.
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
    open_connections: int | None
    max_used_connections: int | None
    max_used_at: str | None
    refused: int | None
    aborted_connects: int | None
    aborted_clients: int | None
    uptime_seconds: int | None
    wait_timeout_seconds: int | None
    interactive_timeout_seconds: int | None
    thread_pool: Mapping[str, str]
    binlog_durable: bool | None
    connection_bytes: int | None
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
    server, variables = read_server(cursor), read_pairs(cursor, "inspection_variables")
    status = read_pairs(cursor, "inspection_status")
    holders, missing = _holders(cursor, denied, own_id, variables, number_of(status, "Threads_connected") or 1)
    pool = {name: value for name, value in variables.items() if name.startswith("thread_pool_")}
    return Inspection(
        server=server,
        platform=platform_of(variables, handshake),
        is_here=by_loopback and variables.get("hostname") == socket.gethostname(),
        open_connections=number_of(status, "Threads_connected"),
        max_used_connections=number_of(status, "Max_used_connections"),
        max_used_at=status.get("Max_used_connections_time") or None,
        refused=number_of(status, "Connection_errors_max_connections"),
        aborted_connects=number_of(status, "Aborted_connects"),
        aborted_clients=number_of(status, "Aborted_clients"),
        uptime_seconds=number_of(status, "Uptime"),
        wait_timeout_seconds=number_of(variables, "wait_timeout"),
        interactive_timeout_seconds=number_of(variables, "interactive_timeout"),
        thread_pool=pool if server.thread_pool else {},
        binlog_durable=variables.get("sync_binlog") == "1" if variables.get("log_bin") == "ON" else None,
        connection_bytes=connection_bytes(cursor),
        cipher=read_cipher(cursor),
        round_trip_ms=_round_trip_ms(cursor),
        cache_hit_rate=_cache_hit_rate(cursor),
        holders=holders,
        missing=missing,
    )


def _round_trip_ms(cursor: Cursor) -> float:
    times_ms = []
    for _ in range(ROUND_TRIPS):
        started = time.perf_counter()
        cursor.execute("DO 0")
        times_ms.append(1000 * (time.perf_counter() - started))
    return median(times_ms)


def _cache_hit_rate(cursor: Cursor) -> float | None:
    before = read_status(cursor)
    time.sleep(SAMPLE_SECONDS)
    increases = increases_per_second(before, read_status(cursor), 1.0)
    statements, reads = increases.get("Questions"), increases.get("Innodb_buffer_pool_reads")
    if statements is None or reads is None or statements < FEWEST_STATEMENTS:
        return None
    return max(0.0, 1 - reads / statements)


def _holders(
    cursor: Cursor, denied: type[Exception], own_id: int, variables: Mapping[str, str], open_connections: int
) -> tuple[tuple[Holder, ...], tuple[Missing, ...]]:
    """Return who holds connections, and what the account may not see of them."""
    with_schema = variables.get("performance_schema") == "ON"
    queries = HOLDERS if with_schema else HOLDERS[-1:]
    rows = next((rows for name in queries if (rows := _rows(cursor, denied, name, 5))), [])
    programs = _rows(cursor, denied, "programs", 2) if with_schema else []
    missing = []
    if len(rows) < open_connections and not any(str(row[1]) != str(rows[0][1]) for row in rows):
        missing.append(Missing.PROCESS)
    if programs is None:
        missing.append(Missing.PROGRAMS)
    named = {row[0]: text_of(row[1]) for row in programs or ()}
    seen: dict[tuple[str, str, str], list[int | None]] = {}
    """Account, host and program -> the seconds in which each of its connections has been idle; None for a busy one."""
    for number, user, host, command, seconds in rows:
        if number != own_id and command != "Daemon" and user != "event_scheduler":
            holder = (text_of(user), text_of(host or "").rsplit(":", 1)[0], named.get(number, ""))
            idle_seconds = seconds if isinstance(seconds, int) else 0
            seen.setdefault(holder, []).append(idle_seconds if text_of(command) in IDLE else None)
    holders = []
    for (account, host, program), connections in sorted(seen.items()):
        idle = [seconds for seconds in connections if seconds is not None]
        active = len(connections) - len(idle)
        holders.append(Holder(account, host, program or None, len(connections), active, max(idle, default=None)))
    return tuple(sorted(holders, key=lambda holder: -holder.connections)), tuple(missing)


def _rows(cursor: Cursor, denied: type[Exception], name: str, columns: int) -> list[Any] | None:
    """Return the rows of a query whose first column is a connection's id, or None where it is denied."""
    try:
        cursor.execute(query(name))
        return [row for row in cursor.fetchall() if len(row) == columns and isinstance(row[0], int)]
    except denied:
        return None
