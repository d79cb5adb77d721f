"""The schema of a sweep: from the option, the URL or the resumed run, and refused where they contradict each other."""

from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.server.preparation import chosen_schema
from poolsize.sweep.opening import Workload
from poolsize.sweep.options import SweepOptions
from tests.conftest import a_run

OWN, SHIPPED = Workload("shop", "shop.py", "0"), Workload("scan", None, "0")
URL = "mysql://u:p@h:3306/"


def resumed(schema: str | None) -> Run:
    run = a_run({1: 100})
    return replace(run, setting=replace(run.setting, schema=schema))


@pytest.mark.parametrize(
    ("url", "schema", "workload", "run", "expected"),
    [
        (URL, None, SHIPPED, None, None),
        (None, None, OWN, None, None),
        (URL + "poolsize", None, SHIPPED, None, None),
        (URL, "shop", OWN, None, "shop"),
        (URL + "shop", None, OWN, None, "shop"),
        (URL + "shop", "shop", OWN, None, "shop"),
        (URL, "shop", OWN, resumed("shop"), "shop"),
        (URL + "shop", None, OWN, resumed("shop"), "shop"),
        (URL, None, SHIPPED, resumed(None), None),
    ],
)
def test_the_schema_is_the_one_that_is_named(
    url: str | None, schema: str | None, workload: Workload, run: Run | None, expected: str | None
) -> None:
    options = SweepOptions(url=url, schema=schema, resume=Path("a.jsonl") if run else None)
    assert chosen_schema(options, workload, run) == expected


@pytest.mark.parametrize(
    ("url", "schema", "workload", "run", "text"),
    [
        (URL + "other", "shop", OWN, None, "`schema` shop: `url` names another schema, other"),
        (URL + "poolsize", "shop", OWN, None, "`schema` shop: `url` names another schema, poolsize"),
        (URL + "sys", None, OWN, None, "`url` sys: that schema is the server's own"),
        (URL + "shop", None, SHIPPED, None, "`schema` shop: scan makes tables"),
        (None, "shop", OWN, None, "a private server holds no data of yours"),
        (URL + "shop", None, OWN, resumed(None), "the run began in the schema poolsize"),
        (URL + "other", None, OWN, resumed("shop"), "the run began in the schema shop"),
        (URL, None, OWN, resumed("shop"), "add `schema` shop"),
        (URL, "other", OWN, resumed("shop"), "the run began in the schema shop, and `schema` is other"),
    ],
)
def test_a_contradiction_is_refused(
    url: str | None, schema: str | None, workload: Workload, run: Run | None, text: str
) -> None:
    options = SweepOptions(url=url, schema=schema, resume=Path("a.jsonl") if run else None)
    with pytest.raises(BadInput) as error:
        chosen_schema(options, workload, run)
    assert text in str(error.value)


@pytest.mark.parametrize("schema", ["poolsize", "mysql", "a`b", "x" * 65])
def test_a_name_that_no_schema_of_the_users_has_is_refused(schema: str) -> None:
    with pytest.raises(BadInput, match="`schema`"):
        SweepOptions.parse({"schema": schema})
