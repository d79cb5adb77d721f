"""General logs: the formats of MySQL and MariaDB, sessions with their schemas, prepared statements."""

from math import isnan
from pathlib import Path

import pytest

from poolsize.capture.events import Disconnected, Event, StatementEvent, Tally
from poolsize.capture.logs import GeneralLog, log_events
from poolsize.errors import BadInput
from tests.capture.logs import SECOND, STARTED, mysql_entry, texts


def read(path: Path, log: str, tally: Tally | None = None) -> list[Event]:
    path.write_text(log, "utf-8")
    return list(log_events([path], GeneralLog, tally or Tally()))


def entry(command: str, argument: str = "", thread: int = 8, at: str = "22:13:20.500000") -> str:
    """An entry of MySQL 5.7 to 9."""
    return f"2023-11-14T{at}Z\t{thread:5} {command}\t{argument}\n"


def test_a_session_of_mysql(tmp_path: Path) -> None:
    tally = Tally()
    log = (
        STARTED + entry("Connect", "app@web1 on shop using TCP/IP") + entry("Query", "SET NAMES utf8mb4")
        + entry("Query", "SELECT a\n  FROM t\n WHERE b = 5") + entry("Init DB", "other") + entry("Query", "COMMIT")
        + entry("Quit")
    )  # fmt: skip
    first, *statements, last = read(tmp_path / "general.log", log, tally)
    assert first == last == Disconnected(8)
    assert texts(statements) == ["SET NAMES utf8mb4", "SELECT a\n  FROM t\n WHERE b = 5", "COMMIT"]
    assert (tally.versions, tally.statements, tally.unreadable) == ({"8.0.36"}, 3, 0)
    assert all(isnan(event.seconds) for event in statements if isinstance(event, StatementEvent))


def test_mariadb_writes_the_time_where_it_changes(tmp_path: Path) -> None:
    log = (
        "231114 22:13:20\t    42 Connect\tapp@web1 on shop as anonymous\n\t\t    42 Query\tSELECT 1\n"
        "231114 22:13:21\t    43 Connect\tapp@web1 on \n\t\t    43 Query\tSELECT 2\n"
    )
    events = [event for event in read(tmp_path / "general.log", log) if isinstance(event, StatementEvent)]
    assert [(event.thread, event.started - SECOND, event.text) for event in events] == [
        (42, 0, "SELECT 1"), (43, 1, "SELECT 2"),
    ]  # fmt: skip


def test_a_prepared_statement_is_an_event_each_time_it_runs(tmp_path: Path) -> None:
    log = (
        entry("Prepare", "SELECT a FROM t WHERE b = ?") + entry("Execute", "SELECT a FROM t WHERE b = 5")
        + entry("Execute", "[2] SELECT a FROM t WHERE b = 6") + entry("Close stmt")
    )  # fmt: skip
    events = read(tmp_path / "general.log", log)
    assert texts(events) == ["SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b = 6"]


def test_lines_before_the_first_entry_are_counted(tmp_path: Path) -> None:
    tally = Tally()
    read(tmp_path / "general.log", "FROM t WHERE b = 5\n" + entry("Query", "SELECT 1"), tally)
    assert (tally.statements, tally.unreadable) == (1, 1)


def test_a_time_zone_is_part_of_the_time(tmp_path: Path) -> None:
    log = "2023-11-14T23:13:20.500000+01:00\t    8 Query\tSELECT 1\n"
    (event,) = read(tmp_path / "general.log", log)
    assert isinstance(event, StatementEvent)
    assert event.started == SECOND + 0.5


def test_a_slow_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no general log"):
        read(tmp_path / "slow.log", mysql_entry("SELECT 1"))
