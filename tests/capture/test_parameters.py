"""How a parameter is drawn, from the literals that it had in a log."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from poolsize.capture.workload import (
    CapturedStatement,
    Constant,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Reference,
    Sequence,
    Several,
    Text,
    Time,
    workload_json,
)
from tests.capture.logged import START, captured, explicit, repeated

COUNT = 400


def statements_of(
    make: Callable[[random.Random, int], tuple[str, ...]], *, keeps: bool = False
) -> list[CapturedStatement]:
    """Return the statements of the only kind of transactions."""
    (kind,) = captured(repeated(COUNT, make), keeps_values=keeps).kinds
    return list(kind.statements)


def parameter_of(make: Callable[[random.Random, int], str], *, keeps: bool = False) -> Parameter:
    """Return the last parameter of the only statement."""
    (statement,) = statements_of(lambda chance, number: (make(chance, number),), keeps=keeps)
    return statement.parameters[-1]


@pytest.mark.costly
def test_short_numbers_and_limits_stay() -> None:
    """A LIMIT, NULL and a number of up to three digits can't be a secret."""
    assert parameter_of(lambda *_: "SELECT a FROM t ORDER BY a LIMIT 12345") == Constant("12345")
    assert parameter_of(lambda *_: "SELECT a FROM t WHERE state = 3") == Constant("3", table="t", column="state")
    assert parameter_of(lambda *_: "UPDATE t SET a = NULL") == Constant("NULL", table="t", column="a")


def test_a_constant_is_not_shown_unless_values_are_kept() -> None:
    """A frequent value of the copy's column takes the place of a constant text."""

    def make(*_: object) -> str:
        return "SELECT a FROM shop.orders o WHERE o.status = 'it''s active'"

    drawn = parameter_of(make)
    assert isinstance(drawn, Heavy)
    assert (drawn.table, drawn.column, drawn.values) == ("shop.orders", "status", (HeavyValue(1.0),))
    assert parameter_of(make, keeps=True) == Constant("'it''s active'", table="shop.orders", column="status")


@pytest.mark.costly
def test_a_few_texts_are_frequent_values() -> None:
    """Their shares are those of the log, in descending order."""
    shares = {"open": 0.7, "paid": 0.2, "gone": 0.1}
    drawn = parameter_of(
        lambda chance, _: f"SELECT a FROM t WHERE s = '{chance.choices(list(shares), list(shares.values()))[0]}'"
    )
    assert isinstance(drawn, Heavy)
    assert {item.value for item in drawn.values} == {None}
    assert [item.share for item in drawn.values] == pytest.approx(list(shares.values()), abs=0.07)


def test_large_numbers_are_spread_as_small_numbers_are() -> None:
    """Such as those of UUID_SHORT(), of which 16 in turn are the same as floats."""
    spread = []
    for lowest in (1_000_000, 92_395_783_831_150_000):
        drawn = parameter_of(
            lambda chance, _, lowest=lowest: (
                "SELECT a FROM t WHERE id = "  # type: ignore[misc]
                f"{lowest + chance.randrange(chance.choice([100, 100, 100, 2_000]))}"
            )
        )
        assert isinstance(drawn, Range)
        spread.append(([end - lowest for end in drawn.ends], drawn.shares))
    assert spread[0] == spread[1]
    assert len(spread[0][1]) > 1


@pytest.mark.costly
def test_one_frequent_value_stands_out_of_a_range() -> None:
    """A guest account beside all others."""

    def make(chance: random.Random, _: int) -> str:
        return f"SELECT a FROM t WHERE user_id = {chance.choice((4_711, chance.randint(1, 90_000)))}"

    drawn = parameter_of(make)
    assert isinstance(drawn, Heavy)
    (guest,) = drawn.values
    assert guest.value is None
    assert guest.share == pytest.approx(0.5, abs=0.07)
    assert isinstance(drawn.tail, Range)
    assert (drawn.table, drawn.column) == ("t", "user_id")


def test_null_among_numbers_is_a_frequent_value() -> None:
    """NULL is shown; the other values have a range."""
    drawn = parameter_of(lambda chance, _: f"UPDATE t SET a = {chance.choice(('NULL', str(chance.randint(1, 9_999))))}")
    assert isinstance(drawn, Heavy)
    assert [item.value for item in drawn.values] == ["NULL"]
    assert isinstance(drawn.tail, Range)


@pytest.mark.costly
def test_prices_keep_their_decimals() -> None:
    """The ends of a range of decimals are whole numbers over a power of ten."""
    drawn = parameter_of(lambda chance, _: f"UPDATE t SET price = {chance.randint(100, 9_999) / 100:.2f}")
    assert isinstance(drawn, Range)
    assert (drawn.ends, drawn.decimals) == ((100, 10_000), 2)


def test_the_ends_of_a_range_are_no_literals() -> None:
    """With few values, an end has two digits, since each value might be a secret."""
    text = workload_json(captured([(f"SELECT a FROM t WHERE card = {4111_1111_1111_1111 + i * 7}",) for i in range(3)]))
    assert b"41111" not in text


@pytest.mark.costly
def test_texts_have_lengths_and_an_alphabet() -> None:
    """Also those of a pattern, whose wildcards are apart."""
    drawn = parameter_of(lambda chance, _: f"SELECT a FROM t WHERE name LIKE '{'abcdefgh'[: chance.randint(2, 6)]}%'")
    assert isinstance(drawn, Heavy)
    assert isinstance(drawn.tail, Text)
    tail = drawn.tail
    assert (tail.shortest, tail.longest, tail.alphabet, tail.begins, tail.ends) == (2, 6, "hex", "", "%")
    uuid = parameter_of(
        lambda chance, _: f"SELECT a FROM t WHERE u = '{chance.randbytes(4).hex()}-1111-2222-3333-{'a' * 12}'"
    )
    assert isinstance(uuid, Text)
    assert uuid.alphabet == "uuid"


def test_moments_are_ages() -> None:
    """A moment is drawn relative to the statement."""

    def make(chance: random.Random, number: int) -> str:
        moment = np.datetime64(int(START + number * 0.0635 - chance.randint(60, 86_400)), "s")
        return f"SELECT a FROM t WHERE created > '{str(moment).replace('T', ' ')}'"

    drawn = parameter_of(make)
    assert isinstance(drawn, Time)
    assert drawn.form == "datetime"
    assert drawn.ages[0] < 1_000
    assert 80_000 < drawn.ages[-1] <= 90_000


@pytest.mark.parametrize(("ahead", "ages"), [(-1, (26_000, 27_000)), (1, (-27_000, -26_000))])
def test_moments_of_nearly_the_same_age_are_a_single_range(ahead: int, ages: tuple[int, int]) -> None:
    """The ends of ranges have two digits, so that the ranges between would be empty."""

    def make(chance: random.Random, number: int) -> str:
        moment = np.datetime64(int(START + number * 0.0635 + ahead * (26_010 + 300 * (chance.random() > 0.95))), "s")
        return f"SELECT a FROM t WHERE created > '{str(moment).replace('T', ' ')}'"

    moment_parameter = parameter_of(make)
    assert isinstance(moment_parameter, Time)
    assert moment_parameter.ages == ages


@pytest.mark.costly
def test_between_is_a_distance() -> None:
    """The upper end of BETWEEN follows from the lower end."""

    def make(chance: random.Random, _: int) -> tuple[str, ...]:
        low = chance.randint(1, 99_000)
        return (f"SELECT a FROM t WHERE id BETWEEN {low} AND {low + chance.randint(90, 99)}",)

    (statement,) = statements_of(make)
    low, high = statement.parameters
    assert isinstance(low, Range)
    assert high == Reference("parameter", 0, 0, 90, 99, table="t", column="id")


@pytest.mark.costly
def test_an_id_is_used_again() -> None:
    """A value that an earlier statement had is a reference to this statement; repeated executions share it."""

    def make(chance: random.Random, _: int) -> tuple[str, ...]:
        order = chance.randint(1, 99_000)
        items = [
            f"SELECT a FROM item WHERE order_id = {order} AND line = {line}" for line in range(chance.randint(1, 4))
        ]
        return explicit(
            f"SELECT a FROM orders WHERE id = {order}", *items, f"UPDATE orders SET a = 1 WHERE id = {order}"
        )

    select, items, update = statements_of(make)
    assert isinstance(select.parameters[0], Range)
    assert items.repeats == (1, 4)
    assert items.repeats_mean == pytest.approx(2.5, abs=0.2)
    assert items.parameters[0] == Reference("parameter", 0, 0, table="item", column="order_id")
    assert update.parameters[-1] == Reference("parameter", 0, 0, table="orders", column="id")


@pytest.mark.costly
def test_a_generated_id_is_a_reference_to_its_insert() -> None:
    """The server counts orders up; the next statements of the transaction have the order's id."""

    def make(chance: random.Random, number: int) -> tuple[str, ...]:
        return explicit(
            f"INSERT INTO orders (customer, total) VALUES ({chance.randint(1, 5_000)}, {chance.randint(1, 99_999)})",
            f"INSERT INTO item (order_id, price) VALUES ({80_000 + number}, {chance.randint(1, 9_999)})",
            f"UPDATE stock SET a = 1 WHERE order_id = {80_000 + number}",
        )

    _, item, stock = statements_of(make)
    assert item.parameters[0] == Reference("inserted", 0, table="item", column="order_id")
    assert stock.parameters[-1] == Reference("parameter", 1, 0, table="stock", column="order_id")


@pytest.mark.costly
def test_an_id_that_the_application_counts_is_a_sequence() -> None:
    """The first parameter of an INSERT that grows."""
    (insert,) = statements_of(
        lambda chance, number: (f"INSERT INTO t (id, a) VALUES ({70_000 + number}, {chance.randint(1, 9_999)})",)
    )
    assert insert.parameters[0] == Sequence(70_400, table="t", column="id")


@pytest.mark.costly
def test_lists_and_rows_have_lengths() -> None:
    """IN (...) is a list of one parameter; an INSERT has the parameters of a row."""

    def numbers(chance: random.Random, most: int) -> list[str]:
        return [str(chance.randint(1, 9_999)) for _ in range(chance.randint(1, most))]

    drawn = parameter_of(lambda chance, _: f"SELECT a FROM t WHERE id IN ({', '.join(numbers(chance, 5))})")
    assert isinstance(drawn, Several)
    assert (drawn.low, drawn.high, drawn.column) == (1, 5, "id")
    assert isinstance(drawn.item, Range)
    (insert,) = statements_of(
        lambda chance, _: (f"INSERT INTO t (a) VALUES {', '.join(f'({value})' for value in numbers(chance, 3))}",)
    )
    assert (insert.rows, len(insert.parameters)) == ((1, 3), 1)
    assert insert.rows_mean == pytest.approx(2, abs=0.15)


def test_what_follows_the_rows_of_an_insert_has_parameters() -> None:
    """Each row has values of its own, and ON DUPLICATE KEY UPDATE has its values once."""

    def make(chance: random.Random, _: int) -> tuple[str, ...]:
        rows = f"({chance.randint(1, 99)}), ({chance.randint(900, 999)})"
        return (f"INSERT INTO t (a) VALUES {rows} ON DUPLICATE KEY UPDATE b = b + 7",)

    (insert,) = statements_of(make)
    row, added = insert.parameters
    assert isinstance(row, Heavy | Range)
    assert added == Constant("7")
    assert insert.rows == (2, 2)


def test_a_percent_sign_is_no_parameter() -> None:
    """Names that hold %s are names, and what precedes an operator need not be a column."""
    (select,) = statements_of(lambda *_: ("SELECT `%s`, a % s FROM t WHERE 5 = 6",))
    assert select.parameters == (Constant("5"), Constant("6"))


@pytest.mark.costly
def test_a_placeholder_without_a_value_is_drawn_from_the_copy() -> None:
    """The statement history of a server shows prepared statements so."""
    (statement,) = statements_of(
        lambda chance, _: (f"SELECT a FROM t WHERE id = ? AND b = {chance.randint(1, 99_000)} AND c IN (?, ?) LIMIT ?",)
    )
    assert statement.text == "SELECT a FROM t WHERE id = %s AND b = %s AND c IN %s LIMIT %s"
    unseen, seen, several, limit = statement.parameters
    assert unseen == Text(1, 6, "digits", 0, table="t", column="id")
    assert isinstance(seen, Range)
    assert isinstance(several, Several)
    assert (several.low, several.high, several.column) == (2, 2, "c")
    assert limit == Constant("10")


@pytest.mark.costly
@pytest.mark.parametrize("times", [1, 5, 40])
def test_no_secret_is_in_the_description(times: int) -> None:
    """Not a number, a name, a mail address or a text of the log, however often each of them stands in it."""
    chance = random.Random(times)
    numbers = [str(chance.randrange(10**digits, 10 ** (digits + 1)) | 1) for digits in range(4, 16) for _ in range(2)]
    words = [f"Sekret{place:02}{chance.choice(('@mail.test', '', ' Ltd'))}" for place in range(30)]
    in_hex = [word.encode().hex() for word in words]
    statements = [
        text
        for number, word, digits in zip(numbers, words, in_hex, strict=False)
        for text in (
            f"SELECT a FROM t WHERE card = {number}",
            f"SELECT a FROM t WHERE phone = '{number}' AND name LIKE '{word}%'",
            f"INSERT INTO t (a, b, c) VALUES ({number}, '{word}', {number}.25)",
            f"UPDATE t SET a = a + {number} /* {word} */ WHERE b IN ('{word}', 'x') AND d = {number} -- {word}",
            f"SELECT a FROM v{digits[:2]} WHERE x BETWEEN {number} AND {int(number) + 7} AND y = x'{digits}'",
        )
    ]
    text = workload_json(captured([(text,) for text in statements] * times)).decode()
    assert [secret for secret in (*numbers, "Sekret", "@mail", *in_hex) if secret in text] == []


@pytest.mark.costly
def test_no_end_of_a_piece_of_a_range_is_a_literal() -> None:
    """Numbers of four digits that lie together have a range with quantiles, each of which could be a literal."""
    chance = random.Random(5)
    numbers = [round(chance.gauss(5_000, 500)) // 10 * 10 + 7 for _ in range(9_000)]
    (kind,) = captured((f"SELECT a FROM t WHERE pin = {number}",) for number in numbers).kinds
    (drawn,) = kind.statements[0].parameters
    assert isinstance(drawn, Range)
    assert len(drawn.ends) > 2
    assert not set(drawn.ends) & set(numbers)


ODD = [
    "1e300", "-0", "9" * 40, "18446744073709551615", "-9223372036854775808", "0x", "x''", "b'101'", "''", "'%'", "'%%'",
    "'0000-00-00'", "'9999-12-31 23:59:59.999999'", "'0001-01-01'", "'2026-13-01'", "'\\0'", ".5", "1.", "'1.'", "'-'",
    "'\N{ARABIC-INDIC DIGIT THREE}'", "'007'", "NULL", "TRUE", f"'{'a' * 100_000}'", "0.0000000000000000001", "'1e5'",
    "1780000000", "1780000000000", "'''", "_utf8mb4'x'", "N'x'", "'\N{PILE OF POO}'",
]  # fmt: skip


@pytest.mark.parametrize(
    "literals", [*([literal] for literal in ODD), ODD, ODD[:6], ODD[11:15]], ids=lambda x: x[0][:20]
)
@pytest.mark.parametrize("keeps", [False, True])
def test_odd_literals_have_a_description(literals: list[str], keeps: bool) -> None:
    """Whatever stands in a statement, the description can be made and written."""
    texts = [f"INSERT INTO t (a) VALUES ({literal})" for literal in literals for _ in range(40)]
    texts += [f"SELECT a FROM t WHERE b BETWEEN {first} AND {second}" for first in literals for second in literals[:3]]
    assert workload_json(captured([(text,) for text in texts], keeps_values=keeps)).startswith(b"{")
