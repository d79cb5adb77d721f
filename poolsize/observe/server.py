"""The connections of each account on a server in production, as samples and the server's counters, in periods."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from itertools import islice
from random import random
from statistics import fmean
from time import monotonic, sleep, time
from typing import Self

import numpy as np
import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, PoolsizeError
from poolsize.observe.observation import Append, PoolSpan, ServerSpan
from poolsize.observe.server_session import MOST_POOLS, ROUNDING_SECONDS, Level, Pool, ServerSession, Times
from poolsize.observe.sums import Sums, span_of
from poolsize.server.connection import NoAnswer, error_kind

SHARE_OF_TRANSACTIONS = 0.9
"""Where transactions make up so much of the time in use, each transaction is a usage."""
HELD, _, _, IN_USE, IDLE = range(len(fields(Level)))
"""Places of fields of a Level."""
CONNECTIONS_A_SECOND = 400
"""Connections that the server lists in 1 % of a core; with more of them, not every second has a sample."""
PERIOD_SECONDS = 60
RECONNECT_SECONDS = 30
"""The longest time without the server, after which an observation ends."""
GONE_SECONDS = 600
"""A pool without a connection for this time has vanished, like the pool of a process that was replaced."""
LAST_SECONDS = 2
"""The longest time for the last reading, after Ctrl-C."""


@dataclass(frozen=True)
class Counters:
    """What the server has counted since its start. at: by the monotonic clock."""

    at: float
    counts: dict[str, int | None]
    times: dict[Pool, Times]
    cpu_seconds: float | None

    @classmethod
    def of(cls, session: ServerSession) -> Self:
        """Return the counters now."""
        counts, cpu_seconds = session.counts(), session.cpu_seconds()
        began = monotonic()
        times = session.times()
        return cls((began + monotonic()) / 2, counts, times, cpu_seconds)

    def increase(self, name: str, before: "Counters") -> int | None:
        """Return the increase of a status variable since a reading; None where it is not known."""
        was, now = before.counts.get(name), self.counts.get(name)
        return now - was if was is not None and now is not None and now >= was else None


class ServerPeriod:
    """The readings of a period. The period begins when the object is made, and ends with `end` or the last sample.

    before, after: the counters at its beginning and its end; None where they were not read.
    """

    def __init__(self, session: ServerSession, before: Counters | None) -> None:
        """before: the counters at the end of the period before, or None to read them."""
        self.before = before
        self.after: Counters | None = None
        self._session = session
        self._started, self._began_at = time(), monotonic()
        self._ended_at = self._began_at
        self._samples: list[dict[Pool, Level]] = []
        self._running: list[int] = []
        self._connected: list[int] = []

    def read(self, seconds: float, progress: Callable[[], None]) -> None:
        """Read for `seconds`: at most one statement a second, at a random moment. Raises pymysql.MySQLError.

        Two seconds have no sample, because two statements read the counters. The moments are random, so that a load
        that repeats every second does not always look the same.
        """
        if self.before is None:
            self.before = Counters.of(self._session)
        for second in range(max(1, round(seconds) - 2)):
            sleep(max(0.0, self._began_at + second + random() * min(1.0, seconds) - monotonic()))
            seconds_each = 1 + max(self._connected, default=0) // CONNECTIONS_A_SECOND
            is_late = monotonic() > self._began_at + second + 1.5  # then the server gets less to do
            if second % seconds_each == 0 and not is_late:
                self._sample(second // seconds_each)
            progress()
        sleep(max(0.0, self._began_at + seconds - monotonic()))
        self.end()

    def _sample(self, number: int) -> None:
        """Sample the connections. For an account that does not see others', every other sample is of their number."""
        if self._session.sees_all or number % 2 == 0:
            levels, running, connected = self._session.sample()
            self._samples.append(levels)
        if not self._session.sees_all:
            if number % 2 == 0:
                return
            running, connected = _running_and_connected(self._session.counts())
        self._running.append(running)
        self._connected.append(connected)
        self._ended_at = monotonic()

    def end(self) -> None:
        """Read the counters for the last time. Raises pymysql.MySQLError."""
        self.after = Counters.of(self._session)
        self._ended_at = self.after.at
        running, connected = _running_and_connected(self.after.counts)
        self._running.append(running)
        self._connected.append(connected)

    @property
    def seconds(self) -> float:
        """Length, up to the last reading."""
        begin = self._began_at if self.before is None else self.before.at
        return max(0.001, self._ended_at - begin)

    @property
    def pools(self) -> set[Pool]:
        """Accounts and hosts that had a connection in a sample, or ran statements between the samples."""
        counted = {pool for pool, times in self._times().items() if pool[1] and times.in_statements > ROUNDING_SECONDS}
        return counted.union(*self._samples)

    def pool_spans(self, pools: Iterable[Pool]) -> list[PoolSpan]:
        """Return the period of each of these pools; empty where no sample was taken."""
        if not self._samples:
            return []
        nothing = Level()
        levels = {pool: [sample.get(pool, nothing) for sample in self._samples] for pool in sorted(pools)}
        times = _by_host(self._times(), levels)
        spans = (self._span(pool, levels[pool], times.get(pool)) for pool in levels)
        return [span for span in spans if span is not None]

    def _span(self, pool: Pool, levels: Sequence[Level], times: Times | None) -> PoolSpan | None:
        readings = np.array([astuple(level) for level in levels], dtype=float)
        samples, means, variances, highest = Sums.of(readings, np.ones((len(readings), 1))).statistics
        _, active, in_transaction, in_use, _ = means.tolist()
        uses = None
        if times is not None:
            in_use += times.in_statements / self.seconds - active  # counted, and sampled between statements
            active = times.in_statements / self.seconds
        if times is not None and self._session.counts_transactions:
            in_transaction = times.in_transactions / self.seconds
            in_use = in_transaction + active * _share_outside(levels, active, in_transaction)
            uses = times.transactions if in_transaction >= SHARE_OF_TRANSACTIONS * in_use else None
        return span_of(
            PoolSpan, self._started, self.seconds, {"pool": pool[0], "instance": pool[1], "library": ""},
            in_use_mean=in_use, in_use_max=highest[IN_USE], in_use_variance=variances[IN_USE], samples=samples,
            uses=uses, usage_seconds=None if uses is None else in_use * self.seconds,
            held_max=highest[HELD], active_mean=active, idle_seconds_max=highest[IDLE],
            in_transaction_mean=in_transaction if self._session.sees_transactions else None,
        )  # fmt: skip

    def _times(self) -> dict[Pool, Times]:
        """Return account and host -> the increase of its times in the period, where all three increased."""
        if self.before is None or self.after is None:
            return {}
        nothing = Times(0, 0, 0)
        increases = {pool: now.since(self.before.times.get(pool, nothing)) for pool, now in self.after.times.items()}
        return {pool: increase for pool, increase in increases.items() if increase is not None}

    def server_spans(self) -> list[ServerSpan]:
        """Return the period of the server; empty where no sample was taken."""
        if not self._running:
            return []
        session, before, after = self._session, self.before, self.after
        connected = max(self._connected)
        refused = aborted = busy = None
        if before is not None and after is not None:
            refused = after.increase("Connection_errors_max_connections", before)
            aborted = after.increase("Aborted_clients", before)
            if after.increase("Max_used_connections", before):
                connected = max(connected, (after.counts["Max_used_connections"] or 1) - 1)
            if after.cpu_seconds is not None and before.cpu_seconds is not None:
                busy = max(0.0, after.cpu_seconds - before.cpu_seconds) / self.seconds
        names = {"cores": session.cpus, "max_connections": session.server.max_connections}
        span = span_of(
            ServerSpan, self._started, self.seconds, names,
            running_mean=fmean(self._running), running_max=max(self._running), connected_max=connected,
            refused=refused, aborted=aborted, busy_cores=busy,
        )  # fmt: skip
        return [span] if span else []


def _running_and_connected(counts: Mapping[str, int | None]) -> tuple[int, int]:
    """Return the number of connections that run a statement, and of all, without this session's connection."""
    running, connected = (counts.get(name) or 1 for name in ("Threads_running", "Threads_connected"))
    return running - 1, connected - 1


def _share_outside(levels: Sequence[Level], active: float, in_transaction: float) -> float:
    """Return the share of the statements' time that is outside of transactions.

    active, in_transaction: mean numbers of connections that run a statement, and that are in a transaction, by the
    counters. Where no sample shows a statement, the result is the smallest share that both numbers allow.
    """
    if in_statements := sum(level.active for level in levels):
        return sum(level.in_use - level.in_transaction for level in levels) / in_statements
    return max(0.0, active - in_transaction) / active if active else 0.0


def _by_host(times: dict[Pool, Times], levels: Mapping[Pool, Sequence[Level]]) -> dict[Pool, Times]:
    """Return the times of each pool.

    The times of an account without a host are divided among its hosts, in proportion to their active connections.
    """
    of_pools = {pool: times[pool] for pool in levels if pool in times}
    for pool in levels:
        if pool not in of_pools and (of_account := times.get((pool[0], ""))) is not None:
            active = {
                host: sum(level.active for level in levels[pool[0], host]) for name, host in levels if name == pool[0]
            }
            share = active[pool[1]] / sum(active.values()) if any(active.values()) else 1 / len(active)
            of_pools[pool] = Times(0, 0, share * of_account.in_statements)
    return of_pools


def observe_server(
    url: URL, seconds: float, append: Append, note: Callable[[str], None], progress: Callable[[float], None]
) -> bool:
    """Observe the server for `seconds`, with at most one query a second, until the end or Ctrl-C.

    Return whether the server was there until the end. append: stores a period of a minute, when it ends; the last may
    be shorter. note: shows a line on figures that could not be read, and on how to read them. progress: is called with
    the seconds that have passed, about once a second.
    Raises BadInput where the server can't be reached, and what `append` raises. A server that goes away later ends the
    observation, unless it comes back within RECONNECT_SECONDS.
    """
    session: ServerSession | None = (opened := ServerSession(url))
    started = monotonic()
    ends_at = started + seconds
    pools: dict[Pool, float] = {}
    before: Counters | None = None
    try:
        for line in opened.notes:
            note(line)
        while session is not None and (left := ends_at - monotonic()) > 0.01:
            session.end_within(left + LAST_SECONDS)
            period = ServerPeriod(session, before)
            ending: BaseException | None = None
            try:
                period.read(min(PERIOD_SECONDS, left), lambda: progress(monotonic() - started))
            except (pymysql.MySQLError, KeyboardInterrupt) as error:
                ending = error
            if isinstance(ending, KeyboardInterrupt):
                session.end_within(LAST_SECONDS)
                with suppress(pymysql.MySQLError):
                    period.end()
            before = period.after
            pools = _still_there(pools, period.pools, monotonic())
            append(period.pool_spans(pools), period.server_spans())
            if isinstance(ending, KeyboardInterrupt):
                break
            if ending is not None:
                session.close()
                session = _reconnected(url, ending, note, ends_at)
    except KeyboardInterrupt:
        pass
    finally:
        if session is not None:
            session.close()
    return session is not None


def _still_there(pools: Mapping[Pool, float], seen: Iterable[Pool], now: float) -> dict[Pool, float]:
    """Return pool -> the time it was last seen, for pools of this and earlier periods that have not vanished.

    A pool that closed its connections counts for GONE_SECONDS, with no connection in use.
    """
    there = {pool: at for pool, at in pools.items() if now - at < GONE_SECONDS} | dict.fromkeys(sorted(seen), now)
    return dict(islice(there.items(), MOST_POOLS))


def _reconnected(
    url: URL, lost: pymysql.MySQLError, note: Callable[[str], None], ends_at: float
) -> ServerSession | None:
    """Return a new session; None where the server does not come back in time, or refuses."""
    now, since = monotonic(), f"{datetime.now(UTC):%H:%M:%S} UTC"
    while monotonic() < min(now + RECONNECT_SECONDS, ends_at):
        try:
            session = ServerSession(url)
        except PoolsizeError as error:
            if isinstance(error, BadInput) and not isinstance(error, NoAnswer):
                note(f"The observation ends at {since}: the server refuses a connection that it accepted before.")
                return None
            sleep(1)
        else:
            note(f"The connection was lost at {since} ({error_kind(lost)}), for {monotonic() - now:.0f} s.")
            return session
    note(f"The observation ends at {since}: the connection was lost ({error_kind(lost)}), and did not come back.")
    return None
