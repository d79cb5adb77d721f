"""ServerSession: a connection to a server in production, and what its account may read there of all connections."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from socket import gethostname

import psutil
from sqlalchemy import URL

from poolsize.errors import WorkFailed
from poolsize.facts.inspection import IDLE, Platform
from poolsize.facts.server import number_of, query, read_pairs, text_of
from poolsize.server.encryption import is_local
from poolsize.server.processes import server_process
from poolsize.server.reading_session import ReadingSession

QUERIES = "poolsize.observe"
"""The package whose queries are used."""
NOT_CLIENTS = ("Daemon", "Binlog Dump", "Register", "Slave", "Replica", "Group Replication")
"""Beginnings of the commands of connections that belong to the server or to a replica."""
OWN_ACCOUNTS = {
    "event_scheduler", "system user", "unauthenticated user", "rdsadmin", "cloudsqladmin", "azure_superuser",
}  # fmt: skip
"""Accounts of the server itself, and of the providers that run it."""
WITHOUT_POOLS: Mapping[Platform, str] = {
    Platform.TIDB: "TiDB answers. Only the connections of this TiDB node are counted.",
    Platform.VITESS: "Vitess answers. The connections end at vtgate, and the pools to the database are vttablet's.",
    Platform.PROXY: "A proxy answers. The connections are the proxy's, whose pool the applications share.",
}
"""Platform -> what its connections are, where the application's pools do not hold them."""

ROUNDING_SECONDS = 0.001
"""Times decrease by less where a statement ends between the reading of the statements under way and of the sums."""

MOST_POOLS = 500
"""Pools that are kept; no server that people run has more."""

Pool = tuple[str, str]
"""Account and host."""


@dataclass
class Level:
    """Connections of a pool in a sample.

    active: run a statement. in_use: are active, or have an open transaction, so that no other request can use them.
    idle_seconds: since the last statement of the connection that is idle for longest.
    """

    held: int = 0
    active: int = 0
    in_transaction: int = 0
    in_use: int = 0
    idle_seconds: float = 0.0

    def add(self, seconds: float, *, active: bool, in_transaction: bool) -> None:
        """Add a connection. seconds: since it got its present command."""
        self.held += 1
        self.active += active
        self.in_transaction += in_transaction
        self.in_use += active or in_transaction
        if not active:
            self.idle_seconds = max(self.idle_seconds, seconds)


@dataclass(frozen=True)
class Times:
    """What an account did since the server's start. transactions: that ended. The times are in seconds."""

    transactions: float
    in_transactions: float
    in_statements: float

    def since(self, before: "Times") -> "Times | None":
        """Return the increase since a reading; None where a value decreased, as after a reset."""
        increase = Times(
            self.transactions - before.transactions,
            self.in_transactions - before.in_transactions,
            self.in_statements - before.in_statements,
        )
        return increase if min(increase.in_transactions, increase.in_statements) > -ROUNDING_SECONDS else None


class ServerSession(ReadingSession):
    """A session whose statements differ by what the account may read.

    sees_all: whether connections of all accounts are in a sample. sees_transactions: whether a sample has the open
    transactions. counts_transactions: whether `times` has the transactions' times.
    Every method but `close` raises pymysql.MySQLError where the connection is lost.
    """

    def _prepare(self, url: URL) -> None:
        super()._prepare(url)
        self._instruments = dict(self._tried(query("instruments", QUERIES), 2) or ()) if self._has_schema else {}
        self.counts_transactions = len(self._instruments) == 6 and all(self._instruments.values())
        self._sample, self.sees_all, self.sees_transactions = self._chosen_sample()
        self._times = self._chosen_times()
        is_here = is_local(url) and self._variables.get("hostname") == gethostname()
        self._process = server_process(url) if is_here else None
        self.cpus = self._cpus()

    def _chosen_sample(self) -> tuple[str, bool, bool]:
        """Return the best sampling statement that works; whether all accounts, and whether transactions are in it."""
        if self.counts_transactions and self._works(statement := query("connections_with_events", QUERIES)):
            return statement, True, True
        holders = [query(f"holders_{name}") for name in ("threads", "processlist", "locking")]
        with_innodb = query("connections_with_innodb", QUERIES)
        for connections in holders:
            if self._works(statement := with_innodb.replace("{connections}", connections)):
                return statement, True, True
        works = next((connections for connections in holders if self._works(connections)), None)
        if works is None:
            raise WorkFailed("the server does not list the connections that poolsize has there")
        return works, works == holders[0], False

    def _chosen_times(self) -> str | None:
        """Return the statement that reads the times of accounts, or None where nothing counts them."""
        needed = "statement/sql/select", "thread_instrumentation", "events_statements_current"  # for those under way
        timed = all(map(self._instruments.get, needed))
        names = ("account_times", "user_times") if timed else ("user_times",)
        return next((text for name in names if self._tried(text := query(name, QUERIES), 5)), None)

    def _works(self, statement: str) -> bool:
        """Return whether a sampling statement is allowed, and shows this connection at least."""
        return any(row[0] == self._own_id for row in self._tried(statement, 5, 6) or ())

    def _cpus(self) -> int | None:
        """Return the CPUs of the server, as the system or MariaDB says them."""
        if self._process is not None:
            with suppress(psutil.Error, AttributeError):
                return len(self._process.cpu_affinity())
        for _, number in self._tried(query("cpus", QUERIES), 2) or ():
            return number_of({"": text_of(number)}, "") or None
        return None

    @property
    def notes(self) -> Iterator[str]:
        """Yield a sentence or two for each thing that can't be read, with the way to it."""
        if self._platform and self._platform in WITHOUT_POOLS:
            yield WITHOUT_POOLS[self._platform]
        by_schema = self._has_schema and self.server.flavor != "MariaDB"  # which counts transactions
        if not self.sees_all:
            yield (
                "Only the connections of this account are counted, and each only while it runs a statement. To count "
                f"all: {self._grant('SELECT ON performance_schema.*' if by_schema else 'PROCESS ON *.*')}"
            )
        elif not self.sees_transactions:
            yield (
                "A connection counts as in use only while it runs a statement. To see open transactions: "
                f"{self._grant('PROCESS ON *.*')}"
            )
        elif not self.counts_transactions:
            how = "sampled" if self._times is None else "counted for statements, and sampled between them"
            yield f"The time in use is {how}: observe for 10 minutes or more. {self._way_to_times()}"
        if self._process is None:
            yield "The CPU time of the server is not recorded, because this machine does not show its process."

    def _way_to_times(self) -> str:
        """Return what lets the server count the time of transactions, or of statements at least."""
        if self._instruments:
            return (
                "To count it: UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE "
                "NAME = 'transaction', and UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN "
                "('events_transactions_current', 'events_statements_current')."
            )
        if self._has_schema:
            return f"To count it: {self._grant('SELECT ON performance_schema.*')}"
        settings = "performance_schema = ON"
        if self.server.flavor == "MariaDB":
            settings += (
                ", performance_schema_instrument = 'transaction=ON', "
                "performance_schema_consumer_events_transactions_current = ON and "
                "performance_schema_consumer_events_statements_current = ON"
            )
        restart = f"To count it, set {settings} {self.setting_at}, and restart the server."
        if self.server.flavor == "MariaDB" and self._times is None:
            return f"{restart} Without a restart, userstat = ON counts statements for an account with PROCESS."
        return restart

    def sample(self) -> tuple[dict[Pool, Level], int, int]:
        """Return the connections of each pool, how many of all connections run a statement, and how many are open.

        This session's own is in none of them.
        """
        levels: dict[Pool, Level] = {}
        running = connected = 0
        for number, account, host, command, seconds, *open_transaction in self._rows(self._sample, 5, 6):
            if number == self._own_id or text_of(command).startswith(NOT_CLIENTS):
                continue
            active = text_of(command) not in IDLE
            running, connected = running + active, connected + 1
            pool = text_of(account or ""), self._host(text_of(host or ""))
            if pool[0] and pool[0] not in OWN_ACCOUNTS and (pool in levels or len(levels) < MOST_POOLS):
                idle = float(seconds) if isinstance(seconds, int) and seconds > 0 else 0.0
                level = levels.setdefault(pool, Level())
                level.add(idle, active=active, in_transaction=any(open_transaction))
        return levels, running, connected

    def _host(self, text: str) -> str:
        """Return the host of a connection, without the port that process lists add."""
        host, _, port = text.rpartition(":")
        return host if "schema.processlist" in self._sample and host and port.isdigit() else text

    def times(self) -> dict[Pool, Times]:
        """Return account and host -> its times, without this session's; empty where nothing counts them.

        The host is "" where the server counts by account only.
        """
        if self._times is None:
            return {}
        times, own_seconds = {}, self._own_seconds
        for account, host, *values in self._rows(self._times, 5):
            pool = text_of(account or ""), text_of(host or "")
            if pool[0] not in OWN_ACCOUNTS:
                with suppress(TypeError, ValueError):
                    transactions, in_transactions, in_statements = map(float, values)
                    if pool[0] == self._own_name and pool[1] in {"", self._own_host}:
                        in_statements -= own_seconds
                    times[pool] = Times(transactions, in_transactions, in_statements)
        return times

    def counts(self) -> dict[str, int | None]:
        """Return status variable -> its value; None for those that the server lacks."""
        self.queries += 1
        with self._connection.cursor() as cursor:
            status = read_pairs(cursor, "server_counts", QUERIES)
        return {name: number_of(status, name) for name in status}

    def cpu_seconds(self) -> float | None:
        """Return the CPU time that the server's process has used, where it is on this machine."""
        if self._process is None:
            return None
        with suppress(psutil.Error):
            return sum(self._process.cpu_times()[:2])
        return None
