"""Transactions out of events: BEGIN and COMMIT, autocommit, sessions that end, what is left out, bounded memory."""

from collections.abc import Sequence
from math import isnan, nan

import pytest

from poolsize.capture import transactions
from poolsize.capture.events import UNKNOWN_THREAD, Disconnected, Event, Gap, StatementEvent
from poolsize.capture.transactions import LeftOut, Transaction, rebuilt


def ran(*texts: str, thread: int = 1) -> list[Event]:
    """Statements of a session: one each second, each of 0.25 s."""
    return [StatementEvent(thread, float(second), 0.25, text) for second, text in enumerate(texts, 1)]


def rebuilt_from(events: Sequence[Event], left_out: LeftOut | None = None) -> list[Transaction]:
    return list(rebuilt(events, left_out if left_out is not None else LeftOut()))


def texts_of(events: Sequence[Event]) -> list[list[str]]:
    return [[each.fingerprint.text for each in made.statements] for made in rebuilt_from(events)]


def test_a_transaction_has_the_statements_between_begin_and_commit() -> None:
    (made,) = rebuilt_from(ran("BEGIN", "SELECT a FROM t", "UPDATE t SET a = 5", "COMMIT"))
    assert [each.fingerprint.text for each in made.statements] == ["SELECT a FROM t", "UPDATE t SET a = %s"]
    assert (made.started, made.ended, made.is_explicit, made.ends, made.is_whole) == (1, 4.25, True, "commit", True)
    assert made.seconds == 1.0
    assert isnan(made.after_previous)


def test_under_autocommit_each_statement_is_a_transaction() -> None:
    made = rebuilt_from(ran("SELECT a FROM t", "SELECT b FROM t"))
    assert [(each.started, each.is_explicit, each.seconds) for each in made] == [(1, False, 0.25), (2, False, 0.25)]
    assert made[1].after_previous == 0.75


@pytest.mark.parametrize(
    "begin", ["begin", "BEGIN WORK", "START TRANSACTION READ ONLY", "/* x */ Begin", "XA START 'a'"]
)
@pytest.mark.parametrize("end", ["rollback", "ROLLBACK WORK", "XA ROLLBACK 'a'", None])
def test_all_ways_to_begin_and_to_roll_back(begin: str, end: str | None) -> None:
    (made,) = rebuilt_from([*ran(begin, "SELECT 1"), *(ran(end) if end else [Disconnected(1)])])
    assert (made.ends, made.is_explicit, made.is_whole, len(made.statements)) == ("rollback", True, True, 1)


def test_the_two_phases_of_a_distributed_transaction_are_no_work() -> None:
    left_out = LeftOut()
    (made,) = rebuilt_from(ran("XA START 'a'", "SELECT 1", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'"), left_out)
    assert (made.ends, len(made.statements), left_out.statements) == ("commit", 1, {"two-phase": 2})


@pytest.mark.parametrize("end", ["COMMIT AND CHAIN", "ROLLBACK WORK AND CHAIN"])
def test_a_commit_with_chain_begins_the_next_transaction(end: str) -> None:
    events = ran("BEGIN", "SELECT a", end, "SELECT b", "SELECT c", "COMMIT AND NO CHAIN", "SELECT d")
    assert texts_of(events) == [["SELECT a"], ["SELECT b", "SELECT c"], ["SELECT d"]]
    assert [made.is_explicit for made in rebuilt_from(events)] == [True, True, False]


def test_sessions_are_told_apart() -> None:
    events = [event for pair in zip(ran("BEGIN", "SELECT a", "COMMIT"), ran("BEGIN", "SELECT b", "COMMIT", thread=2),
                                    strict=True) for event in pair]  # fmt: skip
    assert texts_of(events) == [["SELECT a"], ["SELECT b"]]


@pytest.mark.parametrize(
    "off", ["SET autocommit=0", "SET @@session.autocommit = OFF", "SET NAMES utf8, autocommit = 0"]
)
def test_with_autocommit_off_a_transaction_begins_by_itself(off: str) -> None:
    made = rebuilt_from(ran(off, "SELECT a", "SELECT b", "COMMIT", "SELECT c", "SET autocommit = 1", "SELECT d"))
    assert [(len(each.statements), each.is_explicit, each.seconds) for each in made] == [
        (2, True, 0.75), (1, True, 0.25), (1, False, 0.25),
    ]  # fmt: skip


def test_a_commit_without_begin_shows_that_autocommit_is_off() -> None:
    events = ran("SELECT a", "COMMIT", "SELECT b", "SELECT c", "ROLLBACK", "ROLLBACK")
    assert texts_of(events) == [["SELECT a"], ["SELECT b", "SELECT c"]]


def test_a_begin_shows_that_autocommit_is_on() -> None:
    """The log begins within a transaction of the session, and its first COMMIT is that of a BEGIN before."""
    events = ran(
        "SELECT a", "COMMIT", "BEGIN", "SELECT b", "COMMIT", "SELECT c", "SELECT d", "BEGIN", "SELECT e", "COMMIT"
    )
    assert texts_of(events) == [["SELECT a"], ["SELECT b"], ["SELECT c"], ["SELECT d"], ["SELECT e"]]


B, S, C = "BEGIN", "SELECT a", "COMMIT"


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([None, S, C, B, S, C], [1]),
        ([None, B, S, None, S, C, S], [1]),
        ([None, B, S, C, None, S, None], [1]),
        ([None, B, S, C, None, S, B, S, C], [1, 1, 1]),
        ([None, S, None, S, S], [1, 1, 1]),
        ([None, "SET autocommit = 0", S, C, S, S, C, None, S, C, S, S, C], [1, 2, 2]),
        ([None, *[S] * (transactions.MOST_UNSURE + 2)], [1] * (transactions.MOST_UNSURE + 2)),
    ],
)
def test_after_a_gap_statements_before_a_commit_are_a_part_of_a_transaction(
    texts: list[str | None], whole: list[int]
) -> None:
    """None is a gap, after which a transaction may be open. whole: the statements of each transaction seen whole."""
    events = [event for text in texts for event in ([Gap(1)] if text is None else ran(text))]
    assert [len(made.statements) for made in rebuilt_from(events) if made.is_whole] == whole


def test_a_begin_and_a_definition_commit_the_open_transaction() -> None:
    made = rebuilt_from(ran("BEGIN", "SELECT a", "BEGIN", "SELECT b", "CREATE TABLE t (a int)", "SELECT c"))
    assert [(each.ends, each.is_explicit) for each in made] == [("commit", True), ("commit", True), ("commit", False)]


def test_a_temporary_table_is_part_of_the_transaction() -> None:
    assert [len(each) for each in texts_of(ran("BEGIN", "CREATE TEMPORARY TABLE x (a int)", "SELECT a", "COMMIT"))] == [
        2
    ]


def test_savepoints_have_the_same_names_in_each_transaction() -> None:
    events = ran("BEGIN", "SAVEPOINT s123_x1", "SAVEPOINT `s123_x2`", "ROLLBACK TO SAVEPOINT s123_x1",
                 "RELEASE SAVEPOINT s123_x1", "COMMIT")  # fmt: skip
    assert texts_of(events) == [
        ["SAVEPOINT sp1", "SAVEPOINT sp2", "ROLLBACK TO SAVEPOINT sp1", "RELEASE SAVEPOINT sp1"]
    ]


def test_what_is_no_part_of_the_workload_is_counted_with_its_time() -> None:
    """By what it is: a word is named if it is SQL, for another may be a value."""
    left_out = LeftOut()
    events = ran("SET NAMES utf8mb4", "SELECT @@version", "USE shop", "SHOW TABLES", "GRANT ALL ON *.* TO bob",
                 "LOAD DATA INFILE 'x' INTO TABLE t", "hunter2 a", "SELECT 'cut", "", "BEGIN", "COMMIT",
                 "SELECT COUNT(*) FROM `performance_schema`.threads", "SELECT a FROM sys (b)",
                 "SET @a = 1")  # fmt: skip
    assert [len(each.statements) for each in rebuilt_from(events, left_out)] == [1, 1]
    assert left_out.statements == {
        "setting": 3, "monitoring": 1, "SHOW": 1, "GRANT": 1, "LOAD": 1, "other": 1, "not whole": 1, "too long": 1,
        "empty": 2,
    }  # fmt: skip
    assert left_out.seconds["setting"] == 0.75


def test_each_statement_is_in_a_transaction_or_left_out() -> None:
    left_out = LeftOut()
    events = [*ran("BEGIN", "SELECT a", "SELECT 'x", "COMMIT", "COMMIT", "SET a=1", "SELECT b", "BEGIN", "SELECT c"),
              *ran("SELECT d", "CREATE TABLE t (a int)", "BEGIN", thread=2)]  # fmt: skip
    made = rebuilt_from(events, left_out)
    assert sum(each.seconds for each in made) + sum(left_out.seconds.values()) == 0.25 * len(events)
    assert [each.is_whole for each in made] == [True, True, True, False]


def test_several_statements_in_one_event_share_its_time() -> None:
    (made,) = rebuilt_from(ran("BEGIN; UPDATE t SET a = 'x;y'; COMMIT;"))
    assert len(made.statements) == 1
    assert made.seconds == pytest.approx(0.25)
    assert made.statements[0].seconds == pytest.approx(0.25 / 3)


def test_without_a_session_each_statement_is_alone() -> None:
    events = ran(
        "BEGIN", "SELECT a", "SELECT b", "COMMIT", "SELECT c", "SET autocommit=0", "SELECT d", thread=UNKNOWN_THREAD
    )
    assert texts_of(events) == [["SELECT a"], ["SELECT b"], ["SELECT c"], ["SELECT d"]]
    assert all(isnan(made.after_previous) for made in rebuilt_from(events))


def test_unknown_run_times_stay_unknown() -> None:
    events = [
        event._replace(seconds=nan) for event in ran("BEGIN", "SELECT a", "COMMIT") if isinstance(event, StatementEvent)
    ]
    (made,) = rebuilt_from(events)
    assert (made.started, made.ended, isnan(made.seconds)) == (1, 3, True)


def test_a_long_text_of_several_statements_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MOST_STATEMENTS", 3)
    left_out = LeftOut()
    made = rebuilt_from(
        ran("SELECT a;" * 5, "BEGIN; SELECT a; SELECT b; SELECT c; COMMIT", "BEGIN", "COMMIT"), left_out
    )
    assert [(len(each.statements), each.is_whole) for each in made] == [(1, True)] * 3 + [(2, False)]
    assert left_out.statements == {"cut": 4, "empty": 2}
    assert left_out.seconds["cut"] == pytest.approx(0.2)
    without = ran("SELECT a;" * 5, "SELECT a", "COMMIT", thread=UNKNOWN_THREAD)
    assert [each.is_whole for each in rebuilt_from(without)] == [True] * 4


def test_a_long_transaction_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MOST_STATEMENTS", 3)
    left_out = LeftOut()
    (made,) = rebuilt_from(ran("BEGIN", *["SELECT a"] * 5, "COMMIT"), left_out)
    assert (len(made.statements), made.is_whole, left_out.statements) == (3, False, {"cut": 2})


def test_the_memory_of_open_transactions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MOST_BYTES_OPEN", 5_000)
    monkeypatch.setattr(transactions, "MOST_SESSIONS", 50)
    begun = [event for thread in range(1, 100) for event in ran("BEGIN", "SELECT a", thread=thread)]
    made = rebuilt_from(begun)
    assert [each.thread for each in made] == list(range(1, 100))
    assert not any(each.is_whole for each in made)
