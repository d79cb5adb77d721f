"""ServerPeriod: the samples and counters of a server in a period, and the connections in use that follow from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import random
from statistics import fmean, pvariance
from time import monotonic, sleep
from typing import Self

from poolsize.observe.observation import PoolSpan, ServerSpan, Values
from poolsize.observe.server_session import ROUNDING_SECONDS, Held, Pool, ServerSession, Times

SHARE_OF_TRANSACTIONS = 0.9
"""Where transactions make up so much of the time in use, each transaction is a usage."""


@dataclass(frozen=True)
class Counters:
    """What the server has counted since its start. at: of the reading, on this machine's monotonic clock.

    queries: that the session sent before.
    """

    at: float
    counts: dict[str, int | None]
    times: dict[Pool, Times]
    cpu_seconds: float | None
    queries: int

    @classmethod
    def of(cls, session: ServerSession) -> Self:
        """Return the counters now."""
        counts, queries, cpu_seconds = session.counts(), session.queries, session.cpu_seconds()
        times, at = session.times(), monotonic()
        return cls(at, counts, times, cpu_seconds, queries)

    def increase(self, name: str, before: "Counters") -> int | None:
        """Return the increase of a status variable since a reading; None where it is not known."""
        was, now = before.counts.get(name), self.counts.get(name)
        return now - was if was is not None and now is not None and now >= was else None


@dataclass(frozen=True)
class _Levels:
    """Connections of a pool in each sample, and the seconds for which its oldest idle connection was idle."""

    held: Sequence[int]
    active: Sequence[int]
    in_transaction: Sequence[int]
    in_use: Sequence[int]
    idle_seconds: float

    @classmethod
    def of(cls, samples: Sequence[Sequence[Held]]) -> Self:
        """Return the levels of the samples, which have the connections of a single pool."""
        return cls(
            [len(sample) for sample in samples],
            [sum(held.active for held in sample) for sample in samples],
            [sum(held.in_transaction for held in sample) for sample in samples],
            [sum(held.in_use for held in sample) for sample in samples],
            max((held.idle_seconds for sample in samples for held in sample), default=0.0),
        )

    def share_outside(self, in_transaction: float, active: float) -> float:
        """Return the share of the statements' time that is outside of transactions.

        in_transaction, active: connections that are so on average, by the counters. Without a sample of a statement,
        the share is that of statements which are all in transactions, or of transactions that are all in statements.
        """
        if sum(self.active):
            return (sum(self.in_use) - sum(self.in_transaction)) / sum(self.active)
        return max(0.0, active - in_transaction) / active if active else 0.0


class ServerPeriod:
    """The readings of a period, which begins when it is made, and ends with `end` or with the last sample.

    before, after: the counters at its beginning and its end; None where they were not read.
    """

    def __init__(self, session: ServerSession, before: Counters | None) -> None:
        """before: the counters at the end of the period before, or None to read them."""
        self.before = before
        self.after: Counters | None = None
        self._session = session
        self._started, self._began_at = datetime.now(UTC), monotonic()
        self._ended_at = self._began_at
        self._samples: list[list[Held]] = []
        self._running: list[int] = []
        self._connected: list[int] = []

    def read(self, seconds: float, progress: Callable[[], None]) -> None:
        """Read for so many seconds: at most a statement in each, at a random moment. Raises pymysql.MySQLError.

        Two seconds have no sample, because two statements read the counters. The moments are random, so that a load
        that repeats every second does not always look the same.
        """
        if self.before is None:
            self.before = Counters.of(self._session)
        for second in range(max(1, round(seconds) - 2)):
            sleep(max(0.0, self._began_at + second + random() * min(1.0, seconds) - monotonic()))
            if monotonic() < self._began_at + second + 1.5:  # else the server answers late, and gets less to do
                self._sample(second)
            progress()
        sleep(max(0.0, self._began_at + seconds - monotonic()))
        self.end()

    def _sample(self, second: int) -> None:
        """Sample the connections; in every other second only their number, for an account that does not see others'."""
        if self._session.sees_all or second % 2 == 0:
            held, running, connected = self._session.sample()
            self._samples.append(held)
        if not self._session.sees_all:
            if second % 2 == 0:
                return
            counts = self._session.counts()
            running, connected = (  # without this session's own
                (counts.get(name) or 1) - 1 for name in ("Threads_running", "Threads_connected")
            )
        self._running.append(running)
        self._connected.append(connected)
        self._ended_at = monotonic()

    def end(self) -> None:
        """Read the counters for the last time. Raises pymysql.MySQLError."""
        self.after = Counters.of(self._session)
        self._ended_at = self.after.at

    @property
    def seconds(self) -> float:
        """Length, up to the last reading."""
        begin = self._began_at if self.before is None else self.before.at
        return max(0.001, self._ended_at - begin)

    @property
    def pools(self) -> set[Pool]:
        """Accounts and hosts that had a connection in a sample, or ran statements between the samples."""
        counted = {pool for pool, it in self._times().items() if pool[1] and it.in_statements > ROUNDING_SECONDS}
        return counted | {held.pool for sample in self._samples for held in sample}

    def pool_spans(self, pools: Iterable[Pool]) -> list[PoolSpan]:
        """Return the period of these pools; empty without any sample."""
        if not self._samples:
            return []
        levels = {
            pool: _Levels.of([[held for held in sample if held.pool == pool] for sample in self._samples])
            for pool in sorted(pools)
        }
        times = _by_host(self._times(), levels)
        return [self._span(pool, levels[pool], times.get(pool)) for pool in levels]

    def _span(self, pool: Pool, levels: "_Levels", times: Times | None) -> PoolSpan:
        in_use, counts_transactions = fmean(levels.in_use), self._session.counts_transactions
        active, in_transaction, uses = fmean(levels.active), fmean(levels.in_transaction), None
        if times is not None:
            active = times.in_statements / self.seconds
            in_use = active + fmean(levels.in_use) - fmean(levels.active)  # counted, and sampled between statements
        if times is not None and counts_transactions:
            in_transaction = times.in_transactions / self.seconds
            in_use = in_transaction + active * levels.share_outside(in_transaction, active)
            uses = times.transactions if in_transaction >= SHARE_OF_TRANSACTIONS * in_use else None
        return PoolSpan(
            pool=pool[0], instance=pool[1], library="", started=self._started.isoformat(), period_seconds=self.seconds,
            in_use_mean=_series(in_use), in_use_max=_series(max(levels.in_use)),
            in_use_variance=_series(pvariance(levels.in_use)), samples=_series(len(self._samples)),
            uses=_series(uses), usage_seconds=_series(None if uses is None else in_use * self.seconds),
            held_max=_series(max(levels.held)), active_mean=_series(active),
            in_transaction_mean=_series(in_transaction if self._session.sees_transactions else None),
            idle_seconds_max=_series(levels.idle_seconds),
        )  # fmt: skip

    def _times(self) -> dict[Pool, Times]:
        """Return account and host -> the increase of its times in the period, where all three increased."""
        if self.before is None or self.after is None:
            return {}
        nothing = Times(0, 0, 0)
        increases = {pool: now.since(self.before.times.get(pool, nothing)) for pool, now in self.after.times.items()}
        return {pool: increase for pool, increase in increases.items() if increase is not None}

    def server_span(self) -> ServerSpan | None:
        """Return the period of the server; None without any sample."""
        if not self._running:
            return None
        session, before, after = self._session, self.before, self.after
        connected = max(self._connected)
        refused = aborted = statements = busy = None
        if before is not None and after is not None:
            refused = after.increase("Connection_errors_max_connections", before)
            aborted = after.increase("Aborted_clients", before)
            if (statements := after.increase("Questions", before)) is not None:
                statements = max(0, statements - (after.queries - before.queries))
            if after.increase("Max_used_connections", before):
                connected = max(connected, (after.counts["Max_used_connections"] or 1) - 1)
            if after.cpu_seconds is not None and before.cpu_seconds is not None:
                busy = max(0.0, after.cpu_seconds - before.cpu_seconds) / self.seconds
        return ServerSpan(
            started=self._started.isoformat(), period_seconds=self.seconds,
            running_mean=_series(fmean(self._running)), running_max=_series(max(self._running)),
            connected_max=_series(connected), refused=_series(refused), aborted=_series(aborted),
            statements=_series(statements), busy_cores=_series(busy),
            cores=session.cpus, max_connections=session.max_connections,
        )  # fmt: skip


def _by_host(times: dict[Pool, Times], levels: Mapping[Pool, _Levels]) -> dict[Pool, Times]:
    """Return the times of each pool. Times of an account without a host are divided by its hosts' samples at work."""
    of_pools = {pool: times[pool] for pool in levels if pool in times}
    for pool, of_pool in levels.items():
        if pool not in of_pools and (of_account := times.get((pool[0], ""))) is not None:
            active = [sum(of_host.active) for (account, _), of_host in levels.items() if account == pool[0]]
            share = sum(of_pool.active) / sum(active) if sum(active) else 1 / len(active)
            of_pools[pool] = Times(0, 0, share * of_account.in_statements)
    return of_pools


def _series(value: float | None) -> Values:
    return () if value is None else (round(max(0.0, value), 6),)
