"""Transactions grouped into kinds: what is counted, what is left to the others, and how much memory it takes."""

import random
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

from poolsize.capture import kinds
from poolsize.capture.captured import LEFT_OUT, captured_workload
from poolsize.capture.changes import LEAST_DRAWS, changes
from poolsize.capture.events import StatementEvent, Tally
from poolsize.capture.kinds import KindCounter
from poolsize.capture.locustfile import Coverage, coverage
from poolsize.capture.transactions import LeftOut, rebuilt
from poolsize.capture.workload import (
    MOST_PARAMETERS,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Reference,
    Several,
    Text,
    Tiers,
    Zipf,
    load_workload,
    workload_json,
)
from poolsize.errors import BadInput
from tests.capture.logged import captured, explicit, logged, repeated

READ, WRITE = "SELECT a FROM t WHERE id = 5", "UPDATE t SET a = 1 WHERE id = 5"


def test_kinds_have_weights_times_and_names() -> None:
    """Kinds stand by descending time. BEGIN and COMMIT are no statements; their time counts."""
    workload = captured([explicit(READ, READ, WRITE)] * 30 + [(READ,)] * 70)
    first, second = workload.kinds
    assert (first.name, first.weight, first.is_explicit, first.writes, first.ends) == (
        "update_t",
        30,
        True,
        True,
        "commit",
    )
    assert [(statement.repeats, statement.reads) for statement in first.statements] == [((2, 2), True), ((1, 1), False)]
    assert first.mean_ms == pytest.approx(5.0)
    assert first.held_ms == pytest.approx(5.0, abs=0.001)
    assert (second.name, second.weight, second.is_explicit) == ("select_t", 70, False)
    assert workload.other_share_of_time == workload.other_share_of_statements == 0
    assert workload.arrival_rate == pytest.approx(100 / (99 * 0.0625 + 0.22), rel=0.01)
    assert workload.think_ms == pytest.approx(500, rel=0.05)


def test_a_connection_is_held_while_its_statements_run() -> None:
    """Also where the log rounds the starts to whole seconds."""
    events = [StatementEvent(1, 1_780_000_000.0, 0.2, text, 1) for text in explicit(READ, WRITE) * 5]
    (kind,) = captured_workload(events, "slow log", Tally(), lambda: (), keeps_values=False).kinds
    assert kind.mean_ms == pytest.approx(800)
    assert kind.held_ms == kind.mean_ms


@pytest.mark.parametrize(("transactions", "is_known"), [(200, False), (20_000, True)])
def test_held_time_is_shown_where_starts_in_whole_seconds_show_it(transactions: int, is_known: bool) -> None:
    """Two statements of 1 ms, 20 ms apart: enough transactions span the turn of a second."""
    chance = random.Random(5)
    begun = sorted(chance.uniform(0, 3_600) for _ in range(transactions))
    events = [
        StatementEvent(thread, float(int(1_780_000_000 + start + later)), 0.001, text, 1)
        for thread, start in enumerate(begun, start=1)
        for later, text in ((0, "BEGIN"), (0.001, READ), (0.021, WRITE), (0.022, "COMMIT"))
    ]
    (kind,) = captured_workload(events, "slow log", Tally(is_coarse=True), lambda: (), keeps_values=False).kinds
    assert kind.held_ms == (pytest.approx(23, rel=0.25) if is_known else None)


@pytest.mark.costly
def test_a_loop_is_one_kind() -> None:
    """A loop over two statements has the same kind for every number of rounds, and the mean number of executions."""

    def make(chance: random.Random, _: int) -> tuple[str, ...]:
        rounds = chance.randint(1, 9)
        return explicit(
            "SELECT a FROM t", *["SELECT b FROM u WHERE t = 5", "SELECT c FROM v WHERE t = 5"] * rounds, WRITE
        )

    (kind,) = captured(repeated(300, make)).kinds
    assert [statement.repeats for statement in kind.statements] == [(1, 1), (1, 9), (1, 9), (1, 1)]
    assert kind.statements[1].repeats_mean == pytest.approx(5, abs=0.5)


def test_rare_kinds_are_others() -> None:
    """Kinds that together have less than 0.5 % of the time and of the statements are counted as others."""
    workload = captured([(READ,)] * 1_000 + [(f"SELECT a FROM t{place}",) for place in range(4)])
    assert [kind.name for kind in workload.kinds] == ["select_t"]
    assert workload.other_share_of_statements == pytest.approx(4 / 1_004, abs=1e-6)
    assert workload.other_share_of_time == pytest.approx(4 / 1_004, abs=1e-6)


def test_savepoints_change_nothing() -> None:
    """A transaction with savepoints that only reads is one of a workload without --writes."""
    (kind,) = captured([explicit("SAVEPOINT s1", READ, "RELEASE SAVEPOINT s1")] * 5).kinds
    assert not kind.writes
    (kind,) = captured([("WITH x AS (SELECT 1) DELETE t FROM t JOIN x",)] * 5).kinds
    assert kind.writes


def test_names_of_kinds_differ() -> None:
    """Also where a number at the end of a name could be a table's."""
    names = [kind.name for kind in captured([explicit(READ), (READ,), ("SELECT a FROM t_2",), ("DO 1",)] * 9).kinds]
    assert sorted(names) == ["do_statement", "select_t", "select_t_2", "select_t_2_2"]


def test_rollbacks_are_a_kind_of_their_own() -> None:
    """Two transactions that differ in their end only are two kinds."""
    names = {kind.ends: kind.name for kind in captured([explicit(READ), ("BEGIN", READ, "ROLLBACK")] * 5).kinds}
    assert names == {"commit": "select_t", "rollback": "select_t_2"}


def test_what_is_left_out_is_said() -> None:
    """Work that no kind repeats is not covered. Settings, which drivers send, count in no share."""
    workload = captured([
        ("SET NAMES utf8mb4",), ("ROLLBACK",), *[(READ,)] * 12, ("TRUNCATE t",), ("SHOW STATUS",),
        ("LOAD DATA INFILE 'x' INTO TABLE t",), ("BEGIN", READ),
    ])  # fmt: skip
    assert workload.notes == (
        "1 transaction is in no kind: a part of it is missing in the source.",
        f"1 statement is left out, with 1 ms in the server: {LEFT_OUT['setting']}.",
        f"1 statement is left out, with 1 ms in the server: {LEFT_OUT['empty']}.",
        "3 statements are left out, with 3 ms in the server: LOAD, SHOW, TRUNCATE.",
    )
    assert workload.other_share_of_statements == pytest.approx(4 / 16)
    assert workload.other_share_of_time == pytest.approx(5 / 17, abs=1e-6)


def test_the_rate_is_that_of_the_kinds() -> None:
    """A transaction that the log cuts off is in no kind, so a sweep does not repeat it."""
    whole, cut = (captured([*[(READ,)] * 99, last]).arrival_rate for last in ((READ,), ("BEGIN", READ)))
    assert (cut or 0) / (whole or 1) == pytest.approx(0.99, rel=1e-3)


def test_times_that_a_source_does_not_have_are_unknown() -> None:
    events = (event._replace(seconds=nan) for event in logged([(READ,)] * 5))
    workload = captured_workload(events, "general log", Tally(), lambda: (), keeps_values=False)
    assert (workload.kinds[0].mean_ms, workload.other_share_of_time) == (None, None)
    assert coverage(workload, workload.kinds) == Coverage(1.0, None)


def test_an_execute_is_not_covered() -> None:
    """The log has no statement for it: its time and its transaction are no kind's."""
    workload = captured([explicit(READ, "EXECUTE s USING @a")] * 5 + [(READ,)] * 9 + [("EXECUTE s",)] * 5)
    assert [(kind.is_explicit, kind.weight) for kind in workload.kinds] == [(False, 9)]
    assert workload.other_share_of_statements == pytest.approx(15 / 24, abs=1e-6)
    assert (
        "10 statements are left out, with 10 ms in the server: EXECUTE of a statement that the source does not show."
        in (workload.notes)
    )


@pytest.mark.costly
def test_samples_are_bounded_and_not_biased(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for a tenth of the literals, what is kept stands for the whole log."""
    monkeypatch.setattr(kinds, "CELLS_OF_ALL", 3_000)
    counter = KindCounter()
    transactions = [(f"SELECT a FROM t WHERE id = {number}",) for number in range(5_000)]
    for transaction in rebuilt(logged(transactions), LeftOut()):
        counter.add(transaction)
        assert counter._cells <= 3_000
    (tally,) = counter.kinds.values()
    numbers = [sample.number for sample in tally.samples]
    assert tally.count == 5_000
    assert len(numbers) > 200
    assert sum(numbers) / len(numbers) == pytest.approx(2_500, rel=0.15)


@pytest.mark.costly
def test_a_flood_of_kinds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements whose text is always another do not push the frequent kind out."""
    monkeypatch.setattr(kinds, "MOST_TRACKED", 50)
    names = ("".join("abcdefghij"[int(digit)] for digit in str(place)) for place in range(500))
    workload = captured(text for name in names for text in ((READ,), (f"SELECT {name} FROM t",)))
    assert workload.kinds[0].weight == 500
    assert workload.other_share_of_statements > 0.4


@pytest.mark.costly
def test_a_statement_of_many_parameters_counts_among_the_others() -> None:
    """Each parameter costs a fit, and the number of fits is bounded."""
    dense = " OR ".join(f"c{place} = {place}" for place in range(MOST_PARAMETERS + 1))
    workload = captured([(f"SELECT a FROM t WHERE {dense}",), (READ,)] * 20)
    assert [len(kind.statements[0].parameters) for kind in workload.kinds] == [1]
    assert workload.other_share_of_statements == pytest.approx(0.5)


def test_a_description_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The file holds all; another file is refused with the field."""
    workload = captured(
        repeated(100, lambda chance, _: explicit(f"SELECT a FROM t WHERE id = {chance.randint(1, 999)}", WRITE))
    )
    path = tmp_path / "workload.json"
    path.write_bytes(workload_json(workload))
    assert load_workload(path) == workload
    path.write_bytes(workload_json(workload).replace(b'"commit"', b'"abort"'))
    with pytest.raises(BadInput, match=r"workload.kinds.0.ends is 'abort'"):
        load_workload(path)
    uneven = replace(workload.kinds[0].statements[0], parameters=(UNEVEN,))
    workload = replace(workload, kinds=(replace(workload.kinds[0], statements=(uneven,)),))
    path.write_bytes(b" ".join(workload_json(workload).split()).replace(b"0.6, 0.4", b"0.6"))
    with pytest.raises(BadInput, match=r"json is no .*: `shares` \[0.6\]: give a share of each of the 2 groups"):
        load_workload(path)


@pytest.mark.costly
def test_two_captures_are_compared() -> None:
    """The same log has no changes; shares, statements and ranges that differ are named."""

    def log(reads: int, values: int, seed: int) -> list[tuple[str, ...]]:
        chance = random.Random(seed)
        selects = [(f"SELECT a FROM t WHERE id = {chance.randint(1, values)}",) for _ in range(reads)]
        return [*selects, *[explicit(WRITE)] * 400]

    earlier = captured(log(1_600, 10_000, 1))
    assert changes(earlier, captured(log(1_600, 10_000, 2))) == ()
    later = captured([*log(600, 50_000, 3), *[("DELETE FROM t",)] * 200])
    assert {change.text for change in changes(earlier, later)} >= {
        "The kind select_t was 80.0 % of the transactions and is 50.0 %.",
        "The kind delete_t is new: 16.7 % of the transactions.",
        "The kind select_t: parameter id of statement 1 had a range of 9,999 and has 49,999.",
    }


def test_a_kind_whose_statements_changed_is_not_a_new_kind() -> None:
    """Unless another kind has its name: select_t of the earlier log is select_t_2 of the later."""
    earlier, later = captured([(READ,)] * 9), captured([(f"{READ} LIMIT 30",)] * 9)
    assert [change.text for change in changes(earlier, later)] == ["The kind select_t: its statements changed."]
    later = captured([(f"{READ} LIMIT 30",)] * 90 + [(READ,)] * 9)
    assert [change.text for change in changes(earlier, later)] == [
        "The kind select_t is new: 90.9 % of the transactions.",
        "The kind select_t_2 (select_t before) was 100.0 % of the transactions and is 9.1 %.",
    ]


def test_kinds_with_numbers_in_their_names_are_compared_by_their_statements_alone() -> None:
    first = [(READ,)] * 90
    earlier, later = captured([*first, *[(f"{READ} LIMIT 3",)] * 9]), captured([*first, *[(f"{READ} FOR UPDATE",)] * 9])
    assert [change.text for change in changes(earlier, later)] == [
        "The kind select_t_2 is new: 9.1 % of the transactions.",
        "The kind select_t_2 is gone: 9.1 % of the transactions.",
    ]


def test_equal_statements_in_another_transaction_did_not_change() -> None:
    texts = [change.text for change in changes(captured([(READ,)] * 9), captured([explicit(READ)] * 9))]
    assert "The kind select_t: it ran under autocommit and runs in a transaction that ends with COMMIT." in texts
    assert not any("statements changed" in text or "new" in text for text in texts)


EVEN, UNEVEN = Range((1, 1_000)), Range((1, 100, 1_000), shares=(0.6, 0.4))
FREQUENT = Heavy((HeavyValue(0.6, "'a'"), HeavyValue(0.2)), EVEN)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (EVEN, EVEN, None),
        (EVEN, UNEVEN, "had 10 % of its draws up to 100 and has 60 %"),
        (UNEVEN, Range((1, 100, 1_000), shares=(0.9, 0.1)), "had 60 % of its draws up to 100 and has 90 %"),
        (UNEVEN, Range((1, 105, 1_000), shares=(0.62, 0.38)), None),
        (Tiers(1, 1_000, (0.8, 0.2), (50, 950)), Tiers(1, 1_000, (0.5, 0.5), (50, 950)),
         "had 80 % of its draws on its 50 most frequent numbers and has 50 %"),
        (Zipf(1, 1_000, 0.9, "low"), Tiers(1, 1_000, (0.5, 0.5), (50, 950)), None),
        (EVEN, FREQUENT, None),
        (FREQUENT, Text(1, 9, "letters", 40), "had numbers and has texts"),
        (FREQUENT, replace(FREQUENT, values=FREQUENT.values[:1]),
         "had its value of rank 2 in 20 % of the draws and has it in 0 %"),
        (FREQUENT, replace(FREQUENT, tail=UNEVEN), "had 10 % of its draws up to 100 and has 60 %"),
        (FREQUENT, replace(FREQUENT, values=(HeavyValue(0.6, "'b'"), HeavyValue(0.2))),
         "had the most frequent value 'a' and has 'b'"),
        (Several(EVEN, 1, 2, 1.5), Several(UNEVEN, 1, 2, 1.5), "had 10 % of its draws up to 100 and has 60 %"),
    ],
)  # fmt: skip
def test_a_change_of_a_parameter_s_values_is_named(old: Parameter, new: Parameter, change: str | None) -> None:
    """If the kind is frequent enough in both captures."""
    assert changed_texts(old, new, LEAST_DRAWS - 1) == []
    expected = [f"The kind select_t: parameter 1 of statement 1 {change}."] if change else []
    assert changed_texts(old, new, LEAST_DRAWS) == expected


def changed_texts(old: Parameter, new: Parameter, weight: int) -> list[str]:
    """Return the changes between two captures of so many transactions that differ in a parameter."""
    workload = captured([("SELECT a FROM t WHERE id = 4",)] * 5)
    (kind,) = workload.kinds
    earlier, later = (
        replace(
            workload,
            kinds=(replace(kind, weight=weight, statements=(replace(kind.statements[0], parameters=(parameter,)),)),),
        )
        for parameter in (old, new)
    )
    return [each.text for each in changes(earlier, later)]


@pytest.mark.costly
def test_numbers_of_a_range_are_found_again() -> None:
    """The whole path for the simplest log."""
    workload = captured((f"SELECT a FROM t WHERE id = {number}",) for number in range(1, 1_001))
    (parameter,) = workload.kinds[0].statements[0].parameters
    assert parameter == Range((1, 1_000), table="t", column="id")


@pytest.mark.costly
@pytest.mark.parametrize("most_tracked", [50, 4_000])
def test_tables_in_shards_are_variants_of_one_kind(monkeypatch: pytest.MonkeyPatch, most_tracked: int) -> None:
    """Transactions on random tables out of eight are nearly all different; some stand for all, with all tables."""
    monkeypatch.setattr(kinds, "MOST_TRACKED", most_tracked)

    def make(chance: random.Random, _: int) -> tuple[str, ...]:
        select, update, insert = (chance.randint(1, 8) for _ in range(3))
        number = chance.randint(1, 99_000)
        return explicit(
            *[f"SELECT c FROM sbtest{select} WHERE id = {chance.randint(1, 99_000)}"] * 10,
            f"UPDATE sbtest{update} SET k = k + 1 WHERE id = {chance.randint(1, 99_000)}",
            f"DELETE FROM sbtest{insert} WHERE id = {number}",
            f"INSERT INTO sbtest{insert} (id, k) VALUES ({number}, {chance.randint(1, 99_000)})",
        )

    workload = captured(repeated(400, make))
    assert workload.other_share_of_statements == 0
    assert sum(kind.weight for kind in workload.kinds) == 400
    assert len(workload.kinds) == 8
    tables = [{kind.statements[place].text.split("sbtest")[1][0] for kind in workload.kinds} for place in range(4)]
    assert min(map(len, tables)) >= 7
    for kind in workload.kinds:
        select, _, delete, insert = kind.statements
        assert select.repeats == (10, 10)
        assert delete.text.split()[2] == insert.text.split()[2] == insert.parameters[0].table
        assert insert.parameters[0] == Reference("parameter", 2, 0, table=insert.parameters[0].table, column="id")
