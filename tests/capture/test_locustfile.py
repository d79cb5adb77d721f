"""The generated locustfile: readable, valid, loaded by a sweep, and exactly the captured statements."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from poolsize.capture.locustfile import locustfile, weights
from poolsize.capture.workload import (
    CapturedWorkload,
    Constant,
    Heavy,
    HeavyValue,
    Parameter,
    Range,
    Reference,
    Several,
    Text,
    Tiers,
    load_workload,
    workload_json,
)
from poolsize.errors import BadInput
from poolsize.sweep.options import OPTIONS
from tests.capture.captured import BUY, SEARCH, SHOP, kind, statement
from tests.conftest import ROOT
from tests.golden import assert_golden

RECORDED = """
import json, sys
from locust.env import Environment
from locust.util.load_locustfile import load_locustfile
from poolsize.locust.user import tasks_of

class Cursor:
    lastrowid = 7
    def __init__(self):
        self.statements = []
    def execute(self, text, arguments=None):
        assert text.count("%s") == len(arguments or ()), (text, arguments)
        self.statements.append(text)
    def fetchall(self):
        return ()
    def fetchone(self):
        return None

classes, _ = load_locustfile(sys.argv[1])
environment = Environment(user_classes=list(classes.values()), available_user_classes=classes)
((user_class, pairs),) = tasks_of(environment).items()
user, ran = user_class(environment), {}
for name, task in dict(pairs).items():
    cursor = Cursor()
    task(user, cursor)
    ran[name] = [text for text in cursor.statements if " AS part " not in text and "MAX(" not in text]
user_class.before_step(Cursor())
print(json.dumps({"class": user_class.__name__, "weights": len(pairs), "ran": ran}))
"""
"""Loads a locustfile as a sweep does, and runs each of its tasks once without a server."""


def loaded(path: Path, workload: CapturedWorkload) -> dict[str, Any]:
    path.write_text(locustfile(workload, path.name, writes=True, keeps_values=False).text)
    done = subprocess.run(
        [sys.executable, "-c", RECORDED, str(path)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_file_reads_well() -> None:
    assert_golden("capture-shop.txt", locustfile(SHOP, "shop.py", writes=True, keeps_values=False).text)


@pytest.mark.parametrize("name", ["true.py", "none.py", "any.py", "2024.py", "-.py"])
def test_a_file_whose_name_is_no_name_of_a_class_is_python(name: str) -> None:
    text = locustfile(SHOP, name, writes=True, keeps_values=False).text
    compile(text, name, "exec")
    assert "class Captured" in text


def test_a_description_is_the_same_after_it_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    path.write_bytes(workload_json(SHOP))
    assert load_workload(path) == SHOP


@pytest.mark.costly
def test_a_sweep_loads_the_file_and_its_tasks_run_the_captured_statements(tmp_path: Path) -> None:
    result = loaded(tmp_path / "shop_load.py", SHOP)
    assert (result["class"], result["weights"]) == ("ShopLoad", 10)
    ran = result["ran"]
    assert list(ran) == ["browse", "search", "buy"]
    assert (ran["browse"][0], ran["browse"][-1]) == ("BEGIN", "COMMIT")
    assert [text.split()[0] for text in ran["buy"]] == ["BEGIN", "INSERT", "INSERT", "UPDATE", "COMMIT"]
    assert ran["search"] == [part.text for part in SEARCH.statements]


WIDE = kind(
    "wide", 100,
    statement(
        "INSERT INTO a_table_with_a_long_name (id, a, b, c) VALUES (%s, %s, %s, %s)",
        Tiers(1, 10**9, (0.5, 0.2, 0.2, 0.05, 0.05), (10_000, 200_000, 3_000_000, 40_000_000, 500_000_000)),
        Range(tuple(range(0, 2_000_000, 50_000)), shares=tuple([0.025] * 39)),
        Heavy(tuple([HeavyValue(0.01)] * 40), Range((1, 10**12)), table="a_table_with_a_long_name", column="b"),
        Several(Range(tuple(range(0, 900_000, 20_000))), 1, 20, 4.5, within=30),
        rows=(1, 9), rows_mean=2.0,
    ),
    statement("DELETE FROM another_table WHERE note = %s AND " + "note <> 'x' AND " * 20 + "id > 0", Constant("'é'")),
)  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("command", ["check", "format --check"])
def test_the_file_is_as_ruff_has_it_by_default(tmp_path: Path, command: str) -> None:
    """Also where statements, draws and names are long. poolsize is installed, and not in the folder of the file."""
    path = tmp_path / "shop.py"
    workload = replace(SHOP, kinds=(*SHOP.kinds, WIDE))
    path.write_text(locustfile(workload, path.name, writes=True, keeps_values=False).text)
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command.split(), "--isolated", path.name],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_transactions_that_write_are_left_out_unless_asked_for() -> None:
    written = locustfile(SHOP, "shop.py", writes=False, keeps_values=False)
    assert [each.name for each in written.kinds] == ["browse", "search"]
    assert "INSERT" not in written.text
    assert "before_step" not in written.text
    assert written.coverage.time == pytest.approx(0.99 * 2_950 / 3_350)
    assert written.cautions[0].startswith("1 kind of transactions that write left out")
    with pytest.raises(BadInput, match="every kind of transaction writes: add `writes`"):
        locustfile(replace(SHOP, kinds=(BUY,)), "shop.py", writes=False, keeps_values=False)


def test_a_statement_with_constants_only_has_no_arguments_and_single_percent_signs() -> None:
    only = statement("SELECT id FROM t WHERE a %% %s = %s", Constant("7"), Constant("'5%'"))
    text = locustfile(replace(SHOP, kinds=(kind("one", 1, only),)), "a.py", writes=False, keeps_values=True).text
    assert "cursor.execute(\"SELECT id FROM t WHERE a % 7 = '5%'\")" in text
    mixed = replace(only, parameters=(Constant("'5%'"), Range((1, 3))))
    text = locustfile(replace(SHOP, kinds=(kind("one", 1, mixed),)), "a.py", writes=False, keeps_values=True).text
    assert "a %% '5%%' = %s\", (randint(1, 3),)" in " ".join(text.split())


def test_kept_values_are_those_of_the_log() -> None:
    shares = (
        HeavyValue(0.4, "TRUE"),
        HeavyValue(0.3, "x'4142'"),
        HeavyValue(0.2, "'it''s \\\\'"),
        HeavyValue(0.1, "-5"),
    )
    one = statement("SELECT id FROM t WHERE a = %s", Heavy(shares, Range((1, 3)), table="t", column="a"))
    text = locustfile(replace(SHOP, kinds=(kind("one", 1, one),)), "a.py", writes=False, keeps_values=True).text
    assert """{True: 0.4, b'AB': 0.3, "it's \\\\": 0.2, -5: 0.1}""" in text


def test_a_list_may_hold_the_same_value_always() -> None:
    one = statement("SELECT id FROM t WHERE a IN %s", Several(Constant("3"), 1, 2, 1.5))
    text = locustfile(replace(SHOP, kinds=(kind("one", 1, one),)), "a.py", writes=False, keeps_values=True).text
    assert "several(lambda: 3, 1, 2, 1.5)" in text


@pytest.mark.costly
def test_names_and_notes_of_others_are_text_and_not_code(tmp_path: Path) -> None:
    evil = '"""\nimport os\n\\x {{ 7 * 7 }} \u202e'
    parts = [
        statement(f"SELECT '{evil}' FROM `{evil}` WHERE a = %s", Text(1, 2, "letters", 5, table=evil, column=evil)),
        statement('INSERT INTO `a"b` (c) VALUES (%s)', Range((1, 2), table='a"b', column="c")),
        statement("SELECT %s", Reference("inserted", 1, table=evil, column=evil)),
    ]
    workload = replace(
        SHOP, kinds=(kind("one", 1, *parts),), notes=(evil,), source=replace(SHOP.source, server_version=evil)
    )
    ran = loaded(tmp_path / "evil.py", workload)["ran"]["one"]
    assert ran[1:-1] == [part.text for part in parts]
    assert "\u202e" not in (tmp_path / "evil.py").read_text()


def test_the_header_says_what_no_step_undoes() -> None:
    text = " ".join(locustfile(SHOP, "shop.py", writes=True, keeps_values=False).text.split())
    assert "before_step deletes the rows inserted into orders, audit" in text
    assert "Nothing undoes UPDATE orders: restore the copy before the next sweep." in text


@pytest.mark.parametrize(
    ("text", "row", "undone"),
    [
        ("UPDATE visits SET pet_id = %s WHERE id=%s", Reference("inserted", 0), True),
        ("DELETE FROM `visits` WHERE id = %s", Reference("inserted", 0), True),
        ("DELETE FROM visits WHERE pet_id = %s AND id = %s", Reference("inserted", 0), False),
        ("update visits v set pet_id=%s where v.id=%s", Reference("inserted", 0), True),
        ("UPDATE visits JOIN pets SET pets.name = %s WHERE visits.id = %s", Reference("inserted", 0), False),
        (
            "UPDATE visits SET pet_id = %s WHERE id IN (SELECT id FROM pets WHERE id = %s)",
            Reference("inserted", 0),
            False,
        ),
        ("UPDATE visits SET pet_id = %s WHERE id >= %s", Reference("inserted", 0), False),
        ("UPDATE pets SET visits = %s WHERE id = %s", Reference("inserted", 0), False),
        ("UPDATE visits SET pet_id = %s WHERE id = %s", Reference("inserted", 0, low=-1, high=-1), False),
        ("UPDATE visits SET pet_id = %s WHERE id = %s", Range((1, 500)), False),
    ],
)
def test_a_change_of_a_row_that_the_transaction_inserted_is_undone(text: str, row: Parameter, *, undone: bool) -> None:
    others = [Range((1, 9))] * (text.count("%s") - 1)
    added = statement("INSERT INTO visits (day) VALUES (%s)", Range((1, 5)))
    made = replace(SHOP, kinds=(kind("add_visit", 10, added, statement(text, *others, row)),))
    written = locustfile(made, "visits.py", writes=True, keeps_values=False)
    assert any("Nothing undoes" in caution for caution in written.cautions) is not undone


@pytest.mark.parametrize(("rate", "think_ms"), [(12.5, 180.0), (0.0000123, 0.0), (123_456.0, 86_400_000.0)])
def test_a_sweep_reads_the_options_of_the_header(rate: float, think_ms: float) -> None:
    workload = replace(SHOP, arrival_rate=rate, think_ms=think_ms)
    text = " ".join(locustfile(workload, "shop.py", writes=True, keeps_values=False).text.split())
    for name, value in (("rate", rate), ("think_time_ms", think_ms)):
        option = OPTIONS[name]
        (typed,) = re.findall(rf"{option.flag} (\S+)\.", text)
        assert option.read(name, [typed]) == pytest.approx(value, rel=0.005)


def test_the_header_has_no_option_that_a_sweep_refuses() -> None:
    workload = replace(SHOP, arrival_rate=2e6, think_ms=1e9)
    text = locustfile(workload, "shop.py", writes=True, keeps_values=False).text
    assert "2,000,000 transactions per second." in text
    assert "--rate" not in text
    assert "--think-time" not in text


@pytest.mark.parametrize(
    ("counts", "expected"), [([5], [1]), ([2, 1], [2, 1]), ([700, 200, 100], [7, 2, 1]), ([10**9, 1], [1000, 1])]
)
def test_weights_are_small_and_in_proportion(counts: list[int], expected: list[int]) -> None:
    found = weights(counts)
    assert found == expected or sum(found) <= 1_001
    total = sum(counts)
    assert sum(abs(a / total - b / sum(found)) for a, b in zip(counts, found, strict=True)) < 0.01
