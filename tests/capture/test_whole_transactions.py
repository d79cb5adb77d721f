"""Which statements of a session are a whole transaction, where a history has gaps."""

import pytest

from poolsize.capture.history_session import Row
from poolsize.capture.whole_transactions import MOST_PENDING, MOST_UNSURE, NestedStatements, OrderedStatements


def a_row(event: int, verb: str, transaction: int | None = None) -> Row:
    """A statement that has two more events, of which the first may be a transaction."""
    return Row(7, event, event + 2, f"statement/sql/{verb}", event, 1, verb.encode(), None, 1, 1, 0, transaction)


def of_transaction(event: int, *verbs: str) -> list[Row]:
    """A transaction that the first statement begins; its event is the next after the statement's."""
    return [a_row(event + 3 * place, verb, event + 1 if place else None) for place, verb in enumerate(verbs)]


def groups(session: NestedStatements | OrderedStatements, *rows: Row | None) -> list[str]:
    """The statements that come out together, up to the end of the history. None among the rows is a gap."""
    taken = [session.gap() if row is None else session.add(row) for row in rows]
    return [" ".join(row.name.rpartition("/")[2] for row in each) for each in [*taken, session.last()] if each]


def test_the_server_says_in_which_transaction_a_statement_ran() -> None:
    first, second = of_transaction(1, "begin", "select", "commit"), of_transaction(13, "update", "insert", "commit")
    rows = (*first, a_row(10, "select"), *second, a_row(22, "select"))
    expected = ["begin select commit", "select", "update insert commit", "select"]
    assert groups(NestedStatements(), *rows) == expected


def test_a_begin_inside_of_a_transaction_ends_it() -> None:
    begin = a_row(7, "begin", transaction=2)
    rows = (*of_transaction(1, "begin", "select"), begin, a_row(10, "update", 8), a_row(13, "commit", 8))
    assert groups(NestedStatements(), *rows) == ["begin select", "begin update commit"]


def test_a_transaction_with_a_gap_is_left_out() -> None:
    begin, select, update, commit = of_transaction(1, "begin", "select", "update", "commit")
    whole = of_transaction(20, "begin", "select", "commit")
    assert groups(NestedStatements(), begin, select, None, update, commit, *whole) == ["begin select commit"]
    assert groups(NestedStatements(), select, update, commit, *whole) == ["begin select commit"]
    assert groups(NestedStatements(), *whole, None, a_row(40, "select")) == ["begin select commit", "select"]


def test_a_transaction_that_goes_on_at_the_end_is_left_out() -> None:
    assert groups(NestedStatements(), *of_transaction(1, "begin", "select", "update")) == []
    assert groups(OrderedStatements(), a_row(1, "begin"), a_row(2, "select")) == []


@pytest.mark.parametrize("kind", [NestedStatements, OrderedStatements])
def test_a_transaction_without_end_takes_little_memory(kind: type[NestedStatements | OrderedStatements]) -> None:
    rows = of_transaction(1, "begin", *["select"] * MOST_PENDING, "commit")
    assert groups(kind(), *rows) == []


def test_begin_and_commit_tell_transactions_apart_by_order() -> None:
    rows = [a_row(3 * place, verb) for place, verb in enumerate(["begin", "select", "commit", "select", "update"])]
    assert groups(OrderedStatements(), *rows) == ["begin select commit", "select", "update"]


def test_after_a_gap_statements_before_a_commit_are_a_part_of_a_transaction() -> None:
    begin, select, commit = (a_row(place, verb) for place, verb in enumerate(["begin", "select", "commit"]))
    whole = "begin select commit"
    assert groups(OrderedStatements(), select, commit, begin, select, commit) == [whole]
    assert groups(OrderedStatements(), begin, select, None, select, commit, select) == ["select"]
    assert groups(OrderedStatements(), begin, select, commit, None, select, None) == [whole]
    assert groups(OrderedStatements(), begin, select, commit, None, select, begin, select, commit) == [
        whole, "select", whole,
    ]  # fmt: skip


def test_a_session_that_never_begins_a_transaction_has_none() -> None:
    select = a_row(1, "select")
    assert groups(OrderedStatements(), select, None, select, select) == ["select", "select select"]
    assert len(groups(OrderedStatements(), *[select] * (MOST_UNSURE + 2))) == 3
