"""The weights of a captured workload, out of what a server counted of each kind of statement."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.capture.digests import Digest, statement_key, weighted
from poolsize.capture.workload import CapturedWorkload, TransactionKind
from tests.capture.captured import SHOP, kind, statement

SELECT = "SELECT `c` FROM `t` WHERE `id` = ?"
UPDATE = "UPDATE `t` SET `k` = `k` + ? WHERE `id` = ?"


def a_workload(*kinds: TransactionKind) -> CapturedWorkload:
    return replace(SHOP, kinds=kinds, other_share_of_statements=0.0, other_share_of_time=0.0)


READS = kind("reads", 10, statement("SELECT c FROM t WHERE id = %s", repeats=(10, 10), repeats_mean=10.0))
WRITES = kind("writes", 10, statement("SELECT c FROM t WHERE id=%s"), statement("UPDATE t SET k=k+%s WHERE id=%s"))


@pytest.mark.parametrize(
    ("digest", "text"),
    [
        (SELECT, "SELECT c FROM t WHERE id=%s"),
        ("SELECT `c` FROM `t` WHERE `id` IN (...)", "select c from t where id in (%s)"),
        ("INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */", "INSERT INTO t (a, b) VALUES (%s, NULL)"),
        ("SELECT `c` FROM `t12` WHERE `id` = ?", "SELECT c FROM t7 WHERE id = %s"),
        ("SELECT DISTINCTROW `c` FROM `t` WHERE `a` = ?", "SELECT DISTINCT c FROM t WHERE a = TRUE"),
        ("SELECT SUM ( `k` ) FROM `t` WHERE NAME = ?", "SELECT SUM(k) FROM t WHERE name = 'Müller\\'s'"),
    ],
)
def test_a_digest_has_the_words_of_its_statement(digest: str, text: str) -> None:
    assert statement_key(digest) == statement_key(text)


def test_kinds_are_weighted_so_that_their_statements_add_up_to_what_the_server_counted() -> None:
    """100 transactions of the first kind and 400 of the second run 1,400 SELECTs and 400 UPDATEs."""
    digests = [Digest(SELECT, 1400, 14.0), Digest(UPDATE, 400, 8.0)]
    corrected = weighted(a_workload(READS, WRITES), digests, seconds=50)
    assert {each.name: each.weight for each in corrected.kinds} == {"reads": 100, "writes": 400}
    assert corrected.arrival_rate == pytest.approx(10, rel=1e-3)
    assert corrected.other_share_of_statements == pytest.approx(0, abs=1e-3)


def test_statements_that_no_kind_has_are_other_statements() -> None:
    digests = [
        Digest(SELECT, 1000, 1.0),
        Digest("DELETE FROM `t`", 250, 3.0),
        *(Digest(text, 9, 9) for text in ("COMMIT", "XA END ?", "XA PREPARE ?", "SELECT @@SESSION . `a` AS `a`")),
    ]
    corrected = weighted(a_workload(READS), digests, seconds=10)
    assert corrected.kinds[0].weight == 100
    assert corrected.other_share_of_statements == pytest.approx(0.2)
    assert corrected.other_share_of_time == pytest.approx(0.75)


@given(times=st.lists(st.floats(1e-6, 1e6), min_size=10, max_size=10))
def test_the_share_of_other_statements_is_a_share(times: list[float]) -> None:
    """All statements are in the kind, so their times add up to those of all but for rounding."""
    reads = kind("reads", 10, *(statement(f"SELECT {column} FROM t WHERE id=%s") for column in "abcdefghij"))
    digests = [
        Digest(f"SELECT `{column}` FROM `t` WHERE `id` = ?", 100, seconds)
        for column, seconds in zip("abcdefghij", times, strict=True)
    ]
    corrected = weighted(a_workload(reads), digests, seconds=10)
    assert corrected.other_share_of_time == pytest.approx(0, abs=1e-9)


def test_a_kind_that_the_server_does_not_count_keeps_its_proportion() -> None:
    unknown = kind("unknown", 10, statement("CALL p(%s)"))
    corrected = weighted(a_workload(READS, unknown), [Digest(SELECT, 1000, 1.0)], seconds=10)
    assert [each.weight for each in corrected.kinds] == [100, 100]


def test_without_counters_a_workload_stays_as_it_is() -> None:
    workload = a_workload(READS, WRITES)
    assert weighted(workload, [], 10) == replace(workload, arrival_rate=2.0)
