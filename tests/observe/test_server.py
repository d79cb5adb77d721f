"""`observe --url`: what real servers count of a known load, at each level of privileges."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import URL

from poolsize.facts.inspection import Platform
from poolsize.facts.server import Server
from poolsize.observe import server as observing
from poolsize.observe.observation import Source
from poolsize.observe.server import GONE_SECONDS, _by_host, _share_outside, _still_there, observe_server
from poolsize.observe.server_session import MOST_POOLS, Level, ServerSession, Times
from poolsize.observe.store import ObservationWriter, load_observation
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import MEASUREMENTS, in_ci, measured_again, mysqld, on_both
from tests.observe.test_pages import Kept
from tests.servers import administered_server

on_servers = pytest.mark.server

PRIVILEGES: Mapping[str, tuple[str, ...]] = {
    "alone": (),
    "process": ("PROCESS ON *.*",),
    "schema": ("SELECT ON performance_schema.*",),
    "all": ("PROCESS ON *.*", "SELECT ON performance_schema.*"),
}
"""Account -> its privileges."""
COUNTING = {
    "performance_schema": "ON",
    "performance_schema_instrument": "transaction=ON",
    "performance_schema_consumer_events_transactions_current": "ON",
    "performance_schema_consumer_events_statements_current": "ON",
}
"""Options with which MariaDB counts as MySQL does."""


class Seen(Kept):
    """What an observation said."""

    def pool(self, account: str) -> dict[str, float]:
        """The figures of an account's only period."""
        (span,) = [span for span in self.spans if span.pool == account]
        names = ("in_use_mean", "in_use_max", "held_max", "active_mean", "in_transaction_mean", "idle_seconds_max")
        return {name: values[0] for name in names if (values := getattr(span, name))}


def observed(url: URL, seconds: float, progress: Callable[[float], None] = lambda _: None) -> Seen:
    seen = Seen()
    observe_server(url, seconds, seen.append, seen.notes.append, progress)
    return seen


def once_after(seconds: float, do: Callable[[], None]) -> Callable[[float], None]:
    """A progress that does something once, after so many seconds of an observation."""
    done: list[float] = []

    def progress(passed: float) -> None:
        if passed > seconds and not done:
            done.append(passed)
            do()

    return progress


def account(server: PrivateServer, name: str, grants: tuple[str, ...]) -> URL:
    """The URL of an account with these privileges, on a server that has a table."""
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS store")
        cursor.execute("CREATE TABLE IF NOT EXISTS store.stock (id INT PRIMARY KEY) ENGINE = InnoDB")
        cursor.execute(f"CREATE USER IF NOT EXISTS '{name}'@'127.0.0.1' IDENTIFIED BY 'secret'")
        for grant in grants:
            cursor.execute(f"GRANT {grant} TO '{name}'@'127.0.0.1'")
    return database_url(server.url).set(username=name, password="secret")


@contextmanager
def three_connections(url: URL) -> Iterator[URL]:
    """Connections of an account: the first runs a statement, the second has an open transaction, the third is idle."""
    connections = [connect(url) for _ in range(3)]

    def run() -> None:
        with suppress(pymysql.MySQLError):  # killed at the end
            connections[0].cursor().execute("SELECT SLEEP(600)")

    running = threading.Thread(target=run)
    running.start()
    cursor = connections[1].cursor()
    cursor.execute("BEGIN")
    cursor.execute("SELECT * FROM store.stock")
    time.sleep(1)
    try:
        yield url
    finally:
        cursor.execute(f"KILL QUERY {connections[0].thread_id()}")
        running.join()
        for connection in connections:
            connection.close()


@contextmanager
def known_load(
    url: URL, threads: int, usage_seconds: float, pause_seconds: float
) -> Iterator[list[tuple[float, float]]]:
    """A load whose list has the beginning and the end of each transaction: statements, with a pause between them."""
    used: list[tuple[float, float]] = []
    ending = threading.Event()

    def use(connection: Any) -> None:
        with closing(connection), connection.cursor() as cursor:
            while not ending.wait(pause_seconds):
                begun = time.time()
                cursor.execute("BEGIN")
                cursor.execute(
                    "SELECT SLEEP(%s) FROM (SELECT COUNT(*) FROM store.stock) AS rows_", (usage_seconds / 2,)
                )
                time.sleep(usage_seconds / 2)
                cursor.execute("COMMIT")
                used.append((begun, time.time()))

    users = [threading.Thread(target=use, args=(connect(url),)) for _ in range(threads)]
    for user in users:
        user.start()
        time.sleep((usage_seconds + pause_seconds) / threads)
    try:
        yield used
    finally:
        ending.set()
        for user in users:
            user.join()


def is_mysql(server: PrivateServer) -> bool:
    with closing(connect(database_url(server.url))) as connection:
        return "MariaDB" not in connection.get_server_info()


@pytest.fixture(scope="module")
def seen_by(server: PrivateServer) -> Mapping[str, Seen]:
    """Privileges -> what an account with these observed of the same three connections."""
    urls = [account(server, name, grants) for name, grants in PRIVILEGES.items()]
    with three_connections(account(server, "app", ("ALL ON store.*",))) as url, ThreadPoolExecutor() as threads:
        for _ in range(MEASUREMENTS):  # a neighbour on the same processor may spoil one
            seen = dict(zip([*PRIVILEGES, "app"], threads.map(observed, [*urls, url], repeat(3)), strict=True))
            means = [seen[name].pool("app")["in_use_mean"] for name in ("process", "all")]
            if means == pytest.approx([2, 2], rel=0.05):
                break
        return seen


@on_servers
@on_both
@pytest.mark.parametrize("privileges", ["process", "schema", "all"])
def test_an_account_counts_what_it_may_see(server: PrivateServer, seen_by: Mapping[str, Seen], privileges: str) -> None:
    seen = seen_by[privileges]
    if privileges == "schema" and not is_mysql(server):  # whose performance_schema is off
        assert {span.pool for span in seen.spans} == set()
        assert "GRANT PROCESS ON *.* TO 'schema'@'127.0.0.1'." in seen.notes[0]
        return
    pool = seen.pool("app")
    assert pool["in_use_mean"] == pytest.approx(2, rel=0.05)
    assert pool["active_mean"] == pytest.approx(1, rel=0.05)
    assert pool["in_transaction_mean"] == pytest.approx(1, rel=0.05)
    assert (pool["in_use_max"], pool["held_max"]) == (2, 4)  # and the connection that observes for this account
    assert 1 <= pool["idle_seconds_max"] <= 60
    assert len(seen.notes) == (0 if is_mysql(server) and privileges != "process" else 1)


@on_servers
@on_both
def test_without_privileges_an_account_counts_its_own_connections(
    server: PrivateServer, seen_by: Mapping[str, Seen]
) -> None:
    """That is of use to the application's account. The connection that observes does not count."""
    grant = "SELECT ON performance_schema.*" if is_mysql(server) else "PROCESS ON *.*"
    for name in ("alone", "app"):
        assert len(seen_by[name].notes) == 1
        assert f"GRANT {grant} TO '{name}'@'127.0.0.1'." in seen_by[name].notes[0]
    assert seen_by["alone"].spans == []
    pool = seen_by["app"].pool("app")
    assert (pool["held_max"], pool["active_mean"], pool["in_use_mean"]) == (3, 1, 1)
    assert "in_transaction_mean" not in pool


@on_servers
@on_both
@pytest.mark.parametrize("name", [*PRIVILEGES, "app"])
def test_the_server_is_counted_for_any_account(seen_by: Mapping[str, Seen], name: str) -> None:
    (span,) = seen_by[name].servers
    assert span.running_max[0] is not None
    assert span.running_max[0] >= 1
    assert span.connected_max[0] is not None
    assert span.connected_max[0] >= 3
    assert (span.refused, span.max_connections) == ((0,), 100)
    assert span.aborted[0] is not None  # a connection of an earlier measurement may end late
    assert span.cores == len(os.sched_getaffinity(0))
    assert span.busy_cores[0] is not None


def assert_true(url: URL, observer: URL, seconds: float) -> None:
    """The mean in use is within 5 % of the load's own, and the highest number within a connection."""
    with known_load(url, threads=5, usage_seconds=0.3, pause_seconds=0.2) as used:
        observation = observed(observer, seconds)
        time.sleep(0.5)
    spans = [span for span in observation.spans if span.pool == "app"]  # of a minute each, or shorter
    began = datetime.fromisoformat(spans[0].started).timestamp()
    ended = datetime.fromisoformat(spans[-1].started).timestamp() + spans[-1].period_seconds
    inside = [(max(began, begin), min(end, ended)) for begin, end in used if end > began and begin < ended]
    truth = sum(end - begin for begin, end in inside) / (ended - began)
    mean = sum((span.in_use_mean[0] or 0) * span.period_seconds for span in spans) / (ended - began)
    assert mean == pytest.approx(truth, rel=0.05)
    most = max(sum(begin <= at < end for begin, end in inside) for at, _ in inside)
    assert abs(max(span.in_use_max[0] or 0 for span in spans) - most) <= 1
    uses = [span.uses[0] or 0 for span in spans if span.uses]
    assert not uses or sum(uses) == pytest.approx(sum(began < end <= ended for _, end in used), abs=2)
    assert observation.notes == [] or "counted for statements" in observation.notes[0]


@on_servers
@measured_again
@pytest.mark.parametrize("counts", in_ci(("mysql", "mariadb"), "mysql"))
def test_counters_give_the_mean_in_use(counts: str) -> None:
    with administered_server(mysqld(counts), COUNTING if counts == "mariadb" else {}, 50) as server:
        observer = account(server, "schema", PRIVILEGES["schema"])
        assert_true(account(server, "app", ("ALL ON store.*",)), observer, 8)


@on_servers
@measured_again
@pytest.mark.experiment
def test_userstat_and_samples_give_the_mean_in_use() -> None:
    with administered_server(None, {"userstat": "ON"}, 50) as server:
        observer = account(server, "process", PRIVILEGES["process"])
        assert_true(account(server, "app", ("ALL ON store.*",)), observer, 120)


@on_servers
def test_ctrl_c_ends_with_what_there_is(server: PrivateServer, tmp_path: Path) -> None:
    url = account(server, "all", PRIVILEGES["all"])
    path = tmp_path / "observed.jsonl"
    source = Source("server", "127.0.0.1", "0", "2026-01-02T03:04:05+00:00")
    with ObservationWriter(path, source) as writer:
        observe_server(url, 600, writer.append, print, once_after(2, lambda: os.kill(os.getpid(), signal.SIGINT)))
    (server_span,) = load_observation(path).server
    assert 0.5 < server_span.period_seconds < 60
    assert server_span.aborted


@on_servers
@measured_again
def test_a_lost_connection_comes_back(server: PrivateServer) -> None:
    url = account(server, "all", PRIVILEGES["all"])

    def end_connection() -> None:
        with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT ID FROM information_schema.processlist WHERE USER = 'all'")
            for (number,) in cursor.fetchall():
                cursor.execute(f"KILL {number}")

    seen = observed(url, 7, once_after(2, end_connection))
    assert len(seen.servers) == 2
    assert [note for note in seen.notes if note.startswith("The connection was lost at ")] == seen.notes[-1:]


@on_servers
def test_a_server_that_stays_away_ends_the_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "RECONNECT_SECONDS", 1)
    with administered_server(None, {}, 50) as server:
        url = account(server, "all", PRIVILEGES["all"])
        began = time.monotonic()
        seen = observed(url, 60, once_after(2, lambda: os.kill(server.pid, signal.SIGTERM)))
        assert time.monotonic() - began < 55
    assert len(seen.servers) == 1
    assert "did not come back" in seen.notes[-1]


def test_times_of_an_account_are_divided_among_its_hosts() -> None:
    levels = {
        ("shop", "a"): [Level(active=3), Level(active=0)],
        ("shop", "b"): [Level(active=1), Level(active=0)],
        ("idle", "a"): [Level(), Level()],
        ("idle", "b"): [Level(), Level()],
    }
    times = {("shop", ""): Times(0, 0, 8), ("idle", ""): Times(0, 0, 1)}
    shares = {pool: it.in_statements for pool, it in _by_host(times, levels).items()}
    assert shares == {("shop", "a"): 6, ("shop", "b"): 2, ("idle", "a"): 0.5, ("idle", "b"): 0.5}


def test_a_statement_in_a_transaction_counts_once() -> None:
    sampled = [Level(active=2, in_transaction=2, in_use=3), Level(active=2, in_transaction=1, in_use=2)]
    assert _share_outside(sampled, 2, 1.5) == 0.5
    assert _share_outside([Level()], 2, 1.5) == 0.25
    assert _share_outside([Level()], 1, 1.5) == 0


def test_a_pool_that_has_vanished_is_no_process_any_more() -> None:
    old, new = ("shop", "10.0.0.1"), ("shop", "10.0.0.2")
    pools = _still_there({}, {old}, 0.0)
    pools = _still_there(pools, {new}, GONE_SECONDS - 1)
    assert {*pools} == {old, new}
    assert {*_still_there(pools, {new}, GONE_SECONDS)} == {new}
    assert len(_still_there({}, {("shop", str(host)) for host in range(9_999)}, 0.0)) == MOST_POOLS


def test_counters_that_were_reset_count_nothing() -> None:
    assert Times(5, 2, 3).since(Times(9, 8, 7)) is None
    assert Times(5, 2, 3).since(Times(4, 1, 1)) == Times(1, 1, 2)


@pytest.mark.parametrize(
    ("platform", "place"),
    [(Platform.RDS, "in the parameter group"), (Platform.CLOUD_SQL, "as a database flag"), (None, "configuration")],
)
def test_the_way_to_a_setting_is_the_platforms(platform: Platform | None, place: str) -> None:
    session = object.__new__(ServerSession)
    session._platform, session._has_schema, session._instruments = platform, False, {}
    session._times = None
    session.server = Server(
        "db", "MySQL", "8.4.0", 151, 0, "one-thread-per-connection", durable=True, buffer_pool_bytes=1
    )
    assert f"performance_schema = ON {place if platform else 'in the server'}" in session._way_to_times()
