"""Logs: the formats of all servers, what cuts them, and what is no such log."""

import gzip
import os
import time
from contextlib import suppress
from math import inf, isnan
from pathlib import Path

import pytest

from poolsize.capture import logs
from poolsize.capture.events import UNKNOWN_THREAD, Disconnected, StatementEvent, Tally
from poolsize.capture.fingerprint import fingerprinted
from poolsize.capture.logs import GeneralLog, SlowLog, log_events
from poolsize.errors import BadInput
from tests.capture.logged import SECOND, STARTED, mariadb_entry, mysql_entry, read, texts


def test_mysql_times_are_those_of_the_end(tmp_path: Path) -> None:
    tally = Tally()
    events = read(tmp_path / "slow.log", STARTED + mysql_entry("SELECT 1", use="shop"), tally)
    assert events == [StatementEvent(8, SECOND + 0.25, 0.25, "SELECT 1", 1)]
    assert (tally.versions, tally.statements, tally.first, tally.last) == ({"8.0.36"}, 1, SECOND + 0.25, SECOND + 0.5)
    assert tally.bytes_read == (tmp_path / "slow.log").stat().st_size


def test_extra_fields_of_mysql_say_the_start(tmp_path: Path) -> None:
    extra = " Thread_id: 9 Errno: 1062 Killed: 0 Start: 2023-11-14T22:13:19.000000Z End: 2023-11-14T22:13:19.250000Z\n"
    entry = mysql_entry("SELECT 1", thread=9).replace("Rows_examined: 20\n", f"Rows_examined: 20{extra}")
    assert read(tmp_path / "slow.log", entry) == [StatementEvent(9, SECOND - 1, 0.25, "SELECT 1", 1)]


def test_percona_writes_several_lines_of_fields(tmp_path: Path) -> None:
    entry = (
        "# Time: 231114 22:13:20\n# User@Host: app[app] @ web1 [10.0.0.7]  Id:    12\n"
        "# Schema: shop  Last_errno: 0  Killed: 0\n"
        "# Query_time: 0.5  Lock_time: 0  Rows_sent: 3  Rows_examined: 4  Rows_affected: 0\n"
        "# Bytes_sent: 545  Tmp_tables: 0\n# QC_Hit: No  Full_scan: Yes\n#   InnoDB_IO_r_ops: 0\n"
        f"SET timestamp={SECOND};\nSELECT a\n  FROM t;\n"
    )
    assert read(tmp_path / "slow.log", entry) == [StatementEvent(12, SECOND - 0.5, 0.5, "SELECT a\n  FROM t", 3)]


def test_a_schema_is_no_part_of_a_statement(tmp_path: Path) -> None:
    log = mysql_entry("SELECT 1", use="shop") + mysql_entry("SELECT 2", use="`my db`")
    assert texts(read(tmp_path / "slow.log", log)) == ["SELECT 1", "SELECT 2"]
    (event,) = read(tmp_path / "slow.log", mariadb_entry("SELECT 1", schema=""))
    assert isinstance(event, StatementEvent)
    assert (event.thread, event.seconds) == (8, 0.25)


def test_the_timestamp_of_mariadb_is_that_of_the_start(tmp_path: Path) -> None:
    tally = Tally()
    started = STARTED.replace("8.0.36", "10.11.19-MariaDB").replace("Time                 Id", "Time\t\t    Id")
    (event,) = read(tmp_path / "slow.log", started + mariadb_entry("SELECT 1", time="231114 22:13:25"), tally)
    assert isinstance(event, StatementEvent)
    assert (event.started, tally.versions, tally.unreadable) == (SECOND, {"10.11.19-MariaDB"}, 0)


@pytest.mark.parametrize(("entry", "is_coarse"), [(mariadb_entry("SELECT a"), True), (mysql_entry("SELECT a"), False)])
def test_a_log_without_fractions_of_seconds_is_coarse(tmp_path: Path, entry: str, is_coarse: bool) -> None:
    tally = Tally()
    read(tmp_path / "slow.log", entry, tally)
    assert tally.is_coarse is is_coarse


def test_the_end_of_a_session_is_an_event_and_other_commands_are_none(tmp_path: Path) -> None:
    log = mysql_entry("# administrator command: Ping") + mysql_entry("# administrator command: Quit", thread=3)
    assert read(tmp_path / "slow.log", log) == [Disconnected(3)]


def test_an_old_log_without_sessions_and_times_is_read(tmp_path: Path) -> None:
    tally = Tally()
    log = "# User@Host: root[root] @ localhost []\n# Query_time: 2  Lock_time: 0  Rows_sent: 1\nSELECT 1;\n"
    (event,) = read(tmp_path / "slow.log", log, tally)
    assert isinstance(event, StatementEvent)
    assert (event.thread, isnan(event.started), event.seconds, tally.without_thread) == (UNKNOWN_THREAD, True, 2, 1)
    assert tally.first == inf


def test_a_restart_between_two_entries_is_no_part_of_a_statement(tmp_path: Path) -> None:
    tally = Tally()
    log = mysql_entry("SELECT 1") + STARTED.replace("8.0.36", "8.0.37") + STARTED + mysql_entry("SELECT 2")
    assert texts(read(tmp_path / "slow.log", log, tally)) == ["SELECT 1", "SELECT 2"]
    assert tally.versions == {"8.0.36", "8.0.37"}


@pytest.mark.parametrize("text", ["SELECT '\n# a line\n;\n'", "-- a comment\nSELECT 1", "SELECT 'ü\u2028\x85'"])
def test_a_statement_of_several_lines_stays_whole(tmp_path: Path, text: str) -> None:
    assert texts(read(tmp_path / "slow.log", mysql_entry(text) + mysql_entry("SELECT 2"))) == [text, "SELECT 2"]


def test_line_ends_of_windows_and_a_mark_of_utf8_are_no_part_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "BLOCK_BYTES", 333)
    log = ("\ufeff" + STARTED + "".join(mysql_entry(f"SELECT {n}") for n in range(50))).replace("\n", "\r\n")
    assert texts(read(tmp_path / "slow.log", log)) == [f"SELECT {n}" for n in range(50)]


@pytest.mark.parametrize("block", [300, 1000, 2**20])
def test_blocks_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(logs, "BLOCK_BYTES", block)
    log = STARTED + "".join(mysql_entry(f"SELECT {n}") for n in range(200))
    assert texts(read(tmp_path / "slow.log", log)) == [f"SELECT {n}" for n in range(200)]


def test_a_statement_beyond_the_limit_is_counted_with_its_time(tmp_path: Path) -> None:
    blob = "x" * (5 * 2**20)
    log = mysql_entry(f"INSERT INTO t VALUES ('{blob}')", thread=4, seconds=3) + mysql_entry("SELECT 2")
    events = read(tmp_path / "slow.log", log)
    assert events[0] == StatementEvent(4, SECOND - 2.5, 3.0, "", 1)
    assert texts(events[1:]) == ["SELECT 2"]


def test_gzipped_logs_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    later, earlier = tmp_path / "slow.log", tmp_path / "slow.log.1.gz"
    later.write_text(mysql_entry("SELECT 2", at="23:00:00.000000"), "utf-8")
    earlier.write_bytes(gzip.compress(mysql_entry("SELECT 1").encode()))
    tally = Tally()
    assert texts(list(log_events([later, earlier], SlowLog, tally))) == ["SELECT 1", "SELECT 2"]
    assert tally.bytes_read == later.stat().st_size + earlier.stat().st_size


@pytest.mark.costly
def test_a_gzip_file_that_was_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    packed = gzip.compress("".join(mysql_entry(f"SELECT {n * n * 7919}") for n in range(5000)).encode())
    tally = Tally()
    events = read(tmp_path / "slow.log.gz", packed[: len(packed) // 2], tally)
    assert 0 < len(events) < 5000
    assert tally.cut_files == {tmp_path / "slow.log.gz": (len(events), tally.last)}


def test_an_entry_that_was_cut_off_is_counted(tmp_path: Path) -> None:
    tally = Tally()
    log = mysql_entry("SELECT 1") + mysql_entry("SELECT 2")[:60]
    assert texts(read(tmp_path / "slow.log", log, tally)) == ["SELECT 1"]
    assert tally.unreadable == 1


def test_a_log_of_which_most_is_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="more entries that are cut off than whole ones"):
        read(tmp_path / "slow.log", mysql_entry("SELECT 1") + ";\n# Time: " * 2000)


@pytest.mark.parametrize("seconds", ["18446744073708.796870.000036", "-1", "nan", "1e30", ""])
def test_a_run_time_that_can_not_be_is_counted(tmp_path: Path, seconds: str) -> None:
    tally = Tally()
    assert not read(tmp_path / "slow.log", mysql_entry("SELECT 1").replace("0.250000", seconds), tally)
    assert tally.unreadable == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"SELECT 1;\n", "is no slow log"),
        (os.urandom(2**16), "is no slow log"),
        (b"2023-11-14T22:13:20.5Z\t    8 Query\tSELECT 1\n", "is no slow log"),
        (STARTED.encode("utf-16"), "is UTF-16 text"),
        (b"\xfd7zXZ\0", "is a xz file"),
        (gzip.compress(mysql_entry("SELECT 1").encode())[:-8] + b"\xff" * 200, "the gzip file is damaged"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read(tmp_path / "other", content)


def test_an_empty_log_has_no_events(tmp_path: Path) -> None:
    assert read(tmp_path / "slow.log", "") == []
    with pytest.raises(BadInput, match="folder"):
        list(log_events([tmp_path], SlowLog, Tally()))


@pytest.mark.costly
def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(mysql_entry("SELECT 1").encode() + b"\0" * 2**27, 9)
    with pytest.raises(BadInput, match="200 times its size"):
        read(tmp_path / "slow.log.gz", bomb)


def _hostile(kind: str) -> bytes:
    head = mysql_entry("SELECT ").encode().removesuffix(b";\n")
    size = 4 * 2**20
    return {
        "comments": head + b"/* " * (size // 3),
        "quotes": head + b"'\\" * (size // 2),
        "starts": head + b", Version: a" * (size // 12) + b" started with:\n",
        "timestamps": head.replace(b"SET timestamp", b"SET " + b"timestamp=" * (size // 10)),
        "fields": b"# Query_time: " * (size // 14) + b"\n",
        "spaces": b"# User@Host: a\n# Query_time: 1\n# Id:" + b" " * size + b"\nSELECT 1",
        "semicolons": head + b";" * size,
        "boundaries": b";\n# Time: " * (size // 10),
        "lists": head + b"1 IN (" * (size // 6),
        "rows": head.replace(b"SELECT ", b"INSERT INTO t VALUES ") + b"VALUES (1,(2)), " * (size // 16),
        "binary": head + bytes(range(256)) * (size // 256),
    }[kind]


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    ["comments", "quotes", "starts", "timestamps", "fields", "spaces", "semicolons", "boundaries", "lists", "rows",
     "binary"],
)  # fmt: skip
@pytest.mark.parametrize("limit", [2**20, 2**30], ids=["skipped", "read"])
def test_no_log_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, limit: int) -> None:
    """Also where a statement is within the limit, the time grows with its length and not faster."""
    monkeypatch.setattr(logs, "LONGEST_ENTRY", limit)
    begun = time.process_time()
    with suppress(BadInput):
        for text in texts(read(tmp_path / "slow.log", _hostile(kind))):
            fingerprinted(text)
    assert time.process_time() - begun < 15


@pytest.mark.skipif("POOLSIZE_TEST_SLOW_LOGS" not in os.environ, reason="POOLSIZE_TEST_SLOW_LOGS names no folder")
def test_public_logs_are_read_or_refused() -> None:
    """The folder: t/lib/samples of Percona Toolkit, with slowlogs/ and genlogs/."""
    folder, read_files = Path(os.environ.get("POOLSIZE_TEST_SLOW_LOGS", "")), 0
    for path in sorted((*folder.glob("slowlogs/*"), *folder.glob("genlogs/*"))):
        kind = GeneralLog if path.parent.name == "genlogs" else SlowLog
        tally = Tally()
        try:
            statements = texts(list(log_events([path], kind, tally)))
        except BadInput:
            assert "session" in path.name  # pieces of a log that were split
            continue
        read_files += 1
        assert tally.statements or tally.unreadable or path.name in ("empty", "slow026.txt", "slow-pt-243.txt"), path
        assert all(fingerprinted(text) is not None for text in statements if text), path
    assert read_files > 70


def entry(command: str, argument: str = "") -> str:
    """An entry of a general log of MySQL 5.7 to 9."""
    return f"2023-11-14T22:13:20.500000Z\t    8 {command}\t{argument}\n"


def test_a_session_in_a_general_log(tmp_path: Path) -> None:
    tally = Tally()
    log = (
        STARTED + entry("Connect", "app@web1 on shop using TCP/IP") + entry("Query", "SET NAMES utf8mb4")
        + entry("Query", "SELECT a\n  FROM t\n WHERE b = 5") + entry("Init DB", "other") + entry("Query", "COMMIT")
        + entry("Quit")
    )  # fmt: skip
    first, *statements, last = read(tmp_path / "general.log", log, tally, kind=GeneralLog)
    assert first == last == Disconnected(8)
    assert texts(statements) == ["SET NAMES utf8mb4", "SELECT a\n  FROM t\n WHERE b = 5", "COMMIT"]
    assert (tally.versions, tally.statements, tally.unreadable) == ({"8.0.36"}, 3, 0)
    assert all(isnan(event.seconds) for event in statements if isinstance(event, StatementEvent))


def test_mariadb_writes_the_time_of_a_general_log_where_it_changes(tmp_path: Path) -> None:
    log = (
        "231114 22:13:20\t    42 Connect\tapp@web1 on shop as anonymous\n\t\t    42 Query\tSELECT 1\n"
        "231114 22:13:21\t    43 Connect\tapp@web1 on \n\t\t    43 Query\tSELECT 2\n"
    )
    events = [
        event for event in read(tmp_path / "general.log", log, kind=GeneralLog) if isinstance(event, StatementEvent)
    ]
    assert [(event.thread, event.started - SECOND, event.text) for event in events] == [
        (42, 0, "SELECT 1"), (43, 1, "SELECT 2"),
    ]  # fmt: skip


def test_a_prepared_statement_is_an_event_each_time_it_runs(tmp_path: Path) -> None:
    log = (
        entry("Prepare", "SELECT a FROM t WHERE b = ?") + entry("Execute", "SELECT a FROM t WHERE b = 5")
        + entry("Execute", "[2] SELECT a FROM t WHERE b = 6") + entry("Close stmt")
    )  # fmt: skip
    events = read(tmp_path / "general.log", log, kind=GeneralLog)
    assert texts(events) == ["SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b = 6"]


def test_lines_before_the_first_entry_of_a_general_log_are_counted(tmp_path: Path) -> None:
    tally = Tally()
    read(tmp_path / "general.log", "FROM t WHERE b = 5\n" + entry("Query", "SELECT 1"), tally, kind=GeneralLog)
    assert (tally.statements, tally.unreadable) == (1, 1)


def test_the_time_zone_of_a_general_log_is_part_of_the_time(tmp_path: Path) -> None:
    log = "2023-11-14T23:13:20.500000+01:00\t    8 Query\tSELECT 1\n"
    (event,) = read(tmp_path / "general.log", log, kind=GeneralLog)
    assert isinstance(event, StatementEvent)
    assert event.started == SECOND + 0.5


def test_a_slow_log_is_no_general_log(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no general log"):
        read(tmp_path / "slow.log", mysql_entry("SELECT 1"), kind=GeneralLog)
