"""`capture --url`: which transactions of a known load real servers show, at each level of recording and privileges."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import mysql.connector
import pytest
from sqlalchemy import URL

from poolsize.capture.digests import statement_key
from poolsize.capture.events import StatementEvent
from poolsize.capture.fingerprint import fingerprinted
from poolsize.capture.statement_history import StatementHistory
from poolsize.capture.transactions import LeftOut, rebuilt
from poolsize.errors import BadInput
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import FLAVORS, mysqld
from tests.servers import administered_server

pytestmark = pytest.mark.server

BY_BEGIN = ("BEGIN", "SELECT c FROM store.t WHERE id = 1", "UPDATE store.t SET c = 'secret' WHERE id = 1", "COMMIT")
ALONE = ("SELECT c FROM store.t WHERE id = 2",)
IMPLICIT = ("SELECT id, c FROM store.t WHERE id = 3", "DELETE FROM store.t WHERE id = 99", "ROLLBACK")
LONG = ("BEGIN", *["SELECT c FROM store.t WHERE id = 4"] * 18, "COMMIT")
RECORDS = {
    "all": ("events_statements_history_long", "events_statements_history"),
    "each": ("events_statements_history",),
    "digests": (),
}
"""What the server records -> its consumers."""


@pytest.fixture(scope="module", params=FLAVORS)
def recording(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server with performance_schema."""
    with administered_server(mysqld(request.param), {"performance_schema": "ON"}, 100) as server:
        run(
            server,
            "CREATE DATABASE store",
            "CREATE TABLE store.t (id INT PRIMARY KEY, c VARCHAR(4000)) ENGINE = InnoDB",
            "INSERT INTO store.t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'",
            "GRANT ALL ON store.* TO app@'127.0.0.1'",
            "CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'secret'",
            "GRANT SELECT ON performance_schema.* TO reader@'127.0.0.1'",
        )
        yield server


def run(server: PrivateServer, *statements: str) -> None:
    with closing(connect(database_url(server.url))) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def record(server: PrivateServer, level: str) -> None:
    """Let the server record what a level names, for connections that open later."""
    setup = "UPDATE performance_schema.setup_"
    run(
        server,
        f"{setup}consumers SET ENABLED = 'NO' WHERE NAME LIKE 'events%history%'",
        f"{setup}consumers SET ENABLED = 'YES' WHERE NAME IN ('events_statements_current', 'statements_digest', "
        f"{', '.join(map(repr, RECORDS[level] or ('',)))})",
        "TRUNCATE performance_schema.events_statements_history_long",
    )


def url_of(server: PrivateServer, name: str) -> URL:
    return database_url(server.url).set(username=name, password="secret")


LOST = 3
"""Servers add to a digest without a lock: of what two sessions end at the same moment, one may not count."""
READS = threading.Event()
"""Set while a capture reads, after its first second."""


@contextmanager
def load(url: URL, transactions: Sequence[tuple[str, ...]], seconds: float, pause: float) -> Iterator[Counter[Any]]:
    """A session for each transaction, which repeats it, and is open until the context's end. Yields how often each ran.

    It starts when a capture reads. The history of each connection ends with the connection.
    """
    ran: Counter[Any] = Counter()
    ending = threading.Event()
    READS.clear()

    def repeat(transaction: tuple[str, ...]) -> None:
        with closing(connect(url)) as connection, connection.cursor() as cursor:
            connection.autocommit(transaction != IMPLICIT)
            READS.wait()
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for statement in transaction:
                    cursor.execute(statement)
                ran[transaction] += 1
                time.sleep(pause)
            ending.wait()

    users = [threading.Thread(target=repeat, args=(transaction,)) for transaction in transactions]
    for user in users:
        user.start()
    try:
        yield ran
    finally:
        READS.set()
        ending.set()
        for user in users:
            user.join()


@dataclass
class Captured:
    """What a capture showed. transactions: how often the statements of each transaction that was seen whole."""

    history: StatementHistory
    events: list[StatementEvent]
    transactions: Counter[tuple[str, ...]]


def captured(url: URL, seconds: float) -> Captured:
    with closing(StatementHistory(url)) as history:
        events = list(history.events(seconds + 1, lambda passed: READS.set() if passed > 0.9 else None))
    transactions = Counter(
        tuple(statement.fingerprint.text for statement in made.statements)
        for made in rebuilt(iter(events), LeftOut())
        if made.is_whole
    )
    return Captured(history, [event for event in events if isinstance(event, StatementEvent)], transactions)


def statements(transaction: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fingerprints of a transaction's statements, without BEGIN and COMMIT."""
    prints = [fingerprinted(text) for text in transaction if text not in {"BEGIN", "COMMIT", "ROLLBACK"}]
    return tuple(each.text for each in prints if each is not None)


@pytest.mark.parametrize("level", ["all", "each"])
def test_every_transaction_of_a_quiet_server_is_seen_whole(recording: PrivateServer, level: str) -> None:
    record(recording, level)
    with load(url_of(recording, "app"), [BY_BEGIN, ALONE, IMPLICIT], 3, pause=0.7) as ran:
        seen = captured(url_of(recording, "reader"), 5)
    assert seen.transactions[statements(BY_BEGIN)] == ran[BY_BEGIN]
    assert seen.transactions[statements(ALONE)] == ran[ALONE]
    # Its first ROLLBACK may be that of a transaction that began before; the second shows that autocommit is off.
    assert ran[IMPLICIT] - 2 <= seen.transactions[statements(IMPLICIT)] <= ran[IMPLICIT]
    event = next(event for event in seen.events if event.text == BY_BEGIN[1])
    assert abs(event.started - time.time()) < 60
    assert 0 < event.seconds < 1
    assert event.rows_sent == 1
    assert seen.history.is_complete
    counted = {statement_key(digest.text): digest.count for digest in seen.history.digests}
    assert counted[statement_key(ALONE[0])] == pytest.approx(ran[BY_BEGIN] + ran[ALONE], abs=LOST)


def test_every_transaction_of_a_busy_server_is_seen_whole(recording: PrivateServer) -> None:
    record(recording, "all")
    with load(url_of(recording, "app"), [LONG, BY_BEGIN, ALONE], 4, pause=0.05) as ran:
        seen = captured(url_of(recording, "reader"), 6)
    assert {each: seen.transactions[statements(each)] for each in ran} == dict(ran)
    assert seen.history.read >= 0.98 * sum(digest.count for digest in seen.history.digests)


def test_the_last_statements_of_each_connection_are_a_sample(recording: PrivateServer) -> None:
    record(recording, "each")
    with load(url_of(recording, "app"), [LONG, BY_BEGIN, ALONE], 4, pause=0.01) as ran:
        seen = captured(url_of(recording, "reader"), 6)
    assert 0 < seen.transactions[statements(BY_BEGIN)] < ran[BY_BEGIN] / 2
    assert 0 < seen.transactions[statements(ALONE)] < ran[ALONE] / 2
    assert set(seen.transactions) == {statements(BY_BEGIN), statements(ALONE)}
    assert "the last 10 statements of each connection" in seen.history.notes[0]
    assert seen.history.notes[-1].startswith("The history showed ")


def test_without_a_history_the_server_only_counts(recording: PrivateServer) -> None:
    record(recording, "digests")
    with pytest.raises(BadInput, match="events_statements_history_long"):
        StatementHistory(url_of(recording, "reader"))
    with (
        load(url_of(recording, "app"), [BY_BEGIN, ALONE], 3, pause=0.01) as ran,
        closing(StatementHistory(url_of(recording, "reader"), needs_history=False)) as history,
    ):
        history.count(5, lambda _: READS.set())
    counted = {statement_key(digest.text): digest.count for digest in history.digests}
    assert counted[statement_key(BY_BEGIN[2])] == ran[BY_BEGIN]
    assert counted[statement_key(ALONE[0])] == pytest.approx(ran[BY_BEGIN] + ran[ALONE], abs=LOST)


def test_an_account_that_may_read_gets_no_grant_where_the_server_does_not_record(recording: PrivateServer) -> None:
    record(recording, "digests")
    run(
        recording, "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME LIKE 'events_statements_c%'"
    )
    with pytest.raises(BadInput, match=r"SET ENABLED = 'YES' WHERE NAME IN \(.*'events_statements_current'") as refused:
        StatementHistory(url_of(recording, "reader"))
    assert "GRANT" not in str(refused.value)


def test_an_account_without_privileges_gets_the_grant(recording: PrivateServer) -> None:
    with pytest.raises(BadInput, match=r"GRANT SELECT ON performance_schema\.\* TO 'app'@'127\.0\.0\.1'"):
        StatementHistory(url_of(recording, "app"))


def test_a_text_that_is_cut_is_not_shown(recording: PrivateServer) -> None:
    record(recording, "all")
    cut = f"SELECT c FROM store.t WHERE c = '{'é' * 2000}'"
    with load(url_of(recording, "app"), [(cut,)], 2, pause=0.3):
        seen = captured(url_of(recording, "reader"), 4)
    assert not any("é" in event.text for event in seen.events)
    assert sum(event.text == "" for event in seen.events) == seen.history.cut > 0
    assert any("cut at 1,024 bytes" in note for note in seen.history.notes)


def test_executions_of_prepared_statements_have_a_text_on_mysql_only(recording: PrivateServer) -> None:
    record(recording, "all")
    url = url_of(recording, "app")
    options: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}

    def execute() -> None:
        with closing(mysql.connector.connect(**options, use_pure=True)) as connection:
            cursor = connection.cursor(prepared=True)
            for number in (1, 2):
                cursor.execute("SELECT c FROM store.t WHERE id = ?", (number,))
                cursor.fetchall()
            connection.commit()

    threading.Timer(0.5, execute).start()
    seen = captured(url_of(recording, "reader"), 3)
    is_mysql = "MariaDB" not in seen.history.server.version
    assert seen.transactions[("SELECT c FROM store.t WHERE id = ?",) * 2] == is_mysql
    assert seen.history.unseen == (0 if is_mysql else 2)
    assert any(f"this server shows no {'values' if is_mysql else 'text'}" in note for note in seen.history.notes)
    counted = {statement_key(digest.text): digest.count for digest in seen.history.digests}
    assert counted[statement_key(ALONE[0] if is_mysql else "EXECUTE")] == 2


def test_a_capture_that_is_ended_keeps_what_it_read(recording: PrivateServer) -> None:
    record(recording, "all")
    with (
        load(url_of(recording, "app"), [ALONE], 3, pause=0.05),
        closing(StatementHistory(url_of(recording, "reader"))) as history,
    ):
        threading.Timer(2.0, history.end).start()
        began = time.monotonic()
        events = list(history.events(600, lambda _: READS.set()))
        assert time.monotonic() - began < 300  # of 600 s
    assert events
    assert history.digests


def test_a_capture_changes_nothing_and_asks_once_a_second(recording: PrivateServer) -> None:
    record(recording, "all")
    with closing(StatementHistory(url_of(recording, "reader"))) as history:
        before = history.queries
        list(history.events(5))
        assert history.queries - before <= 5 + 2  # the counters at both ends
