"""Facts of servers: of those that lack variables or have no number there, and who runs a server."""

import re
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts import inspection
from poolsize.facts.inspection import Platform, inspect_server, platform_of
from poolsize.facts.server import (
    connection_bytes,
    connection_ids,
    open_connections,
    read_cipher,
    read_server,
)
from poolsize.facts.status import read_status, statements_of_others
from poolsize.present.text.inspection import PLATFORMS, inspection_text, per_core_text, per_core_values
from poolsize.present.text.json_text import json_text
from poolsize.server.sessions import ServerProcess
from tests.conftest import ROOT

Rows = Sequence[tuple[Any, ...]]


class Answers:
    """A cursor to which the server gives the same rows for every statement."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows

    def execute(self, query: str, args: Any = None) -> None:
        """Run nothing."""

    def fetchall(self) -> Rows:
        """Return the rows."""
        return self._rows


ODD = (
    ("Threads_running", "nan"), ("Questions", "inf"), ("Connections", "-1"), ("Innodb_data_fsyncs", "1e400"),
    ("Innodb_row_lock_time", "many"), ("Innodb_row_lock_waits", None), ("Threadpool_threads", "9" * 5000),
    ("Threads_connected", "-7"), ("thread_stack", b"262144"), ("net_buffer_length", ""), ("", "5"), (None, "5"),
    ("Ssl_cipher",), (), ("a", "b", "c"), (5, 5),
)  # fmt: skip


@pytest.mark.parametrize("rows", [(), ODD])
def test_a_counter_that_is_no_number_is_absent(rows: Rows) -> None:
    cursor = Answers(*rows)
    assert read_status(cursor) == {}
    assert open_connections(cursor) == 1
    assert connection_bytes(cursor) is None
    assert read_cipher(cursor) is None
    assert connection_ids(cursor) <= {5}
    assert connection_ids(cursor, "5") == set()


def test_numbers_are_read_as_they_are() -> None:
    cursor = Answers(("Questions", "12"), ("Threads_running", b"3"), ("unknown", "4"))
    assert read_status(cursor) == {"Questions": 12.0, "Threads_running": 3.0}


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ((), "max_connections"),
        ((("version", "8.0"),), "max_connections"),
        ((("version", "8.0"), ("max_connections", "many")), "max_connections"),
        ((("max_connections", "151"),), "version"),
    ],
)
def test_what_every_server_has_is_named(rows: Rows, missing: str) -> None:
    with pytest.raises(BadInput, match=f"does not show the variable {missing}"):
        read_server(Answers(*rows))


def test_a_long_value_is_cut() -> None:
    """A run whose line is too long could not be read again."""
    server = read_server(Answers(("version", "8" * 10_000_000), ("max_connections", "151")))
    assert len(server.version) == 256


def test_a_server_that_counts_no_statements_may_serve_others() -> None:
    with pytest.raises(BadInput, match="add `yes`"):
        statements_of_others(Answers())


@pytest.mark.parametrize("rows", [(), (("a",),), (("a", 1, None),), (("a", 1, 2), ("a", 1, 2))])
def test_an_answer_of_another_form_is_named(rows: Rows) -> None:
    with pytest.raises(WorkFailed, match="in another form"):
        ServerProcess.of(Answers(*rows))


def test_a_server_whose_start_is_not_known_is_never_the_same() -> None:
    """Its connections are others', if it restarted; none of them is killed."""
    process = ServerProcess.of(Answers(("db", 3306, 1_000.0)))
    assert isnan(process.started)
    assert not process.is_same(process)


class Having:
    """A cursor to a server that has some variables and status variables, of those that poolsize asks for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._asked: list[str] = []

    def execute(self, query: str, _: Any = None) -> None:
        """Note the variables that the statement asks for."""
        self._asked = re.findall(r"'(\w+)'", query) if "SHOW" in query else []

    def fetchall(self) -> Rows:
        """Return those that the server has."""
        return [(name, self._values[name]) for name in self._asked if name in self._values]


QUERIES = [path.read_text() for path in (ROOT / "poolsize/facts/queries").glob("*.sql")]
ASKED = sorted({name for query in QUERIES if "SHOW" in query for name in re.findall(r"'(\w+)'", query)})


@pytest.mark.costly
@given(values=st.dictionaries(st.sampled_from(ASKED), st.sampled_from(["0", "1", "151", "ON", "OFF", "", "-1", "1.5"])))
def test_every_variable_may_be_absent(values: dict[str, str]) -> None:
    """Of TiDB, Threads_connected is. The two that every MySQL and MariaDB has are required: see above."""
    cursor = Having(values | {"version": "8.0.11-TiDB-v8.5.0", "max_connections": "151"})
    read_status(cursor)
    assert open_connections(cursor) >= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspection, "SAMPLE_SECONDS", 0.0)
        inspected = inspect_server(cursor, 1, "", by_loopback=False, denied=KeyError)
    assert inspection_text(inspected) in per_core_text(inspected, 0.0)
    assert json_text(per_core_values(inspected, 0.0))


OWN = {"version": "8.4.6", "version_comment": "MySQL Community Server - GPL", "basedir": "/usr/"}


@pytest.mark.parametrize(
    ("different", "handshake", "platform"),
    [
        ({}, "8.4.6", None),
        ({"version": "10.11.14-MariaDB-0+deb12u2"}, "5.5.5-10.11.14-MariaDB-0+deb12u2", None),
        ({"version": "26.10.1"}, "26.10.1", None),
        ({"aurora_version": "3.10.0", "basedir": "/rdsdbbin/oscar-8.0.mysql_aurora.3.10.0/"}, "8.4.6", Platform.AURORA),
        ({"basedir": "/rdsdbbin/mysql-8.4.6.R1/"}, "8.4.6", Platform.RDS),
        ({"version": "8.4.6-google", "version_comment": "(Google)"}, "8.4.6-google", Platform.CLOUD_SQL),
        ({"aad_auth_only": "OFF"}, "8.4.6", Platform.AZURE),
        ({"version": "8.0.11-TiDB-v8.5.3", "version_comment": "TiDB Server"}, "8.0.11-TiDB-v8.5.3", Platform.TIDB),
        ({}, "8.0.30-Vitess", Platform.VITESS),
        ({}, "8.0.30", Platform.PROXY),
        ({}, "5.5.30 (ProxySQL)", Platform.PROXY),
    ],
)
def test_a_platform_is_known_by_its_variables(
    different: dict[str, str], handshake: str, platform: Platform | None
) -> None:
    assert platform_of(OWN | different, handshake) == platform


def test_every_platform_has_its_advice() -> None:
    assert PLATFORMS.keys() == set(Platform)
