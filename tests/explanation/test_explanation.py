"""`poolsize explain`: the known texts with their numbers, what Little's law says of them, and logs of others."""

import gzip
import heapq
import io
import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import BadInput
from poolsize.explanation import command
from poolsize.explanation.causes import ADVICE, FIRST, advice, first_action
from poolsize.explanation.events import MOST_MINUTES, OF_POOL, Event, PoolLoad, Use, find_events, pool_load
from poolsize.explanation.text import HAPPENED, events_text, events_values
from poolsize.explanation.texts import KNOWN, Kind
from poolsize.present.text.json_text import json_text
from poolsize.present.text.layout import paragraph
from tests.conftest import Command, require_schema
from tests.explanation.known_texts import EXAMPLES, OTHERS, TYPED, Example

ON_CALL = (
    "HikariPool-1 - Connection is not available, request timed out after 30000ms "
    "(total=10, active=10, idle=0, waiting=37)"
)  # fmt: skip
OF_SQLALCHEMY = "QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00"
CAN_T_BE_OPENED = [
    "pool timed out while waiting for an open connection",
    "MySqlException (0x80004005): Connect Timeout expired. All pooled connections are in use.",
    "Connection acquisition timed out after 5000ms",
    "Timeout occurred while waiting for a slot to become available",
    "Timed out fetching a new connection from the connection pool. (connection pool timeout: 10, connection limit: 5)",
    "SequelizeConnectionAcquireTimeoutError: Operation timeout",
    "Knex: Timeout acquiring a connection. The pool is probably full.",
    "HikariPool-1 - Connection is not available, request timed out after 30003ms.",
    "An attempt by a client to checkout a Connection has timed out.",
    "Acquisition timeout while waiting for new connection",
]
DOCS = Path(__file__).parents[2] / "docs"
EXPLAIN = [sys.executable, "-c", "from poolsize.commands import main; main()", "explain"]


def one_event(text: str, usage_ms: float | None = None) -> Event:
    (event,) = find_events(text.splitlines(), usage_ms)
    return event


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.library}: {example.text[:40]}")
def test_a_known_text_is_recognised_with_its_numbers(example: Example) -> None:
    event = one_event(example.text)
    assert (event.library, event.kind) == (example.library, example.kind)
    assert event.numbers == pytest.approx(example.numbers)
    assert "Secret9" not in event.text
    assert one_event(f"2026-11-26 10:15:03 ERROR [request 7] {example.text}").numbers == event.numbers


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.library}: {example.text[:40]}")
def test_the_schema_allows_each_error(example: Example) -> None:
    require_schema(("explain", "--json"), json_text(events_values(find_events([example.text]))))


@pytest.mark.parametrize("line", OTHERS)
def test_a_line_of_something_else_is_not(line: str) -> None:
    assert find_events([line]) == []


@pytest.mark.parametrize(("typed", "meaning"), TYPED.items())
def test_an_error_in_short_is_recognised_as_an_argument(typed: str, meaning: tuple[str, Kind]) -> None:
    for texts in ((typed,), tuple(typed.split())):
        (event,) = command._of_arguments(texts, None)
        assert (event.library, event.kind) == meaning


@pytest.mark.parametrize("line", [*OTHERS, "2006-01-02 15:04:05 started", "1040 rows", "10400", "nothing", "", " "])
def test_an_argument_of_something_else_is_not(line: str) -> None:
    assert command._of_arguments((line,), None) == []


def test_the_table_of_errors_has_the_first_action_of_known_texts() -> None:
    table = (DOCS / "troubleshooting.md").read_text("utf-8").split("|---|---|")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.strip().splitlines()]
    actions = [row.split("|")[2].replace("`", "").strip() for row in table.strip().splitlines()]
    texts = [(text, action) for row, action in zip(rows, actions, strict=True) for text in re.findall("`([^`]+)`", row)]
    assert len(texts) > 15
    for text, action in texts:
        if text != "99":
            (event,) = command._of_arguments((text,), None)
            assert first_action(event) == action


def test_the_questions_say_the_same_of_the_waiting_requests_as_the_answer() -> None:
    event = one_event(ON_CALL.replace("30000", "180000").replace("=37", "=88"))
    answer, questions = events_text([event]), (DOCS / "questions.md").read_text("utf-8")
    assert "the longest for 180 s: about 0.49 arrive a second" in " ".join(answer.split())
    assert "about 88 / 180 s = 0.49 requests arrive a second" in " ".join(questions.split())


def test_every_known_text_has_an_example_and_every_kind_causes_and_words() -> None:
    assert len(EXAMPLES) >= 40
    assert len(OTHERS) >= 20
    for known in KNOWN:
        assert len(known.mark) >= 7
        assert any(known.pattern.search(example.text) for example in EXAMPLES), known
    assert {known.kind for known in KNOWN} == set(Kind) == set(HAPPENED)
    assert set(ADVICE) >= (set(Kind) - {Kind.STATISTICS}) | set(Use)
    assert set(FIRST) == set(Kind) | set(Use)
    for each in ADVICE.values():
        assert len(each.causes) in (3, 4)
        assert each.next


def test_on_call_each_connection_is_held_for_8_s() -> None:
    """The worked case: 37 / 30 s = 1.2 a second, and 10 / 1.2 = 8 s."""
    event = one_event(ON_CALL, usage_ms=50)
    assert event.load == PoolLoad(pytest.approx(1.233, abs=0.001), pytest.approx(8108, abs=1), 200, Use.HELD, 50)  # type: ignore[arg-type]
    text = " ".join(events_text([event]).split())
    assert "37 requests waited, the longest for 30 s: about 1.2 arrive a second" in text
    assert "each is held for about 8.1 s" in text
    assert "The pool is probably not too small: if transactions take milliseconds, connections are held across" in text
    assert "At a mean usage time of 50 ms, all 10 connections are in use only at a rate above 200/s." in text


@pytest.mark.parametrize(
    ("numbers", "held"),
    [
        ("active=10, idle=0, waiting=37", "about 8.1 s"),
        ("active=10, idle=0, waiting=0", "more than 30 s"),
        ("active=10, idle=0, waiting=3700", None),  # 81 ms, or more
        ("active=7, idle=3, waiting=1", None),
    ],
)
def test_the_remedy_of_connections_that_are_held_for_long_is_no_larger_pool(numbers: str, held: str | None) -> None:
    events = [one_event(ON_CALL.replace("active=10, idle=0, waiting=37", numbers))]
    text, (values,) = " ".join(events_text(events).split()), events_values(events)["events"]
    if held is None:
        assert "A larger pool" not in text
    else:
        assert f"A larger pool does not help while each connection is held for {held}." in text
        assert str(values["remedy"]).startswith("find what holds the connections, before you enlarge the pool")


@pytest.mark.parametrize("usage_ms", [4100, 8100, 60_000])
def test_a_mean_usage_time_of_seconds_confirms_that_connections_are_held(usage_ms: float) -> None:
    event = one_event(ON_CALL, usage_ms)
    text = " ".join(events_text([event]).split())
    assert "The metrics confirm that connections are held for long" in text
    assert "quickly" not in text
    assert events_values([event])["events"][0]["remedy"] in text
    assert "A larger pool does not help" in text
    assert "give the mean" in text


@pytest.mark.parametrize("waiting", [0, 37])
def test_a_mean_usage_time_of_milliseconds_points_to_connections_that_are_not_returned(waiting: int) -> None:
    events = [one_event(ON_CALL.replace("=37", f"={waiting}"), usage_ms=12)]
    text = " ".join(events_text(events).split())
    first, second, *_ = advice(events[0]).causes
    assert "leak" in first.cause
    assert "hold a connection and wait for a second" in second.cause
    assert f"held for 12 ms, and those in use for {'about 8.1 s' if waiting else 'more than 30 s'}: look for" in text
    assert "A larger pool does not help" not in text
    assert "A larger pool helps only if threads wait for a second connection" in text


def test_a_mean_usage_time_that_agrees_makes_a_leak_the_last_cause() -> None:
    without, agreeing = (advice(one_event(ON_CALL, usage_ms)).causes for usage_ms in (None, 8000))
    assert "leak" in agreeing[-1].cause
    assert set(agreeing) == set(without)


@pytest.mark.parametrize(
    "text", [
        ON_CALL, ON_CALL.replace("=37", "=0"), ON_CALL.replace("=37", "=600"), ON_CALL.replace("=37", "=3700"),
        "wait millis 60000, active 20, maxActive 20", "Timeout: Pool empty.", "Sorry, acquisition timeout!",
    ],
)  # fmt: skip
def test_threads_that_wait_for_a_second_connection_may_cause_each_timeout_of_a_full_pool(text: str) -> None:
    (nested,) = (each for each in advice(one_event(text)).causes if "wait for a second" in each.cause)
    assert "threads x (connections of a thread - 1) + 1 connections" in nested.cause
    assert "threads x (connections of a thread - 1) + 1 connections" in (
        " ".join((DOCS / "questions.md").read_text("utf-8").split())
    )
    assert "getConnection" in nested.tell


@pytest.mark.parametrize(
    "text",
    [
        OF_SQLALCHEMY,
        *CAN_T_BE_OPENED[:5],
        "error connecting: Timeout expired.  The timeout period elapsed prior to obtaining a connection from the pool",
        "MaxOpenConnections:1 OpenConnections:1 InUse:1 Idle:0 WaitCount:120 WaitDuration:1m6s",
        "active=20, idle=0, waiting=130",
    ],
)
def test_words_of_java_are_only_for_libraries_of_java(text: str) -> None:
    answer = " ".join(events_text([one_event(text)]).split())
    assert "Requests hold a connection and wait for a second connection" in answer
    assert not [word for word in ("thread dump", "getConnection", "REQUIRES_NEW") if word in answer]


@pytest.mark.parametrize("numbers", ["total=0, active=0, idle=0", "total=10, active=7, idle=3"])
def test_a_pool_that_is_not_full_does_not_make_threads_wait_for_each_other(numbers: str) -> None:
    event = one_event(ON_CALL.replace("total=10, active=10, idle=0", numbers))
    assert not [each for each in advice(event).causes if "wait for a second" in each.cause]


def test_between_milliseconds_and_seconds_the_usage_time_without_load_decides() -> None:
    """In both cases, 300 and 310 waiting, each is held for about a second: the answers must not contradict."""
    held, unclear = (" ".join(events_text([one_event(ON_CALL.replace("=37", f"={n}"))]).split()) for n in (300, 310))
    assert "A larger pool does not help" in held
    assert "about 970 ms" in unclear
    assert "It can be either" in unclear
    assert "The mean usage time without load decides" in unclear
    assert "quickly" not in unclear


def test_at_error_1040_the_way_in_comes_before_the_causes() -> None:
    (values,) = events_values(events := [one_event("ERROR 1040 (HY000): Too many connections")])["events"]
    text = " ".join(events_text(events).split())
    assert text.index(values["remedy"]) < text.index("Most probable causes")
    for part in ("PROCESS", "CONNECTION_ADMIN or SUPER", "extra_port", "End idle ones"):
        assert part in values["remedy"]
    assert values["next"][0].startswith("SELECT user")
    assert "SET GLOBAL max_connections" in values["next"][2]
    assert values["next"][1].startswith("poolsize config --check FILE --instances NUMBER --max-connections NUMBER")


def test_error_1040_of_go_names_its_missing_limit() -> None:
    event = one_event("2026/11/28 03:14:02 [err] orders: begin tx: Error 1040 (08004): Too many connections")
    assert "SetMaxOpenConns" in advice(event).causes[0].cause


def test_a_timeout_without_the_number_of_waiting_requests_may_be_a_leak() -> None:
    event = one_event(OF_SQLALCHEMY, usage_ms=20)
    assert any("leak" in each.cause for each in advice(event).causes)
    text = " ".join(events_text([event]).split())
    assert "only at a rate above 750/s. If your rate is lower, connections are held or leaked." in text


def timeouts(rate: float, usage_s: float, pool_size: int, limit_s: float) -> list[int]:
    """Simulate a pool with a wait limit, first in first out: at each timeout, the number of requests that wait."""
    chance = random.Random(7)
    free_at, arrival = [0.0] * pool_size, 0.0
    requests: list[tuple[float, float]] = []
    for _ in range(20_000):
        arrival += chance.expovariate(rate)
        start = max(arrival, free_at[0])
        if start <= arrival + limit_s:
            heapq.heapreplace(free_at, start + chance.expovariate(1 / usage_s))
        requests.append((arrival, min(start, arrival + limit_s)))
    ends = [arrival + limit_s for arrival, end in requests if end == arrival + limit_s]
    return [sum(arrival <= at < end for arrival, end in requests) for at in ends[200:1200:20]]


@pytest.mark.costly
@pytest.mark.parametrize("rate", [1.4, 2.5, 5.0])
def test_the_rate_and_the_bound_of_the_usage_time_are_those_of_a_simulated_pool(rate: float) -> None:
    """10 connections that are held for 8 s serve 1.25 a second, and as many requests come as the waiting ones say."""
    waiting = timeouts(rate, usage_s=8, pool_size=10, limit_s=30)
    load = pool_load({"in_use": 10, "waiting": sum(waiting) / len(waiting), "wait_ms": 30_000})
    assert load.per_second == pytest.approx(rate, rel=0.1)
    assert load.held_ms == pytest.approx(8000 * 1.25 / rate, rel=0.1)
    assert load.held_ms is not None
    assert load.held_ms <= 8000


@pytest.mark.parametrize(
    ("numbers", "usage_ms", "use"),
    [
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 150, "wait_ms": 1000}, None, Use.UNCLEAR),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 150, "wait_ms": 1000}, 50, Use.BUSY),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 10, "wait_ms": 1000}, None, Use.HELD),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 40, "wait_ms": 1000}, None, Use.UNCLEAR),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 40, "wait_ms": 1000}, 200, Use.BUSY),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 40, "wait_ms": 1000}, 900, Use.UNCLEAR),
        ({"open": 10, "in_use": 10, "idle": 0, "waiting": 40, "wait_ms": 1000}, 50, Use.HELD),
        ({"in_use": 10, "waiting": 37, "wait_ms": 30_000}, 8100, Use.HELD),
        ({"in_use": 10, "waiting": 37, "wait_ms": 30_000}, 60_000, Use.HELD),
        ({"in_use": 10, "waiting": 150, "wait_ms": 1000}, 8000, Use.HELD),
        ({"in_use": 10, "size": 10, "wait_ms": 30_000}, 8000, Use.HELD),
        ({"in_use": 10, "waiting": 150, "wait_ms": 1000}, 10, Use.HELD),
        ({"in_use": 10, "waiting": 0, "wait_ms": 30_000}, None, Use.HELD),
        ({"in_use": 10, "waiting": 0, "wait_ms": 250}, None, Use.FULL),
        ({"open": 0, "in_use": 0, "idle": 0, "waiting": 37, "wait_ms": 30_000}, None, Use.NONE_OPEN),
        ({"in_use": 3, "size": 20, "wait_ms": 5000}, None, Use.NOT_FULL),
        ({"open": 10, "in_use": 7, "idle": 3, "waiting": 1, "wait_ms": 30_000}, None, Use.NOT_FULL),
        ({"size": 5, "wait_ms": 10_000}, None, Use.FULL),
        ({"in_use": 10, "size": 10, "waiting": 37}, None, Use.FULL),
        ({"wait_ms": 30_000}, None, None),
    ],
)
def test_the_numbers_say_how_the_connections_are_used(
    numbers: dict[str, float], usage_ms: float | None, use: Use | None
) -> None:
    load = pool_load(numbers, usage_ms)
    assert load.use is use
    if load.per_second and load.held_ms:  # Little's law, for the waiting requests and for the connections
        assert load.per_second * numbers["wait_ms"] / 1000 == pytest.approx(numbers["waiting"])
        assert load.per_second * load.held_ms / 1000 == pytest.approx(numbers["in_use"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00",
            "15 connections x 30 s / 1 s = 450 requests waited. A process with threads rarely has so many: connections",
        ),
        (
            "wait millis 10000, active 3, maxActive 3",
            "3 connections x 10 s / 1 s = 30 requests waited. If fewer waited, connections are held for longer.",
        ),
        ("wait millis 5001, active 3, maxActive 20, creating 1, createErrorCount 7", "a larger pool does not help"),
        ("wait millis 5001, active 3, maxActive 20, creating 1, createErrorCount 7", "open a connection: 7 errors"),
        (ON_CALL.replace("10, active=10", "0, active=0"), "it can't open connections"),
        (ON_CALL.replace("=37", "=0"), "none of 10 connections became free in 30 s"),
        (ON_CALL.replace("=37", "=0").replace("30000", "250"), "none of 10 connections became free in 250 ms"),
        (
            "MaxOpenConnections:1 OpenConnections:1 InUse:1 Idle:0 WaitCount:120 WaitDuration:1m6s",
            "120 waits is 550 ms",
        ),
        (
            "The last packet successfully received from the server was 28,800,004 milliseconds ago.",
            "was idle for 28,800 s",
        ),
        ("has exceeded the 'max_user_connections' resource (current value: 20)", "The limit is 20."),
        (
            "(2003, \"Can't connect to MySQL server on 'db' ([Errno 111] Connection refused)\")",
            "a connection was refused: most probably, nothing listens",
        ),
        (
            "maxWaitThreadCount 9, current wait Thread count 9",
            "a further one got an error. Do first: SHOW FULL PROCESSLIST: if the pool has too few",
        ),
        ("connect EADDRNOTAVAIL 10.0.0.5:3306", "at most 470 connections a second"),
    ],
)
def test_the_words_have_the_numbers(text: str, sentence: str) -> None:
    assert sentence in " ".join(events_text(find_events([text])).split())


OF_DRUID = "wait millis 6000, active 50, maxActive 50, creating 0, runningSqlCount "


@pytest.mark.parametrize(
    "statements",
    [
        "46 : SELECT o.id FROM orders o WHERE o.note LIKE ?",
        "20 : SELECT o.id\n  FROM orders o\nrunningSqlCount 26 : UPDATE stock SET n = ?\n\tat com.acme.X.y(X.java:1)",
    ],
)
def test_a_pool_whose_connections_run_statements_has_a_slow_statement_and_no_leak(statements: str) -> None:
    """Druid lists each running statement with its count, one a line: DruidDataSource.java, getConnectionInternal."""
    event = one_event(f"02:58:40 {OF_DRUID}{statements}")
    assert (event.load.use, event.numbers["running"]) == (Use.RUNNING, 46)
    text = " ".join(events_text([event]).split())
    assert first_action(event).startswith("EXPLAIN the statement in the text")
    assert "All connections, 50, are in use, and 46 run a statement." in text
    assert "FROM orders o" in text
    assert "leak" not in text
    assert "held" not in text


def test_statements_on_the_lines_below_an_error_of_druid_are_its_own_without_a_colon_too() -> None:
    """Druid, issue 2600: the statements begin below the line of the error."""
    (event,) = find_events(
        [
            "wait millis 60000, active 50, maxActive 50, ",
            "runningSqlCount 28 select * from parcel where depot = 1;",
            "runningSqlCount 12 select * from scan where depot = 2;",
        ]
    )
    assert (event.numbers["running"], event.load.use) == (40, Use.RUNNING)


@pytest.mark.parametrize("statements", ["2 : SELECT 1", "25 : SELECT 1"])
def test_a_pool_whose_connections_mostly_run_nothing_has_no_slow_statement(statements: str) -> None:
    event = one_event(OF_DRUID + statements)
    assert event.load.use is Use.FULL
    assert "50, are in use, and 2" in " ".join(events_text([event]).split())


def test_statements_that_run_may_wait_for_locks() -> None:
    assert {event.load.use for event in find_events([f"{OF_DRUID}46 : SELECT 1", LOCK_WAIT])} == {Use.LOCKED}


RECEIVED = "The last packet successfully received from the server was {} milliseconds ago."
SENT = "The last packet sent successfully to the server was {} milliseconds ago."


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (RECEIVED.format("3,610,001"), Kind.STALE),
        (f"{RECEIVED.format('3,610,001')} {SENT.format('3,610,002')}", Kind.STALE),
        (f"{RECEIVED.format('3,610,001')}  {SENT.format('3,609,000')}", Kind.STALE),
        (f"Communications link failure\n\n{RECEIVED.format('60,000')} {SENT.format('60,000')}", Kind.STALE),
        (f"{RECEIVED.format('31,001')} is longer than the server configured value of 'wait_timeout'.", Kind.STALE),
        (f"{RECEIVED.format('3,610,001')} {SENT.format('5')}", Kind.LOST),
        (f"{RECEIVED.format('59,999')} {SENT.format('59,999')}", Kind.LOST),
        ("Communications link failure", Kind.LOST),
    ],
)  # fmt: skip
def test_a_connection_that_was_idle_for_long_is_explained_as_2006_is(text: str, kind: Kind) -> None:
    (event,) = find_events(f"2026-11-26 10:16:07 ERROR {text}".splitlines())
    assert (event.kind, event.count) == (kind, 1)
    assert [
        each for each in ADVICE[kind].causes if "max_allowed_packet." not in each.cause or kind is Kind.LOST
    ] == list(advice(event).causes)
    assert ("The connection was idle for" in events_text([event])) == (kind is Kind.STALE)
    if kind is Kind.STALE:
        assert "poolsize config --check FILE --url URL" in " ".join(advice(event).next)


def test_a_pool_with_free_connections_has_no_causes() -> None:
    event = one_event("HikariPool-1 - Pool stats (total=10, active=4, idle=6, waiting=0)")
    assert advice(event).causes == ()
    assert "not an error" in events_text([event])


@pytest.mark.parametrize(
    ("line", "minute"),
    [
        ("2026-11-26 10:15:03,123 ERROR", "2026-11-26 10:15"), ("2026-11-26T10:15:03Z", "2026-11-26 10:15"),
        ("[mysql] 2026/11/26 10:15:03 packets.go", "2026-11-26 10:15"),
        ("26-Nov-2026 10:15:03.123", "26-Nov-2026 10:15"),
        ("Nov 26 10:15:03 web1 app[7]:", "Nov 26 10:15"), ("10:15:03.123 [main]", "10:15"), ("no time", None),
        ('{"level":"error","logger":"' + 60 * "x" + '","ts":"2026-11-26T10:15:03Z"} ', "2026-11-26 10:15"),
    ],
)  # fmt: skip
def test_lines_are_counted_by_minute(line: str, minute: str | None) -> None:
    assert one_event(f"{line} {ON_CALL}").minutes == ({minute: 1} if minute else {})


def test_a_stack_trace_is_one_error_and_has_the_time_of_its_first_line() -> None:
    log = f"""\
2026-11-26 10:14:59 INFO started
2026-11-26 10:15:03 ERROR CannotGetJdbcConnectionException: {ON_CALL.replace("37", "3")}
\tat com.example.Shop.main(Shop.java:7)
Caused by: java.sql.SQLTransientConnectionException: {ON_CALL.replace("37", "3")}
Caused by: java.sql.SQLNonTransientConnectionException: Too many connections
2026-11-26 10:16:07 ERROR Communications link failure

The last packet successfully received from the server was 10,004 milliseconds ago.
2026-11-26 10:16:08 ERROR {ON_CALL}
Traceback (most recent call last):
sqlalchemy.exc.TimeoutError: {OF_SQLALCHEMY}
"""
    events = {event.library: event for event in find_events(log.splitlines())}
    hikari = events["HikariCP"]
    assert (hikari.count, hikari.minutes) == (2, {"2026-11-26 10:15": 1, "2026-11-26 10:16": 1})
    assert hikari.numbers["waiting"] == 37  # of the line with the most
    assert events["MySQL/MariaDB server"].minutes == {"2026-11-26 10:15": 1}
    assert events["MySQL Connector/J"].count == 1
    assert events["MySQL Connector/J"].numbers == {"idle_ms": 10_004}
    assert events["SQLAlchemy"].minutes == {"2026-11-26 10:16": 1}
    assert list(events)[:2] == ["MySQL/MariaDB server", "HikariCP"]  # what may cause others, then the most frequent


HELPER = "2026-11-26T10:15:03.126Z ERROR 1 --- [exec-3] o.h.engine.jdbc.spi.SqlExceptionHelper : "
SERVLET = (
    "2026-11-26T10:15:03.123Z ERROR 1 --- [exec-3] o.a.c.c.C.[.[.[/].[dispatcherServlet] : Servlet.service() threw"
)
TRACE = (
    "java.sql.SQLTransientConnectionException: {}\n\tat com.zaxxer.hikari.pool.HikariPool.create(HikariPool.java:7)\n"
)


@pytest.mark.parametrize(
    "failure",
    [
        HELPER + "{}\n" + SERVLET + " [failed] with root cause\n\n" + TRACE,
        SERVLET + " [nested exception is {}]\n\n" + TRACE + HELPER + "{}\n",
        TRACE + HELPER + "{}\n",
        SERVLET + " {}\n" + HELPER + "{}\n",
        HELPER + "{}\n",
        TRACE,
    ],
)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_failure_that_a_spring_boot_log_has_twice_counts_once(failure: str, times: int) -> None:
    for text in (ON_CALL, "Communications link failure"):
        (event,) = find_events((failure.replace("{}", text) * times).splitlines())
        assert event.count == times
    one_by_one = [failure.replace("{}", ON_CALL.replace("37", str(waiting))) for waiting in range(times)]
    assert [event.count for event in find_events("".join(one_by_one).splitlines())] == [times]


@pytest.mark.costly
def test_minutes_are_bounded_and_the_busiest_are_shown() -> None:
    lines = (
        f"2026-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:00 {ON_CALL}"
        for month in range(1, 13) for day in range(1, 3) for hour in range(24) for minute in range(60)
    )  # fmt: skip
    (event,) = find_events([*lines, *[f"2026-01-01 00:07:01 {ON_CALL}"] * 5])
    assert event.count == 12 * 2 * 24 * 60 + 5
    assert len(event.minutes) == MOST_MINUTES
    text = events_text([event])
    assert "2026-01-01 00:07      6" in text
    assert len([line for line in text.splitlines() if line.lstrip().startswith("2026-")]) == 20


def test_a_control_character_is_shown(poolsize_here: Command) -> None:
    done = poolsize_here("explain", "Failed to validate connection \x1b]0;owned\x07 Possibly consider using a shorter "
                         "maxLifetime value")  # fmt: skip
    assert "\x1b" not in done.stdout
    assert "\\u001b]0;owned" in done.stdout


REPEATED = [
    *(known.mark for known in KNOWN), "Can't connect to MySQL server on '", '"WaitThreadCount":1,"PoolingCount":1,',
    "connect ECONNREFUSED ", "dial tcp 1", "2026-11-26 ", "1", ",1", " ", f"{ON_CALL[:-3]} ", "10:15:",
    "wait millis 1, active 1, maxActive 1, creating 1, ",
]  # fmt: skip


@pytest.mark.costly
def test_a_long_line_takes_linear_time() -> None:
    """Each is as hard as it can be made: 64 KiB of a text's beginning. Quadratic time would take minutes."""
    start = time.process_time()
    for part in REPEATED:
        find_events([(part * (command.LONGEST_LINE // len(part)))[: command.LONGEST_LINE]])
    assert time.process_time() - start < 20


@pytest.mark.costly
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.sampled_from(["0", "00", "999999999999", "1.5", "-1", "1,000,000,000", "٣", "", "x", "9" * 40])),
    st.none() | st.floats(min_value=1e-3, max_value=1e9),
)
def test_no_number_in_a_text_breaks_the_answer(example: Example, others: list[str], usage_ms: float | None) -> None:
    replaced = iter(others)
    events = find_events([re.sub(r"\d+", lambda number: next(replaced, number[0]), example.text)], usage_ms)
    assert len(events_values(events)["events"]) == len(events)
    assert "nan" not in events_text(events)


def lines_of(content: bytes) -> list[str]:
    return list(command._lines(io.BytesIO(content)))


def test_a_line_is_bounded_and_the_next_is_read() -> None:
    long = b"x" * (2 * command.LONGEST_LINE + 7)
    first, second = lines_of(long + b"\r\n" + ON_CALL.encode())
    assert len(first) == command.LONGEST_LINE
    assert second == ON_CALL
    assert lines_of(b"x" * command.LONGEST_LINE + b"\nyes") == ["x" * command.LONGEST_LINE, "yes"]
    assert lines_of(b"\xff\x00\xe4\n\n") == ["\ufffd\x00\ufffd", ""]


def test_a_log_is_bounded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "MOST_BYTES", 100)
    assert len(lines_of(b"123456789\n" * 20)) == 10
    assert "only the first 100 MiB" in capsys.readouterr().err


def explained(*arguments: str, content: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*EXPLAIN, *arguments], input=content, capture_output=True, timeout=60, check=False)


@pytest.mark.costly
def test_a_log_on_standard_input_is_explained_as_json() -> None:
    content = b"\xe4\xff not UTF-8\n" + b"".join(
        f"2026-11-26 10:15:{second} {ON_CALL}\n".encode() for second in range(10, 30)
    )
    done = explained("--json", "--usage-time", "50ms", content=content)
    (event,) = json.loads(done.stdout)["events"]
    assert (done.returncode, done.stderr) == (0, b"")
    assert (event["library"], event["kind"], event["count"]) == ("HikariCP", "wait_timeout", 20)
    assert event["minutes"] == {"2026-11-26 10:15": 20}
    assert event["numbers"]["waiting"] == 37
    assert (round(event["held_ms"]), round(event["per_second"], 1), event["full_above_per_second"]) == (8108, 1.2, 200)
    assert len(event["causes"]) == 3
    assert set(event["causes"][0]) == {"cause", "tell"}
    assert any("hikaricp_connections" in line for line in event["next"])


def test_words_without_quotes_are_one_text_and_quoted_texts_are_several(poolsize_here: Command) -> None:
    words = poolsize_here("explain", *OF_SQLALCHEMY.split())
    assert "waited 30 s" in words.stdout
    two = poolsize_here("explain", "--json", "Too many connections", "MySQL server has gone away\nDeadlock found when "
                        "trying to get lock")  # fmt: skip
    assert [event["kind"] for event in json.loads(two.stdout)["events"]] == [
        "server_full",
        "stale_connection",
        "deadlock",
    ]


@pytest.mark.costly
def test_what_is_not_known_is_bad_input_with_the_list_of_what_is(poolsize_here: Command) -> None:
    """Nothing failed, and another input is the way out: so the exit code is 2."""
    done = poolsize_here("explain", "--json", "nothing of a pool\x1b")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "poolsize: error: no known error in 'nothing of a pool\\x1b'; poolsize knows the errors of"
    )
    for library in {known.library for known in KNOWN}:
        assert library in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert explained(content=b"\n" * 100).returncode == 2


@pytest.mark.costly
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ERROR 1146 (42S02): Table 'shop.orders' doesn't exist", "1146"),
        ("(1054, \"Unknown column 'x' in 'field list'\")", "1054"),
        ("Error: ER_NO_SUCH_TABLE: Table 'shop.orders' doesn't exist", "ER_NO_SUCH_TABLE"),
    ],
)
def test_an_error_of_the_server_that_is_not_known_is_named_as_such(
    poolsize_here: Command, text: str, code: str
) -> None:
    line = f"poolsize: error: {code} is an error of the server that poolsize does not explain"
    assert poolsize_here("explain", text).stderr.startswith(line)
    assert explained(content=f"INFO started\n{text}\nERROR 1064 (42000): x".encode()).stderr.startswith(line.encode())


def test_a_file_s_name_leads_to_standard_input(poolsize_here: Command) -> None:
    done = poolsize_here("explain", __file__)
    assert done.returncode == 2
    assert f"poolsize explain < {__file__}" in done.stderr
    for no_path in ("x" * 100_000, "a\0b", "."):
        assert poolsize_here("explain", no_path).stderr.startswith("poolsize: error: no known error in '")


@pytest.mark.costly
def test_a_closed_standard_input_gets_the_usage() -> None:
    done = subprocess.run(
        EXPLAIN, preexec_fn=lambda: os.close(0), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "give the text of an error in quotes, or a log as standard input: poolsize explain < app" in done.stderr


@pytest.mark.costly
def test_a_text_with_quotes_is_pasted_into_a_terminal() -> None:
    master, slave = pty.openpty()
    os.write(master, b"""(2003, "Can't connect to MySQL server on 'db' (timed out)")\n\x04""")
    done = subprocess.run(EXPLAIN, stdin=slave, capture_output=True, text=True, timeout=60, check=False)
    assert "did not answer" in done.stdout
    assert done.stderr == "poolsize: paste the error, then press Ctrl-D on a line of its own\n"
    os.close(master)
    os.close(slave)


@pytest.fixture
def reading() -> Iterator["subprocess.Popen[bytes]"]:
    """A command that reads a log without an end."""
    with subprocess.Popen(EXPLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(f"{ON_CALL}\n".encode() * 10)
        child.stdin.flush()
        time.sleep(1)
        yield child
        child.kill()


@pytest.mark.costly
def test_ctrl_c_ends_the_reading(reading: "subprocess.Popen[bytes]") -> None:
    reading.send_signal(signal.SIGINT)
    _, errors = reading.communicate(timeout=20)
    assert (reading.returncode, errors.strip()) == (130, b"poolsize: error: interrupted")


@pytest.mark.costly
def test_a_reader_that_is_gone_ends_it_silently(reading: "subprocess.Popen[bytes]") -> None:
    assert reading.stdout is not None
    reading.stdout.close()
    assert reading.stdin is not None
    reading.stdin.close()
    assert reading.wait(timeout=20) == 141
    assert reading.stderr is not None
    assert reading.stderr.read() == b""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.library}: {example.text[:40]}")
def test_the_second_block_is_what_to_do_first_in_at_most_two_lines(example: Example) -> None:
    event = one_event(example.text)
    block = events_text([event]).split("\n\n")[1]
    assert " ".join(block.split()) == f"Do first: {events_values([event])['events'][0]['remedy']}"
    assert len(block.splitlines()) <= 2


@pytest.mark.parametrize("text", CAN_T_BE_OPENED)
def test_a_text_that_may_mean_no_connection_at_all_first_asks_for_the_pool_s_sessions(text: str) -> None:
    """sqlx, issue 3808: the server is down; Prisma, issue 7249: no session. The other sources: OPENS_WHILE_WAITING."""
    event = one_event(text)
    assert "can't connect" in first_action(event)
    assert "SHOW FULL PROCESSLIST" in first_action(event)
    assert "enlarge" not in first_action(event)
    assert "can't be reached" in advice(event).causes[0 if event.library == "sqlx" else 1].cause
    words = " ".join(events_text([event]).split())
    assert "are in use." not in words.replace("All pooled connections are in use.", "")


def test_the_numbers_of_open_connections_exclude_that_none_can_be_opened() -> None:
    assert not [each for each in advice(one_event(ON_CALL)).causes if "can't be reached" in each.cause]


LOST = "(2013, 'Lost connection to MySQL server during query{}')"


@pytest.mark.parametrize(
    ("suffix", "happened", "causes", "excluded"),
    [
        ("", "the other side closed it", ["wait_timeout", "restarted", "KILL"], "firewall"),
        (
            " (timed out)",
            "no answer came within the client's read timeout",
            ["slow, or wait for row locks", "firewall"],
            "restarted",
        ),
        (
            " ([Errno 104] Connection reset by peer)",
            "reset it",
            ["restarted", "firewall", "wait_timeout"],
            "read timeout",
        ),
    ],
)
def test_error_2013_has_the_causes_that_its_text_leaves(
    suffix: str, happened: str, causes: list[str], excluded: str
) -> None:
    """PyMySQL 1.2.4, connections.py, _read_bytes: the error of the socket in brackets, nothing at its end."""
    event = one_event(LOST.format(suffix))
    found = " ".join(each.cause for each in advice(event).causes)
    assert [word for word in causes if word not in found] == []
    assert excluded not in found
    text = " ".join(events_text([event]).split())
    assert happened in text
    assert "A write may have been committed: find out before you repeat it." in text


@pytest.mark.parametrize(
    ("text", "happened", "first", "excluded"),
    [
        ("Can't connect to MySQL server on 'db' (timed out)", "did not answer.", "If it hangs", "listens"),
        ("Can't connect to MySQL server on 'db:3306' (110)", "did not answer.", "If it hangs", "listens"),
        ("dial tcp 10.0.0.5:3306: i/o timeout", "did not answer.", "If it hangs", "listens"),
        ("connect ETIMEDOUT 10.0.0.5:3306", "did not answer.", "If it hangs", "listens"),
        ("Can't connect to server on 'timed-jobs' (111)", "nothing listens", "If refused, too", "drops"),
        ("Can't connect to server on 'db' (113)", "did not answer or refused it", "If refused, nothing", None),
        ("dial tcp 10.0.0.5:3306: connect: connection refused", "nothing listens", "If refused, too", "drops"),
        ("connect ECONNREFUSED 127.0.0.1:3306", "nothing listens", "If refused, too", "drops"),
        ("Can't connect to server on 'db' (115)", "did not answer or refused it", "If refused, nothing", None),
    ],
)
def test_a_server_out_of_reach_has_the_causes_that_its_text_leaves(
    text: str, happened: str, first: str, excluded: str | None
) -> None:
    event = one_event(text)
    assert happened in events_values([event])["events"][0]["happened"]
    assert first_action(event).startswith(f"run nc -vz HOST 3306 on the application's host. {first}")
    causes = advice(event).causes
    assert causes
    assert not [each for each in causes if excluded and excluded in each.cause]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("Failed getting connection; pool exhausted", "pool_size (by default 5, at most 32)"),
        ("Exceeded maximum connections.", "the pool size"),
        ("Cannot get a connection, pool error: Pool exhausted", "the pool size"),
        ("NoWait: Pool empty. Unable to fetch a connection, none available[100 in use].", "the pool size"),
    ],
)
def test_a_pool_that_does_not_wait_is_compared_with_the_threads(text: str, size: str) -> None:
    """mysql/connector/pooling.py 26.10.0: pool_size 5, CNX_POOL_MAXSIZE 32, get(block=False)."""
    assert first_action(one_event(text)).startswith(f"compare the threads of a process with {size}: if there are more")


def test_a_pool_of_node_that_does_not_wait_has_no_threads() -> None:
    assert "thread" not in events_text([one_event("Error: No connections available.")])


@pytest.mark.parametrize(
    "text", ["context deadline exceeded: begin tx for order 55120", "select: context deadline exceeded"]
)
def test_a_deadline_of_go_is_compared_with_the_pool_s_figures_and_asks_not_what_its_text_says(text: str) -> None:
    event = one_event(text)
    assert first_action(event).startswith("db.Stats(): if InUse is MaxOpenConnections and WaitCount rises")
    assert "where the error arose" not in events_text([event])
    assert "if its collector is registered, go_sql" in " ".join(advice(event).next)


def test_a_pause_is_as_long_as_the_housekeeper_was_late_or_longer() -> None:
    """HikariPool.java: the housekeeper runs 30 s after its last run, so that 47 s are a pause of 17 s at least."""
    assert "look for a pause of 17 to 47 s in the garbage collector's log" in first_action(one_event(STALLED))


@pytest.mark.parametrize(
    ("later", "seconds", "is_rough"), [(58, 4, True), (49, 4, False), (58, 30, False), (41, 4, False), (58, 0, False)]
)
def test_a_queue_that_outgrows_its_rate_makes_the_estimate_rough(later: int, seconds: int, is_rough: bool) -> None:
    """At the rate of the text, 58 / 30 s = 1.9/s, 5 s bring 10 requests at most; 17 came."""
    lines = [
        f"02:58:{40 + after} {ON_CALL.replace('=37', f'={waiting}')}" for after, waiting in ((0, 41), (seconds, later))
    ]
    text = " ".join(events_text(find_events(lines)).split())
    assert ("The estimate is rough: a line 4 s earlier has 41 waiting." in text) == is_rough
    if later == 58:
        assert f"about {2 if is_rough else 1.9} arrive a second" in text
        assert f"while each connection is held for about {5 if is_rough else 5.2} s." in text


@pytest.mark.parametrize("use", [Use.HELD, Use.UNCLEAR, Use.BUSY, Use.RUNNING, Use.FULL])
def test_a_session_that_waits_for_a_row_lock_is_not_looked_for_in_the_process_list_alone(use: Use) -> None:
    """InnoDB's row locks: there the session seems to run, and innodb_trx has LOCK WAIT (the manual of MySQL)."""
    assert "sys.innodb_lock_waits" in FIRST[use]
    assert "wait for a lock?" not in " ".join([FIRST[use], *ADVICE[use].next])
    assert "sys.innodb_lock_waits" in " ".join(ADVICE[use].next)


@pytest.mark.parametrize("use", Use)
def test_each_use_has_a_first_action_of_at_most_two_lines(use: Use) -> None:
    assert len(paragraph(f"Do first: {FIRST[use]}").splitlines()) <= 2


OF_POOLS = "active=20, idle=0, waiting=130"
LOCK_WAIT = "Error 1205: Lock wait timeout exceeded; try restarting transaction"


@pytest.mark.parametrize(
    "pool", [OF_POOLS, ON_CALL, "HikariPool-1 - Pool stats (total=9, active=9, idle=0, waiting=7)"]
)
def test_a_full_pool_with_a_lock_wait_timeout_waits_for_locks(pool: str) -> None:
    events = find_events([f"2026-11-28 02:14:07 {pool}", f"2026-11-28 02:15:07 {LOCK_WAIT}"])
    assert [event.load.use for event in events] == [Use.LOCKED] * 2
    assert all(first_action(event) == FIRST[Use.LOCKED] for event in events)
    assert "larger pool adds waiters" in " ".join(events_text(events).split())
    assert not [cause for event in events for cause in advice(event).causes if "too small" in cause.cause]


NO_NUMBERS = "SequelizeConnectionAcquireTimeoutError: Operation timeout"


def test_a_timeout_without_numbers_waits_for_the_locks_whose_timeouts_began_before_it() -> None:
    """The lock comes first however often the pool's error is in the log."""
    events = find_events([f"02:12:56 {LOCK_WAIT}", *[f"02:13:{second} {NO_NUMBERS}" for second in range(44, 60)]])
    assert [event.kind for event in events] == [Kind.LOCK_WAIT, Kind.WAIT_TIMEOUT]
    assert "Start with: MySQL/MariaDB server: lock wait" in events_text(events)
    assert all(first_action(event) == FIRST[Use.LOCKED] for event in events)
    later = find_events([f"02:12:56 {NO_NUMBERS}", f"02:13:44 {LOCK_WAIT}"])
    assert Use.LOCKED not in [event.load.use for event in later]


def test_leak_reports_from_before_the_lock_waits_are_not_their_consequence() -> None:
    """The leaked connections have open transactions, which hold the locks."""
    events = find_events(
        [
            "09:02:52 Connection leak detection triggered for X on thread y",
            f"09:04:24 {LOCK_WAIT}",
            *[f"09:09:{second} {ON_CALL}" for second in range(10, 20)],
        ]
    )
    uses = {event.kind: event.load.use for event in events}
    assert events[0].kind is Kind.HELD_LONG
    assert uses[Kind.WAIT_TIMEOUT] is Use.LEAKED
    assert uses[Kind.LOCK_WAIT] is None


REFUSED = "Access denied for user 'root'@'185.0.2.7' (using password: YES)"
IN_USE = "HikariPool-1 - " + ON_CALL.partition(" - ")[2]


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        ([f"02:01:00 {LOCK_WAIT}", "02:30:00 (2003, \"Can't connect to server on 'db' (111)\")"], Kind.UNREACHABLE),
        ([f"01:01:00 {LOCK_WAIT}"], Kind.WAIT_TIMEOUT),
        ([f"02:01:00 {REFUSED}"], Kind.LOGIN_REFUSED),
        ([f"00:01:00 {REFUSED}"], Kind.WAIT_TIMEOUT),
        (["00:01:00 Waiting for table metadata lock"], Kind.WAIT_TIMEOUT),
        (["02:01:00 Waiting for table metadata lock"], Kind.METADATA_LOCK),
    ],
)
def test_a_timeout_without_numbers_starts_with_what_began_before_it_in_its_hour(lines: list[str], start: Kind) -> None:
    assert find_events([*lines, *[f"02:31:{second} {NO_NUMBERS}" for second in range(10, 60)]])[0].kind is start


def test_a_pool_with_connections_is_logged_in() -> None:
    assert find_events([f"02:01:00 {REFUSED}", f"02:31:00 {IN_USE}", f"02:31:01 {IN_USE}"])[0].kind is Kind.WAIT_TIMEOUT


OF_0_9_1 = """\
2026/11/24-18:12:27.4 {WARN }c.m.v2.async.ThreadPoolAsynchronousRunner -- APPARENT DEADLOCK!!! Complete Status:
\tManaged Threads: 3
\tActive Threads: 3
\tActive Tasks:
\t\tcom.mchange.v2.c3p0.stmt.GooGooStatementCache$1StatementCloseTask@4b01d7c3 (PoolThread-#1)
\t\tcom.mchange.v2.c3p0.stmt.GooGooStatementCache$1StatementCloseTask@0a93be51 (PoolThread-#2)
\tPending Tasks:
\t\tcom.mchange.v2.resourcepool.BasicResourcePool$AcquireTask@3d5510ef
\t\tcom.mchange.v2.resourcepool.BasicResourcePool$AcquireTask@3d5510f0
\t\tcom.mchange.v2.resourcepool.BasicResourcePool$AcquireTask@3d5510f1
"""
OF_0_9_5 = """\
WARN ThreadPoolAsynchronousRunner$DeadlockDetector@1c0f7a22 -- APPARENT DEADLOCK!!! Complete Status:
\tManaged Threads: 3
\tActive Threads: 3
\tActive Tasks:
\t\tcom.mchange.v2.resourcepool.BasicResourcePool$ScatteredAcquireTask@e1162c
\t\t\ton thread: C3P0PooledConnectionPoolManager[identityToken->1]-HelperThread-#1
\tPending Tasks:
\t\tcom.mchange.v2.c3p0.stmt.GooGooStatementCache$1StatementCloseTask@4b01d7
\t\tcom.mchange.v2.c3p0.stmt.GooGooStatementCache$1StatementCloseTask@4b01d8
"""


@pytest.mark.parametrize(
    ("report", "first"),
    [
        (OF_0_9_1, "statementCacheNumDeferredCloseThreads to 1"),
        (OF_0_9_5, "connect by hand"),
        (OF_0_9_5.replace("ScatteredAcquireTask", "1RefurbishCheckinResourceTask"), "read the thread dump"),
    ],
)
def test_the_active_tasks_in_a_report_of_c3p0_name_the_cause(report: str, first: str) -> None:
    """The layouts are those of c3p0's issues 53 and 84."""
    (event,) = find_events(report.splitlines())
    assert first in first_action(event)


def test_a_deadlock_blocks_nobody_any_more() -> None:
    events = find_events([f"02:14:07 {OF_POOLS}", "02:15:07 Deadlock found when trying to get lock"])
    assert Use.LOCKED not in [event.load.use for event in events]


@pytest.mark.parametrize("typed", [("1205", OF_POOLS), (f"1205 Lock wait timeout exceeded; {OF_POOLS}",)])
def test_an_error_in_short_is_recognised_beside_the_figures_of_a_pool(typed: tuple[str, ...]) -> None:
    assert {event.load.use for event in command._of_arguments(typed, None)} == {Use.LOCKED}


@pytest.mark.parametrize("pool", ["03:14:07 " + OF_POOLS, "02:15:00 active=2, idle=8, waiting=0"])
def test_a_lock_error_of_another_hour_or_beside_free_connections_stands_alone(pool: str) -> None:
    events = find_events([f"2026-11-28 {pool}", f"2026-11-28 02:14:07 {LOCK_WAIT}"])
    assert Use.LOCKED not in [event.load.use for event in events]


def test_the_statement_alone_is_rolled_back_at_error_1205() -> None:
    assert "roll the transaction back before a retry" in " ".join(events_text([one_event(LOCK_WAIT)]).split())


@pytest.mark.parametrize(
    ("idle", "ranked_first", "sentence"),
    [
        ("28,812,000", "wait_timeout", "12 s above the default of wait_timeout"),
        ("352,000", "firewall", "after 300 or 350 s"),
        ("3,600,000", "wait_timeout", "A limit just below"),
    ],
)
def test_the_idle_time_tells_a_firewall_from_wait_timeout(idle: str, ranked_first: str, sentence: str) -> None:
    event = one_event(RECEIVED.format(idle))
    assert ranked_first in advice(event).causes[0].cause
    assert sentence in " ".join(events_text([event]).split())


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("driver: bad connection", "SetConnMaxLifetime and SetConnMaxIdleTime"),
        ("Failed to validate connection X Possibly consider using a shorter maxLifetime value", "keepaliveTime"),
        (RECEIVED.format("28,812,000"), "the pool's lifetime (HikariCP: maxLifetime, keepaliveTime)"),
        ("MySQL server has gone away", "pool_recycle and pool_pre_ping; Django: CONN_MAX_AGE and CONN_HEALTH_CHECKS"),
    ],
)
def test_an_ended_connection_has_the_library_s_own_settings(text: str, settings: str) -> None:
    assert settings in " ".join(events_text([one_event(text)]).split())


def test_error_2006_may_be_a_large_packet() -> None:
    assert any("max_allowed_packet" in each.cause for each in advice(one_event("MySQL server has gone away")).causes)


def test_errors_1203_and_1226_name_their_own_limit() -> None:
    (of_all,), (own,) = (command._of_arguments((code,), None) for code in ("1203", "1226"))
    assert "SET GLOBAL max_user_connections" in first_action(of_all)
    assert "ALTER USER ... WITH MAX_USER_CONNECTIONS" in first_action(own)
    assert events_values([of_all])["events"][0]["happened"] != events_values([own])["events"][0]["happened"]


def test_a_full_queue_of_mysql2_names_release_and_its_settings_and_no_threads() -> None:
    text = " ".join(events_text([one_event("Error: Queue limit reached.")]).split())
    assert "1. Code does not return connections: a release() is missing" in text
    for word in ("queueLimit", "connectionLimit"):
        assert word in text
    assert "thread" not in text


def overview_of(lines: list[str]) -> tuple[list[list[str]], str]:
    """Return the rows of the table of errors, and the line with the error to start with."""
    _, table, start, *_ = events_text(find_events(lines)).split("\n\n")
    return [line.split(maxsplit=3) for line in table.splitlines()[1:]], " ".join(start.split())


def test_several_errors_of_a_log_begin_with_a_table_in_the_order_of_their_sections() -> None:
    lines = [f"2026-11-28 02:1{minute}:07 {LOCK_WAIT}" for minute in (4, 5, 6)]
    rows, start = overview_of([f"2026-11-28 02:13:00 {ON_CALL}", *lines[1:]])
    assert rows == [
        ["2026-11-28", "02:15:07", "2", "MySQL/MariaDB server: lock wait"],
        ["2026-11-28", "02:13:00", "1", "HikariCP: wait timeout"],
    ]
    assert start == "Start with: MySQL/MariaDB server: lock wait, as the pool's transactions wait for its row locks."


STALE = "Failed to validate connection X (closed.). Possibly consider using a shorter maxLifetime value."
STALLED = "HikariPool-1 - Thread starvation or clock leap detected (housekeeper delta=47s211ms)."
STATE = "HikariPool-1 - Pool stats (total=20, active=6, idle=14, waiting=0)"


def test_what_makes_requests_fail_comes_first_with_its_reason_and_a_state_is_no_error() -> None:
    """The wait of 30 s began at 02:58:10; the pause of at least 17 s, at 02:57:54; the stale connection came later."""
    log = [
        f"2026-11-28 02:55:58 {STATE}", f"2026-11-28 02:58:11 {STALLED}",
        *[f"2026-11-28 02:58:12 {STALE}"] * 5, f"2026-11-28 02:58:40 {ON_CALL}",
    ]  # fmt: skip
    rows, start = overview_of(log)
    assert [row[3] for row in rows] == ["HikariCP: wait timeout", "HikariCP: stalled", "HikariCP: stale connection"]
    assert start == (
        "Start with: HikariCP: wait timeout, as it makes requests fail. Its first wait began at 02:58:10. Before it: "
        "HikariCP: stalled."
    )
    text = " ".join(events_text(find_events(log)).split())
    assert text.startswith("3 kinds of errors:")
    assert text.endswith(
        "the state of a pool at 2026-11-28 02:55:58, not an error. stats (total=20, active=6, idle=14, waiting=0)"
    )
    assert "not full" not in text


@pytest.mark.parametrize(
    "cause", ["Connection leak detection triggered for X", "Too many connections", "connect ECONNREFUSED 10.0.0.5:3306"]
)
@pytest.mark.parametrize(("at", "is_first"), [("02:58:09", True), ("02:58:11", False)])
def test_a_cause_comes_first_if_it_began_before_the_first_wait(cause: str, at: str, is_first: bool) -> None:
    _, start = overview_of([f"2026-11-28 {at} {cause}", *[f"2026-11-28 02:58:40 {ON_CALL}"] * 2])
    assert start.endswith("wait timeout, as it makes requests fail. Its first wait began at 02:58:10.") != is_first
    assert start.endswith(", as it may cause the errors after it.") == is_first


def test_a_wait_that_began_before_midnight_is_compared_by_the_order_of_lines() -> None:
    lines = ["2026-11-27 23:59:50 Too many connections", f"2026-11-28 00:00:10 {ON_CALL}"]
    assert [find_events(order)[0].kind for order in (lines, lines[::-1])] == [Kind.SERVER_FULL, Kind.WAIT_TIMEOUT]


def test_the_most_frequent_error_is_no_cause_of_waits_that_began_before_it() -> None:
    _, start = overview_of([f"02:58:40 {ON_CALL}", *["02:58:41 Too many connections"] * 2])
    assert start == (
        "Start with: MySQL/MariaDB server: server full, as it makes requests fail. Before it: HikariCP: wait timeout."
    )


def test_a_cause_of_later_errors_names_what_began_before_it() -> None:
    _, start = overview_of(
        [
            *[f"14:00:{second} (1040, 'Too many connections')" for second in (31, 32)],
            f"14:00:32 {OF_SQLALCHEMY}",
            "14:09:44 (2006, 'MySQL server has gone away')",
        ]
    )
    assert start.endswith("as it may cause the errors after it. Before it: SQLAlchemy: wait timeout.")


def test_an_error_that_other_clients_of_vert_x_have_too_first_asks_whose_it_is() -> None:
    event = one_event(
        "io.vertx.core.http.ConnectionPoolTooBusyException: Connection pool reached max wait queue size of 9"
    )
    assert first_action(event).startswith("see in the stack trace whose pool it is")


AT_EASE = "HikariPool-1 - Pool stats (total=20/20, idle=14/20, active=6, waiting=0)"


@pytest.mark.parametrize("other", [STALLED, "Connection leak detection triggered for X on thread y"])
def test_warnings_alone_begin_with_the_most_frequent(other: str) -> None:
    _, start = overview_of([f"02:58:11 {other}", *[f"02:58:12 {STALE}"] * 2, *[f"02:58:13 {AT_EASE}"] * 3])
    assert start == "Start with: HikariCP: stale connection, as it came most often."


def test_a_note_of_the_server_s_log_fails_no_request_and_an_error_of_a_client_does() -> None:
    note = "[Warning] Aborted connection 5 to db: 'd' user: 'u' host: 'h' (Got an error reading communication packets)"
    deadlock = "Deadlock found when trying to get lock"
    _, start = overview_of([*[f"02:58:11 {note}"] * 3, f"02:58:12 {deadlock}"])
    assert "deadlock, as it makes requests fail" in start
    idle = "The client was disconnected by the server because of inactivity."
    _, start = overview_of([*[f"02:58:11 {idle}"] * 3, f"02:58:12 {deadlock}"])
    assert "stale connection, as it makes requests fail" in start


def test_an_unknown_failure_of_a_connection_is_not_said_to_be_an_end_by_the_other_side() -> None:
    for cause in ("[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] bad record", "[Errno 32] Broken pipe"):
        text = " ".join(events_text([one_event(LOST.format(f" ({cause})"))]).split())
        assert "most probably, the other side closed it" not in text


def test_the_first_wait_is_that_of_the_first_line() -> None:
    longer = ON_CALL.replace("30000", "90000").replace("=37", "=50")
    _, start = overview_of(
        [f"12:00:40 {ON_CALL}", f"12:05:00 {longer}", "12:05:01 Deadlock found when trying to get lock"]
    )
    assert "Its first wait began at 12:00:10." in start


def test_a_pool_without_connections_that_requests_wait_for_is_no_mere_state() -> None:
    none_open = "HikariPool-1 - Timeout failure stats (total=0/10, idle=0/10, active=0, waiting=37)"
    assert first_action(one_event(none_open)) == FIRST[Use.NONE_OPEN]
    text = " ".join(events_text(find_events([none_open, "Deadlock found when trying to get lock"])).split())
    assert "No connection is open" in text


def test_an_indented_line_with_its_own_time_is_not_a_statement_of_druid() -> None:
    druid = "wait millis 5000, active 2, maxActive 2, creating 0, runningSqlCount 2"
    lines = [f"  02:58:40 {druid} : SELECT 1", "  02:58:41 Lock wait timeout exceeded; try restarting transaction"]
    assert {event.kind for event in find_events(lines)} == {Kind.WAIT_TIMEOUT, Kind.LOCK_WAIT}
    assert one_event(druid).numbers["running"] == 2


LEAK = """\
2026-11-28T03:12:10.333Z WARN ProxyLeakTask - Connection leak detection triggered for X on thread y, stack trace follows
2026-11-28T03:12:10.334Z java.lang.Exception: Apparent connection leak detected
\tat com.zaxxer.hikari.HikariDataSource.getConnection(HikariDataSource.java:100)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tat app//com.acme.report.NightlyExport.run(NightlyExport.java:88)
\tat com.acme.Main.main(Main.java:1)
"""


def test_a_leak_report_before_the_timeouts_comes_first_and_names_the_code() -> None:
    events = find_events(f"{LEAK}2026-11-28T03:12:44.918Z {ON_CALL}\n2026-11-28T03:12:45.020Z {ON_CALL}".splitlines())
    assert [(event.kind, event.count) for event in events] == [(Kind.HELD_LONG, 1), (Kind.WAIT_TIMEOUT, 2)]
    assert all("com.acme.report.NightlyExport.run(NightlyExport.java:88)." in first_action(event) for event in events)
    assert events[1].load.use is Use.LEAKED
    assert "leak" in advice(events[1]).causes[0].cause


@pytest.mark.parametrize("after", [ON_CALL.replace("active=10, idle=0", "active=7, idle=3"), OF_SQLALCHEMY])
def test_a_leak_report_says_nothing_of_another_pool_or_of_free_connections(after: str) -> None:
    assert Use.LEAKED not in [event.load.use for event in find_events([*LEAK.splitlines(), after])]


def test_a_leak_report_counts_after_the_first_timeouts_too_but_not_of_another_day_or_a_late_return() -> None:
    report = LEAK.splitlines()
    late = "2026-11-28T03:13:00Z Previously reported leaked connection X on thread was returned to the pool (unleaked)"
    for lines, is_leaked in (
        ([f"2026-11-28T03:12:09.000Z {ON_CALL}", *report], True),
        ([*report, f"2026-11-29T08:00:00.000Z {ON_CALL}"], False),
        ([*report, late, f"2026-11-28T03:14:00.000Z {ON_CALL}"], False),
    ):
        assert (Use.LEAKED in [event.load.use for event in find_events(lines)]) == is_leaked, lines


def test_a_trace_of_another_error_after_a_leak_report_is_not_the_leak_s() -> None:
    lines = [
        LEAK.splitlines()[0],
        "2026-11-28T03:12:11.000Z ERROR OrderService - com.acme.NoStockException: none left",
        "\tat com.acme.stock.Stock.take(Stock.java:9)",
        f"2026-11-28T03:12:44.918Z {ON_CALL}",
    ]
    assert [event.frame for event in find_events(lines)] == ["", ""]


@pytest.mark.parametrize(
    "trace",
    ["", "\tat org.hibernate.X.y(X.java:1)\nINFO an order\n\tat com.acme.X.y(X.java:1)", "\tat \x1b]0;x\x07(X.java:1)"],
)
def test_a_leak_report_without_a_frame_of_the_application_has_no_code(trace: str) -> None:
    event = one_event(f"{LEAK.splitlines()[0]}\n{trace}")
    assert (event.frame, first_action(event)) == ("", FIRST[Kind.HELD_LONG])


def test_a_leak_report_of_one_line_of_json_names_the_code() -> None:
    trace = "\\n\\tat com.zaxxer.hikari.X.y(X.java:1)\\n\\tat com.acme.Job.run(Job.java:7)"
    assert one_event(LEAK.splitlines()[0] + trace).frame == "com.acme.Job.run(Job.java:7)"


def test_of_several_leak_reports_the_code_of_the_most_is_named() -> None:
    other = LEAK.replace("report.NightlyExport.run(NightlyExport.java:88)", "Job.run(Job.java:7)")
    assert one_event(f"{other}{LEAK}{LEAK}").frame == "com.acme.report.NightlyExport.run(NightlyExport.java:88)"


@pytest.mark.parametrize(
    ("report", "refused"),
    [
        (
            "The garbage collector is trying to clean up non-checked-in connection <X>, which will be terminated.",
            OF_SQLALCHEMY,
        ),
        (
            "A checked-out resource is overdue, and will be destroyed: X",
            "java.sql.SQLException: An attempt by a client to checkout a Connection has timed out.",
        ),
    ],
)
def test_a_leak_report_without_a_stack_trace_is_never_said_to_name_the_code(report: str, refused: str) -> None:
    events = find_events([report, refused])
    assert events[1].load.use is Use.LEAKED
    (action,) = {first_action(event) for event in events}
    assert "stack trace" not in action


def waiting_log(*counts: tuple[str, float]) -> list[str]:
    return [
        f"2026-11-28T03:{time} checkout-pool - Connection is not available, request timed out after 3000ms "
        f"(total=8, active=8, idle=0, waiting={waiting:.0f})"
        for time, waiting in counts
    ]


@pytest.mark.parametrize("waiting", [(117,), (117, 117), (117, 121, 130), (130, 117), (1300,)])
def test_waiting_requests_alone_do_not_show_that_connections_come_back(waiting: tuple[int, ...]) -> None:
    """Those that left the queue were served, or timed out: both have the same numbers."""
    (event,) = find_events(waiting_log(*((f"12:{44 + at}.918", count) for at, count in enumerate(waiting))))
    assert event.load.use is Use.UNCLEAR
    assert "It can be either" in events_text([event])


def test_the_usage_time_decides_between_a_small_pool_and_held_connections() -> None:
    (line,) = waiting_log(("12:44.918", 117))
    assert "Run again with --usage-time MEAN: it decides between the two" in first_action(one_event(line))
    assert [one_event(line, usage_ms).load.use for usage_ms in (20, 200)] == [Use.HELD, Use.BUSY]
    misfit = " ".join(events_text([one_event(line, 900)]).split())
    assert "It does not fit 210 ms: unless most requests fail, 900 ms is not the mean." in misfit
    assert "Run again" not in misfit


def test_a_pool_without_connections_has_no_advice_on_held_connections() -> None:
    assert "leakDetectionThreshold" not in events_text([one_event(ON_CALL.replace("10, active=10", "0, active=0"))])


def test_the_kinds_of_pools_are_those_with_numbers_of_use() -> None:
    assert {example.kind for example in EXAMPLES if "in_use" in example.numbers} <= set(OF_POOL)


def test_an_error_whose_quotes_the_shell_took_is_known_by_its_code() -> None:
    taken = "ERROR 1226 (42000): User shop_rw has exceeded the max_user_connections resource (current value: 60)"
    (event,) = command._of_arguments((taken,), None)
    assert event.kind is Kind.ACCOUNT_LIMIT
    assert not command._of_arguments((taken.removeprefix("ERROR "),), None)


def test_the_first_cause_of_active_record_is_fewer_connections_than_threads() -> None:
    text = (
        "could not obtain a connection from the pool within 5.000 seconds (waited 5.002 seconds); all pooled "
        "connections were in use"
    )
    event = one_event(text)
    assert "RAILS_MAX_THREADS" in first_action(event)
    assert "RAILS_MAX_THREADS" in advice(event).causes[0].tell


@pytest.mark.parametrize("busy", [5, 10])
def test_the_more_frequent_state_of_a_pool_is_explained(busy: int) -> None:
    """Many connections are free in one line of many, or in all but one."""
    text = "Connection is not available, request timed out after 30000ms (total=10, active={}, idle={}, waiting={})"
    lines = [text.format(busy, 10 - busy, 190)] * 50 + [text.format(15 - busy, busy - 5, 191)]
    (event,) = find_events(lines)
    assert event.numbers["in_use"] == busy
    assert (event.count, event.load.use is Use.NOT_FULL) == (51, busy == 5)


@pytest.mark.parametrize(
    ("numbers", "is_full"),
    [
        ("total=10, active=9, idle=1, waiting=200", True),
        ("total=10, active=8, idle=2, waiting=37", True),
        ("total=10, active=7, idle=3, waiting=200", False),
        ("total=10, active=9, idle=1, waiting=3", False),
        ("total=1, active=0, idle=1, waiting=200", False),
    ],
)
def test_a_connection_that_just_came_back_leaves_the_pool_full(numbers: str, is_full: bool) -> None:
    event = one_event(ON_CALL.replace("total=10, active=10, idle=0, waiting=37", numbers))
    assert (event.load.use is Use.NOT_FULL) != is_full
    assert ("had just come back: while requests wait, the pool is full." in events_text([event])) == is_full
    assert ("refuses" in " ".join(each.cause for each in advice(event).causes)) != is_full


def test_a_pool_that_has_not_opened_all_its_connections_is_not_full() -> None:
    event = one_event("HikariPool-1 - Timeout failure stats (total=5/10, idle=1/10, active=4, waiting=200)")
    assert event.load.use is Use.NOT_FULL


@pytest.mark.parametrize("idle", ["300,005", "30,001"])
@pytest.mark.parametrize("cause", [" {}", "\n\tat com.mysql.cj.X.y(X.java:1)\nCaused by: java.net.{}"])
def test_a_read_timeout_of_connector_j_leads_to_the_statement(idle: str, cause: str) -> None:
    below = cause.format("SocketTimeoutException: Read timed out")
    text = f"Communications link failure\n\n{RECEIVED.format(idle)} {SENT.format(idle)}{below}"
    event = one_event(f"2026-11-29 01:10:00 ERROR {text}")
    assert (event.kind, event.count) == (Kind.LOST, 1)
    assert first_action(event).startswith("look for the statement in SHOW FULL PROCESSLIST")
    answer = " ".join(events_text([event]).split())
    assert "maxLifetime changes nothing" in answer
    assert "slow query log" in answer
    assert "config --check" not in answer


def test_a_read_timeout_below_the_lines_of_mybatis_is_that_of_the_statement() -> None:
    """Spring's translation of MyBatis: the message has lines of its own, and the root cause's trace follows it."""
    received = f"Communications link failure\n\n{RECEIVED.format('300,005')}"
    log = (
        f"2026-11-29 01:10:00 ERROR Servlet threw exception [Request failed: DataAccessException:\n### Error querying "
        f"database.  Cause: com.mysql.cj.X: {received}\n### SQL: SELECT 1\n### Cause: com.mysql.cj.X: {received}\n"
        "; Communications link failure] with root cause\n\njava.net.SocketTimeoutException: Read timed out\n"
    )
    event = one_event(log * 3)
    assert (event.count, event.failure) == (3, "timeout")


def test_a_read_timeout_while_a_connection_is_opened_is_no_statement_s() -> None:
    text = "Communications link failure\n\n" + SENT.format("0") + " The driver has not received any packets."
    events = find_events(
        f"01:10:00 ERROR {text}\nCaused by: java.net.SocketTimeoutException: Read timed out".splitlines()
    )
    assert Kind.UNREACHABLE in {event.kind for event in events}
    assert not [event for event in events if event.failure]


def test_of_several_lost_connections_most_decide() -> None:
    stale = [f"01:1{minute}:00 Communications link failure {RECEIVED.format('3,610,001')}" for minute in range(3)]
    timed_out = f"01:20:00 Communications link failure {RECEIVED.format('30,001')} Read timed out"
    assert [event.kind for event in find_events([*stale, timed_out])] == [Kind.STALE]
    (event,) = find_events([stale[0], *[timed_out] * 3])
    assert (event.kind, event.numbers["idle_ms"]) == (Kind.LOST, 30_001)


def test_a_read_timeout_of_a_connection_that_was_idle_leads_to_the_firewall() -> None:
    text = f"Communications link failure {RECEIVED.format('3,610,001')} {SENT.format('30,001')} Read timed out"
    event = one_event(f"01:20:00 {text}")
    assert "The statement ran or waited for 30 s" in (answer := " ".join(events_text([event]).split()))
    assert "the connection was idle for 3,580 s" in answer
    assert "maxLifetime changes nothing" not in answer
    assert "firewall" in first_action(event)
    assert "firewall" in advice(event).causes[0].cause


@pytest.mark.parametrize(
    "date",
    [
        "{:%Y-%m-%d} ", "{:%d.%m.%Y} ", "{:%m/%d/%y} ", "{:%y/%m/%d} ", "{:%d/%m/%Y}, ", "{:%d}. Nov. 2026 ",
        "{:%d}/Nov/2026:", "[{:%d}-Nov-2026 ", "{:%d} Nov 2026 ", "E{:%m%d} ", "{:%y%m%d} ", "Nov {:%d} ",
        "Nov {:%d}, 2026 ",
    ],
)  # fmt: skip
def test_errors_of_other_days_are_counted_apart_and_not_joined(date: str) -> None:
    days = [date.format(datetime(2026, 11, day, tzinfo=UTC)) for day in (27, 29)]
    log = [f"{days[0]}01:10:00 {LEAK.splitlines()[0]}", f"{days[1]}01:10:30 {ON_CALL}", f"{days[0]}01:10:00 {ON_CALL}"]
    leak, waits = find_events(log[:2])[::-1]
    assert (leak.kind, waits.load.use) == (Kind.HELD_LONG, Use.HELD)
    assert len(one_event("\n".join(log[1:])).minutes) == 2


def test_the_time_of_java_util_logging_is_read_and_a_version_is_no_date() -> None:
    times = {"Nov 27, 2026 1:10:00 PM": "Nov 27, 2026 13:10", "Nov 27, 2026 12:10:00 AM": "Nov 27, 2026 00:10"}
    for written, minute in {**times, "mysqld 8.0.36 01:10:00": "01:10"}.items():
        assert list(one_event(f"{written} ERROR {ON_CALL}").minutes) == [minute]


@pytest.mark.parametrize("field", ['"time":{}123', '"ts":{}.1', '"time": {}', '"timestamp":{}000000000'])
def test_a_time_in_seconds_since_1970_is_read(field: str) -> None:
    lines = ['{"level":50,' + field.format(1795914000 + later) + f',"pid":1,"msg":"{ON_CALL}"' for later in (0, 86_400)]
    (event,) = find_events(lines)
    assert event.minutes == {"2026-11-29 01:00": 1, "2026-11-30 01:00": 1}


@pytest.mark.parametrize(("other", "are_joined"), [("", True), ("2026-11-29 ", False)])
def test_a_time_without_a_date_is_no_time_of_a_log_that_has_dates(other: str, are_joined: bool) -> None:
    log = [f"01:10:00 {LOCK_WAIT}", f"01:20:00 {OF_POOLS}", f"{other}01:20:00 {STALE}"]
    assert (Use.LOCKED in [event.load.use for event in find_events(log)]) == are_joined


def pool_line(name: str, second: int, numbers: str) -> str:
    text = ON_CALL.replace("total=10, active=10, idle=0, waiting=37", numbers).removeprefix("HikariPool-1 - ")
    return f"2026-11-29 01:10:{second:02d} ERROR {name}{text}"


def test_the_pools_of_a_log_are_kept_apart_and_named() -> None:
    full = "total=10, active=10, idle=0, waiting=3"
    lines = [
        pool_line("orders-pool - ", 0, full),
        pool_line("\x1breports\x1b - ", 1, "total=50, active=50, idle=0, waiting=400"),
        pool_line("orders-pool - ", 2, full),
        pool_line("orders-pool - ", 3, "total=0, active=0, idle=0, waiting=9"),
    ]
    orders, reports = find_events(lines)
    assert [(event.pool, event.count, event.numbers["waiting"]) for event in (orders, reports)] == [
        ("orders-pool", 3, 3),
        ("\\u001breports\\u001b", 1, 400),
    ]
    text = events_text([orders, reports])
    assert "\x1b" not in text
    assert "HikariCP, orders-pool: a request waited 30 s" in text
    assert one_event(lines[0]).pool == ""


def test_the_lines_of_a_pool_s_housekeeper_are_those_of_one_pool() -> None:
    lines = [
        f"HikariPool-1 - {when}(total=9, active=9, idle=0, waiting=7)"
        for when in ("Before cleanup stats ", "After cleanup  stats ")
    ]
    assert one_event("\n".join(lines)).count == 2


def test_the_number_of_pools_is_bounded() -> None:
    events = find_events(f"pool-{number} - Pool stats (total=9, active=9, idle=0, waiting=7)" for number in range(1000))
    assert len(events) < 50
    assert sum(event.count for event in events) == 1000


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('(1040, "Zu viele Verbindungen")', Kind.SERVER_FULL),
        ("pymysql.err.OperationalError: (1205, 'Beim Warten auf eine Sperre')", Kind.LOCK_WAIT),
        ("SQLSTATE[HY000] [1040] Trop de connexions", Kind.SERVER_FULL),
        ("SQLSTATE[40001]: Serialization failure: 1213 Blocage (SQL: SELECT 'Secret9')", Kind.DEADLOCK),
        ("ERROR 1205 (HY000): Timeout beim Warten auf eine Sperre", Kind.LOCK_WAIT),
        ("Error 1040 (08004): Zu viele Verbindungen", Kind.SERVER_FULL),
        ("WARN o.h.engine.jdbc.spi.SqlExceptionHelper : SQL Error: 1213, SQLState: 40001", Kind.DEADLOCK),
        ("WARN org.hibernate.orm.jdbc.warn : ErrorCode: 1205, SQLState: 40001", Kind.LOCK_WAIT),
        ('{"code":"ER_LOCK_DEADLOCK","errno":1213,"sqlMessage":"Blocage"}', Kind.DEADLOCK),
        ('{"code":"ER_TOO_MANY_USER_CONNECTIONS","sqlState":"42000"}', Kind.USER_LIMIT),
        ("Error: ER_LOCK_WAIT_TIMEOUT: Timeout beim Warten", Kind.LOCK_WAIT),
        ("2026-11-29 01:10:00 ERROR ER_CON_COUNT_ERROR: Zu viele Verbindungen", Kind.SERVER_FULL),
        ("  errorCode: 'ER_CON_COUNT_ERROR',", Kind.SERVER_FULL),
        ("redis-sync OperationalError: (1040, 'Too many connections')", Kind.SERVER_FULL),
        ('order-redis-7 java.sql.SQLException: Refused, message from server: "Too many connections"', Kind.SERVER_FULL),
        ("ERROR 1205 (HY000) at line 1: Timeout beim Warten", Kind.LOCK_WAIT),
    ],
)
def test_an_error_of_the_server_in_another_language_is_known_by_its_code(line: str, kind: Kind) -> None:
    """Sources: Hibernate, CoreMessageLogger.java, 247, and SQLExceptionLogging.java of 7; PDO, pdo_throw_exception."""
    for at in ("2026-11-29 01:10:00", "2026-11-29T01:10:00Z"):
        event = one_event(f"{at} {line}")
        assert (event.library, event.kind, event.count) == ("MySQL/MariaDB server", kind, 1)
        assert "Secret9" not in event.text


def test_the_name_and_the_number_of_an_error_in_node_are_one_error() -> None:
    lines = ("2026-11-29 01:10:00 Error: Zu viele Verbindungen", "  code: 'ER_CON_COUNT_ERROR',", "  errno: 1040,")
    assert (one_event("\n".join(lines)).kind, one_event("\n".join(lines)).count) == (Kind.SERVER_FULL, 1)


def test_a_code_of_hibernate_and_the_text_below_it_are_one_error() -> None:
    helper = "2026-11-29 01:10:00 WARN SqlExceptionHelper : "
    event = one_event(f"{helper}SQL Error: 1213, SQLState: 40001\n{helper}Deadlock found when trying to get lock")
    assert (event.count, event.text) == (1, "Deadlock found when trying to get lock")


def test_a_connection_that_druid_discards_was_valid() -> None:
    text = "discard long time none received connection. , version : 1.2.8, lastPacketReceivedIdleMillis : 300121"
    event = one_event(text)
    answer = " ".join(events_text([event]).split())
    assert not event.fails_requests
    assert "start Java with -Ddruid.mysql.usePingMethod=false, if no validationQuery begins with /* ping */." in answer
    assert "The last query on the connection ended 300 s before." in answer
    assert "The server ended an idle connection" not in answer


def test_a_code_counts_beside_a_text_of_another_time() -> None:
    code = "2026-11-29 01:10:00 OperationalError: (1205, 'Beim Warten auf eine Sperre')"
    text = "Lock wait timeout exceeded"
    event = one_event("\n".join([code] * 50 + [f"2026-11-29 02:10:00 {text}"]))
    assert (event.count, event.text) == (51, text)


def test_a_name_without_an_address_leads_to_the_name_server() -> None:
    for reason in ("([Errno -2] Name or service not known)", "(-3 Temporary failure in name resolution)"):
        event = one_event(f"Can't connect to MySQL server on 'db:3306' {reason}")
        assert first_action(event).startswith("run getent hosts HOST where the application runs")
        assert len(paragraph(f"Do first: {first_action(event)}").splitlines()) <= 2


def test_each_message_of_a_list_of_json_in_a_line_is_read() -> None:
    """As `aws logs filter-log-events` and other command lines print it: the line is longer than LONGEST_LINE."""
    messages = [{"timestamp": 1795914000000 + at, "message": f"}}, {{ {ON_CALL[:-3]}{at})"} for at in range(900)]
    for listed in (messages, {"events": messages}):
        for separators in ((", ", ": "), (",", ":")):
            content = json.dumps(listed, separators=separators).encode()
            assert len(content) > command.LONGEST_LINE
            (event,) = find_events(lines_of(content))
            assert (event.count, event.numbers["waiting"]) == (900, 899)
            assert len(event.minutes) == 1


def test_a_list_within_a_line_of_json_is_a_part_of_its_error() -> None:
    line = {"level": "ERROR", "exceptions": [{"message": ON_CALL}, {"message": ON_CALL}]}
    assert lines_of(json.dumps(line).encode()) == [json.dumps(line)]


def test_lines_that_were_cut_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of((b"x" * command.LONGEST_LINE + b"\r\n") * 2 + b"x" * (command.LONGEST_LINE + 1))
    assert [len(line) for line in lines] == [command.LONGEST_LINE] * 3
    assert capsys.readouterr().err == "poolsize: only the first 64 KiB of 1 line were searched\n"


@pytest.mark.parametrize(
    ("content", "way_out"),
    [
        (gzip.compress(ON_CALL.encode()), "gzipped: zcat app.log.gz | poolsize explain"),
        (ON_CALL.encode("utf-16"), "UTF-16: iconv -f UTF-16 -t UTF-8 app.log | poolsize explain"),
    ],
)
def test_a_log_in_another_encoding_has_a_way_out(content: bytes, way_out: str) -> None:
    with pytest.raises(BadInput, match=re.escape(f"standard input is {way_out}")):
        lines_of(content)


def test_the_whole_reason_of_a_timeout_is_shown() -> None:
    assert one_event("dial tcp 10.0.0.2:3306: i/o timeout").text == "dial tcp 10.0.0.2:3306: i/o timeout"
