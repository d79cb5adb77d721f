"""How a captured workload draws: the distributions that were captured, and the values of the copy."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from poolsize.capture import draws
from poolsize.capture.draws import (
    Existing,
    Frequent,
    Next,
    about,
    ago,
    between,
    delete_inserted,
    insert,
    later,
    pattern,
    several,
    text,
    zipf,
)

DRAWS = 20_000


class Cursor:
    """Answers every statement with the rows that it is given."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows, self.executed = rows, list[tuple[str, Any]]()

    def execute(self, text: str, arguments: Any = None) -> int:
        """Note a statement. Return the number of rows."""
        self.executed.append((text, arguments))
        return len(self.rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows."""
        return self.rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row."""
        return self.rows[0] if self.rows else None


@pytest.mark.parametrize("exponent", [0.5, 0.9, 1.0, 1.4])
@pytest.mark.parametrize("first", ["low", "high", "scattered"])
def test_zipf_gives_each_rank_its_share(exponent: float, first: str) -> None:
    low, high = 11, 60
    counts = Counter(zipf(low, high, exponent, first) for _ in range(DRAWS))
    assert set(counts) <= set(range(low, high + 1))
    shares = np.arange(1, 51) ** -exponent
    expected = DRAWS * shares / shares.sum()
    seen = sorted((counts[value] for value in range(low, high + 1)), reverse=True)
    assert np.abs(np.array(seen[:10]) - expected[:10]).max() < 6 * np.sqrt(expected[0])
    if first != "scattered":
        assert counts.most_common(1)[0][0] == (low if first == "low" else high)


def test_zipf_with_few_ranks_spreads_them_over_the_range() -> None:
    values = {zipf(1, 1_000_000, 0.8, "scattered", distinct=40) for _ in range(5_000)}
    assert len(values) == 40
    assert max(values) > 900_000


@pytest.mark.parametrize(("low", "high", "mean"), [(1, 4, 1.7), (0, 100, 80), (3, 3, 3), (1, 2, 2)])
def test_about_keeps_the_mean(low: int, high: int, mean: float) -> None:
    values = [about(low, high, mean) for _ in range(DRAWS)]
    assert low <= min(values)
    assert max(values) <= high
    assert np.mean(values) == pytest.approx(mean, abs=0.02 * (high - low) + 1e-9)


def test_between_draws_each_pair_of_neighbours_as_often() -> None:
    values = [between(0, 9, 1_000) for _ in range(DRAWS)]
    assert np.mean(np.array(values) <= 9) == pytest.approx(0.5, abs=0.02)
    assert len({between(1, 1_000, distinct=7) for _ in range(500)}) == 7
    assert {between(5, 5) for _ in range(5)} == {5}


def test_moments_have_the_form_of_the_log() -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    assert timedelta(seconds=59) < now - ago(60, 120) < timedelta(seconds=122)
    assert ago(0, 60, form="date") <= now.date()
    assert ago(0, 60, decimals=3).microsecond % 1_000 == 0
    assert ago(0, 60, midnight=True).hour == 0
    assert abs(ago(0, 1, form="unix_ms") / 1_000 - datetime.now(UTC).timestamp()) < 5
    assert "T" in ago(0, 60, form="iso")


def test_later_adds_to_numbers_and_to_moments() -> None:
    assert later(5, 2, 2) == 7
    assert later("5", 2, 2) == "7"
    assert later(datetime(2026, 1, 1), 60, 60) == datetime(2026, 1, 1, 0, 1)
    assert later("abc", 1, 1) == "abc"


def test_texts_have_their_length_and_alphabet() -> None:
    assert {len(text(3, 5, "hex")) for _ in range(100)} == {3, 4, 5}
    assert str(text(5, 5, "digits")).isdigit()
    assert len(text(36, 36, "uuid")) == 36
    assert "@" in str(text(20, 20, "email"))
    assert isinstance(text(4, 4, "bytes"), bytes)
    assert pattern("abcdef", 3, 3, ends=True) == "abc%"
    assert several(lambda: 1, 2, 2, 2.0) == (1, 1)


def test_frequent_values_are_the_most_frequent_of_the_copy_with_their_shares_of_the_log() -> None:
    cursor = Cursor([("paid",), ("open",)])
    status = Frequent("shop.orders", "status", [0.5, 0.15, 0.05], lambda: "tail", {None: 0.1})
    drawn = Counter(status.draw(cursor) for _ in range(DRAWS))
    assert len(cursor.executed) == 1
    assert "`status` AS value FROM `shop`.`orders` LIMIT" in cursor.executed[0][0]
    shares = {value: count / DRAWS for value, count in drawn.items()}
    assert shares == pytest.approx({"paid": 0.5, "open": 0.15, None: 0.1, "tail": 0.25}, abs=0.02)


def test_frequent_values_of_an_unknown_column_keep_their_skew() -> None:
    numbers = Frequent("", "", [0.9], lambda: between(1, 10**9))
    cursor = Cursor([])
    assert Counter(numbers.draw(cursor) for _ in range(1_000)).most_common(1)[0][1] > 800
    assert not cursor.executed


def test_existing_values_are_those_of_the_copy_or_random_texts() -> None:
    email = Existing("customer", "email", lambda: "random", distinct=2, exponent=0.5)
    assert len({email.draw(Cursor([("a",), ("b",), ("c",)])) for _ in range(100)}) == 2
    assert Existing("customer", "email", lambda: "random").draw(Cursor([])) == "random"


def test_a_column_whose_values_are_unique_gets_random_texts() -> None:
    cursor = Cursor([("a",)])
    assert Existing("shop.customer", "email", lambda: "random", unless_unique=True).draw(cursor) == "random"
    assert cursor.executed == [
        ("SHOW INDEX FROM `shop`.`customer` WHERE Column_name = %s AND Non_unique = 0", ("email",))
    ]


def test_the_next_values_are_above_all_values_of_the_copy() -> None:
    counter, cursor = Next("audit", "id", 10), Cursor([(70,)])
    first, second = counter.draw(cursor), counter.draw(cursor)
    assert first > 70
    assert second > first
    assert len(cursor.executed) == 1


def test_an_insert_of_several_rows_repeats_the_row_of_the_statement() -> None:
    cursor = Cursor([])
    insert(cursor, "INSERT INTO t (a, b) VALUES (%s, NOW()) ON DUPLICATE KEY UPDATE b = VALUES(b)", [(1,), (2,)])
    assert cursor.executed == [
        ("INSERT INTO t (a, b) VALUES (%s, NOW()), (%s, NOW()) ON DUPLICATE KEY UPDATE b = VALUES(b)", (1, 2))
    ]


def test_before_a_step_the_rows_of_earlier_steps_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "_highest", {})
    cursor = Cursor([(41,)])
    delete_inserted(cursor, {"orders": "id"})
    delete_inserted(cursor, {"orders": "id"})
    assert cursor.executed == [
        ("SELECT MAX(`id`) FROM `orders`", None),
        ("DELETE FROM `orders` WHERE `id` > %s OR %s IS NULL", (41, 41)),
    ]
    delete_inserted(empty := Cursor([]), {"log": ""})
    assert len(empty.executed) == 1
