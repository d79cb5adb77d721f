"""Fingerprints: literals are found and named, names and what statements need stay, comments go."""

from decimal import Decimal

import pymysql
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poolsize.capture.fingerprint import Value, fingerprinted, split_statements


def text_of(statement: str) -> str:
    fingerprint = fingerprinted(statement)
    assert fingerprint is not None
    return fingerprint.text


def values_of(statement: str) -> tuple[Value | tuple[Value, ...], ...]:
    fingerprint = fingerprinted(statement)
    assert fingerprint is not None
    return fingerprint.values


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("5", 5), ("-5", -5), ("- 5", -5), ("12.50", Decimal("12.50")), (".5", Decimal("0.5")), ("1e3", Decimal("1e3")),
        ("0xABC", b"\x0a\xbc"), ("x'4142'", b"AB"), ("X'4142'", b"AB"), ("0b101", b"\x05"), ("b'01000001'", b"A"),
        ("''", ""), ("'it''s'", "it's"), (r"'it\'s'", "it's"), (r"'a\\'", "a\\"), (r"'\n\0\%'", "\n\0\\%"),
        ('"a""b"', 'a"b'), ("N'ü'", "ü"), ("_utf8mb4'ü'", "ü"), ("_latin1 'x'", "x"), ("_binary'x'", "x"),
        ("_binary X'41'", b"A"), ("_binary 0x41", b"A"),
        ("NULL", None), ("true", True), ("FALSE", False), ("9" * 80, "9" * 80), ("1e999999999", "1e999999999"),
        ("'a;b'", "a;b"), ("'/* no comment */'", "/* no comment */"), ("'-- no'", "-- no"), ("'`'", "`"),
    ],
)  # fmt: skip
def test_a_literal_has_its_value(literal: str, value: Value) -> None:
    assert fingerprinted(f"SELECT a FROM t WHERE b ={literal}") == ("SELECT a FROM t WHERE b =%s", (value,), 1, ())


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT c1, t2.3d, 12foo, é5, ٣ FROM db1.sbtest12 AS x2y",
        "SELECT `a 1`, `it``s`, `'`, `/*` FROM `123`",
        "SELECT a FROM t WHERE b IS NULL AND c IS NOT TRUE",
        "SELECT @v1, @@session.x1",
        "SELECT a->'$.b', a->>'$.c[0]', JSON_EXTRACT(a, '$.d') FROM t",
        "SELECT /*+ MAX_EXECUTION_TIME(1000) INDEX(t i1) */ a FROM t",
        "COMMIT",
    ],
)
def test_names_and_what_a_statement_needs_stay(statement: str) -> None:
    assert fingerprinted(statement) == (statement, (), 1, ())


def test_a_date_format_stays_and_its_percent_signs_are_doubled() -> None:
    assert text_of("SELECT DATE_FORMAT(d, '%Y-%m-%d'), a % 7") == "SELECT DATE_FORMAT(d, '%%Y-%%m-%%d'), a %% %s"
    assert values_of("SELECT a FROM t WHERE b LIKE '%Y'") == ("%Y",)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT /* secret */ a", "SELECT a -- secret 5\n", "SELECT a # secret 'it\n", "/* secret */ SELECT a",
        "SELECT a /*!99999 secret */", "SELECT /*+ secret */ a", "SELECT /* 'secret */ a /**/", "SELECT a --",
    ],
)  # fmt: skip
def test_comments_go(statement: str) -> None:
    assert text_of(statement) == "SELECT a"


def test_a_comment_that_servers_run_is_part_of_the_statement() -> None:
    assert text_of("SELECT /*!40001 SQL_NO_CACHE */ 5 /*! + 6 /* a comment */ */") == "SELECT SQL_NO_CACHE %s + %s"
    assert text_of("SELECT /*M!100100 a */ /*!080025 , b */") == "SELECT a , b"


def test_two_minus_signs_without_a_space_are_no_comment() -> None:
    assert values_of("SELECT 5--3") == (5, 3)


def test_an_in_list_is_one_parameter() -> None:
    fingerprint = fingerprinted("SELECT a FROM t WHERE b IN (1, -2,\n NULL) AND c in ('x') AND d NOT IN (SELECT 1)")
    assert fingerprint is not None
    assert fingerprint.text == "SELECT a FROM t WHERE b IN %s AND c IN %s AND d NOT IN (SELECT %s)"
    assert fingerprint.values == ((1, -2, None), ("x",), 1)


def test_an_insert_has_its_rows_apart() -> None:
    fingerprint = fingerprinted(
        "INSERT INTO t (a, b) VALUES (1, NOW(), 'x'),(-2, NOW(), NULL) , (3, NOW(), 'z') ON DUPLICATE KEY UPDATE a=4"
    )
    assert fingerprint is not None
    assert fingerprint.text == "INSERT INTO t (a, b) VALUES (%s, NOW(), %s) ON DUPLICATE KEY UPDATE a=%s"
    assert fingerprint.values == (1, "x", 4)
    assert fingerprint.rows == 3
    assert fingerprint.more_rows == ((-2, None), (3, "z"))


def test_an_insert_of_unlike_rows_stays_as_it_is() -> None:
    assert text_of("INSERT INTO t VALUES (1, 2), (3, DEFAULT)") == "INSERT INTO t VALUES (%s, %s), (%s, DEFAULT)"


@pytest.mark.costly
def test_long_lists_and_many_rows_are_bounded() -> None:
    assert len(values_of(f"SELECT 1 IN ({'5,' * 20_000}5)")[1]) == 1000  # type: ignore[arg-type]  # it is a tuple
    fingerprint = fingerprinted(f"INSERT INTO t VALUES {'(1,2),' * 20_000}(1,2)")
    assert fingerprint is not None
    assert (fingerprint.rows, len(fingerprint.more_rows)) == (20_001, 100)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ('SELECT "id" FROM "users" WHERE "users"."id" = 5', 'SELECT "id" FROM "users" WHERE "users"."id" = %s'),
        ('UPDATE "users" SET "name" = \'x\'', 'UPDATE "users" SET "name" = %s'),
        ('SELECT a FROM t WHERE b = "users"', "SELECT a FROM t WHERE b = %s"),
        ('SELECT TRIM(BOTH "x" FROM "secret")', "SELECT TRIM(BOTH %s FROM %s)"),
    ],
)
def test_double_quotes_are_those_of_names_where_only_a_name_can_stand(statement: str, text: str) -> None:
    assert text_of(statement) == text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ";", "-- only a comment", "SELECT 'open", r"SELECT 'open\'", "SELECT 'open''", 'SELECT "open',
        "SELECT `", "SELECT /* open", "SELECT /*! open", "SELECT /*!99999 open", "SELECT /*/", "SELECT */ 1",
        "SELECT /* a /* nested */ secret */ 1", "SELECT 1; SELECT 2", "SELECT \0", "SELECT \1 FROM t WHERE a = 5",
    ],
)  # fmt: skip
def test_what_is_no_whole_statement_has_no_fingerprint(text: str) -> None:
    assert fingerprinted(text) is None


def test_statements_are_split_at_semicolons_that_separate() -> None:
    text = "BEGIN; INSERT INTO t VALUES ('a;b') /* c;d */; -- e;f\nCOMMIT;"
    assert split_statements(text) == ["BEGIN", "INSERT INTO t VALUES ('a;b') /* c;d */", "-- e;f\nCOMMIT"]


@pytest.mark.costly
@given(st.lists(st.one_of(st.integers(), st.text(), st.binary(), st.none()), min_size=1), st.integers(0, 3))
@example(["%s", "'", '"', "\\", "\0", "*/", "/*", "`"], 1)
def test_pymysql_writes_the_statement_again(values: list[Value], more: int) -> None:
    """The driver's own literals are found again, whatever the values are."""
    row = f"({', '.join(['%s'] * len(values))})"
    written = _written(f"INSERT INTO t VALUES {', '.join([row] * (more + 1))}", values * (more + 1))
    fingerprint = fingerprinted(written)
    assert fingerprint is not None
    assert fingerprint.text == f"INSERT INTO t VALUES {row}"
    assert fingerprint.rows == more + 1
    assert list(fingerprint.values) == values


def _written(text: str, values: list[Value]) -> str:
    return str(text % tuple(pymysql.converters.escape_item(value, "utf8mb4") for value in values))


@pytest.mark.costly
@given(st.text(alphabet="'\"`\\/*!-# \n;()%5aN,\0"))
def test_no_text_fails(text: str) -> None:
    fingerprint = fingerprinted(text)
    assert fingerprint is None or fingerprint.text.count("%s") == len(fingerprint.values)
    split_statements(text)


@pytest.mark.parametrize(
    ("escape", "text"),
    [("'!'", "'!'"), (r"'\\'", r"'\\'"), ("''", "''"), ("'%'", "'%%'"), ("'?'", "%s"), ("'ab'", "%s")],
)
def test_the_character_of_escape_is_kept(escape: str, text: str) -> None:
    """It belongs to the statement: a drawn character would be an error. A column of this name has values."""
    made = fingerprinted(f"SELECT a FROM t WHERE b LIKE '5!%' ESCAPE {escape} AND `escape` = '!'")
    assert made is not None
    assert made.text == f"SELECT a FROM t WHERE b LIKE %s ESCAPE {text} AND `escape` = %s"
