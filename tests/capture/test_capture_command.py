"""`poolsize capture` as a user types it: what it refuses, what it writes, and what it prints."""

import gzip
import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.capture.workload import load_workload, workload_json
from tests.capture.logged import mysql_entry
from tests.conftest import Command

URL = "mysql://alice:hunter2@127.0.0.1:1/"


def slow_log(path: Path, transactions: int = 120) -> Path:
    """A log of MySQL with transactions of two kinds, and with secrets."""
    statements = []
    for number in range(transactions):
        statements += ["BEGIN", f"SELECT name FROM customer WHERE id = {number % 37} /* hunter2 */", "COMMIT"]
        if number % 3 == 0:
            statements.append(f"UPDATE customer SET name = 'hunter{number}' WHERE id = {number}")
    entries = [
        mysql_entry(statement, at=f"09:{number // 60:02}:{number % 60:02}.000000", seconds=0.002)
        for number, statement in enumerate(statements)
    ]
    path.write_text("".join(entries))
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a source: --slow-log FILE, --general-log FILE, or --url URL"),
        (["a.log"], "a.log: name it by --slow-log or --general-log"),
        (["--slow-log", "a.log", "--general-log", "b.log"], "capture one of them"),
        (["--slow-log", "a.log"], "a.log can't be read: there is no such file"),
        (["--slow-log", "a.log", "--for", "1m"], "--for is for --url"),
        (["--url", URL, "--for", "1s"], "--for 1s: give 10s to 24h"),
        (["--slow-log", "a.log", "--schema", "copy"], "--schema is for --check"),
        (["--check", "a.py", "--url", URL], "--check needs --schema"),
        (["--check", "a.py", "--schema", "copy"], "--check needs --url or POOLSIZE_URL"),
        (["--check", "a.py", "--schema", "copy", "--slow-log", "a.log"], "leave the logs out"),
        (["--check", "a.py", "--schema", "copy", "--url", URL], "--check a.py: there is no such file"),
        *(
            (["--check", "a.py", "--schema", "copy", "--url", URL, *words], f"{words[0]} is for a capture")
            for words in (
                ["--for", "1m"],
                ["--output", "b.py"],
                ["--writes"],
                ["--keep-values"],
                ["--against", "b.json"],
            )
        ),
    ],
)
def test_what_can_not_be_read_is_refused_in_one_line(poolsize_here: Command, words: list[str], message: str) -> None:
    refused = poolsize_here("capture", *words)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert "hunter2" not in refused.stderr


def test_a_duration_for_a_server_that_is_not_read_is_refused(poolsize_here: Command, tmp_path: Path) -> None:
    """Of a log, the URL in the environment is not read."""
    slow_log(tmp_path / "a.log")
    refused = poolsize_here("capture", "--slow-log", "a.log", "--for", "1m", url=URL)
    assert refused.returncode == 2
    assert "--for is for --url" in refused.stderr


def test_a_capture_writes_a_locustfile_and_its_description(poolsize_here: Command, tmp_path: Path) -> None:
    slow_log(tmp_path / "a.log")
    done = poolsize_here("capture", "--slow-log", "a.log", "--output", "shop.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("shop.py covers ")
    assert "poolsize sweep --workload shop.py --schema copy" in done.stdout
    assert "1 kind of transactions that write left out" in done.stderr
    for name in ("shop.py", "shop.json"):
        assert "hunter" not in (tmp_path / name).read_text()
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    again = poolsize_here("capture", "--slow-log", "a.log", "--output", "shop.py")
    assert again.returncode == 2
    assert "shop.json already exists: delete it, or name another file" in again.stderr


@pytest.mark.parametrize("output", ["shop.txt", "there/shop.py"])
def test_an_output_that_can_not_be_made_is_refused_before_the_log_is_read(
    poolsize_here: Command, tmp_path: Path, output: str
) -> None:
    slow_log(tmp_path / "a.log")
    refused = poolsize_here("capture", "--slow-log", "a.log", "--output", output)
    assert refused.returncode == 2
    assert f"--output {output}: " in refused.stderr


def test_several_logs_follow_one_option(poolsize_here: Command, tmp_path: Path) -> None:
    slow_log(tmp_path / "a.log")
    slow_log(tmp_path / "b.log")
    done = poolsize_here("capture", "--slow-log", "a.log", "b.log", "--json")
    assert done.returncode == 0, done.stderr
    assert load_workload(tmp_path / "workload.json").source.statements == 2 * (3 * 120 + 40)


def test_the_rate_of_a_file_is_that_of_its_transactions(poolsize_here: Command, tmp_path: Path) -> None:
    """120 of 160 transactions read. The others write, and are left out."""
    slow_log(tmp_path / "a.log")
    rates = {}
    for name, *words in (("all.py", "--writes"), ("reads.py",)):
        done = poolsize_here("capture", "--slow-log", "a.log", "--output", name, "--json", *words)
        rates[name] = json.loads(done.stdout)["rate"]
        assert f"--rate {rates[name]:.3g}/s" in (tmp_path / name).read_text()
    assert rates["reads.py"] == pytest.approx(0.75 * rates["all.py"])


def test_a_log_without_fast_statements_or_without_an_end_is_doubted(poolsize_here: Command, tmp_path: Path) -> None:
    entries = [mysql_entry(f"SELECT a FROM t WHERE b = {number * number * 7919}", seconds=1.2) for number in range(900)]
    packed = gzip.compress("".join(entries).encode())
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.log").write_text(mysql_entry("SELECT a FROM t", seconds=1.2))
    done = poolsize_here("capture", "--slow-log", "a.log.gz", "--slow-log", "b.log")
    assert "No statement took less than 1,200 ms: long_query_time was probably not 0" in done.stderr
    assert "a.log.gz is cut off: its gzip file has no end" in done.stderr
    read = re.search(r"It has (\d+) statements, until 2023-11-14 22:13:20 UTC", done.stderr)
    assert read, done.stderr
    assert load_workload(tmp_path / "workload.json").source.statements == int(read[1]) + 1, "with that of b.log"


def test_a_log_with_a_long_pause_is_doubted(poolsize_here: Command, tmp_path: Path) -> None:
    """Whoever appends to an old log gets the rate of the whole time."""
    entries = [mysql_entry("SELECT a FROM t", at=f"{at}.500000") for at in ("20:00:00", "20:00:30", "22:13:20")]
    (tmp_path / "slow.log").write_text("".join(entries))
    done = poolsize_here("capture", "--slow-log", "slow.log")
    assert "The log has no statement for 2 h 12 min of its 2 h 13 min" in done.stderr
    (tmp_path / "slow.log").write_text("".join(entries[:2]))
    assert "no statement for" not in poolsize_here("capture", "--slow-log", "slow.log", "--output", "b.py").stderr


def test_times_that_a_log_does_not_have_are_not_shown(poolsize_here: Command, tmp_path: Path) -> None:
    log = "".join(f"2023-11-14T22:13:{second:02}.0Z\t8 Query\tSELECT a FROM t\n" for second in range(60))
    (tmp_path / "a.log").write_text(log)
    shown = poolsize_here("capture", "--general-log", "a.log", "--output", "a.py")
    assert shown.stdout.startswith("a.py covers 100 % of the statements.\n")
    assert " 0 ms" not in shown.stdout + (tmp_path / "a.py").read_text()
    answer = json.loads(poolsize_here("capture", "--general-log", "a.log", "--output", "b.py", "--json").stdout)
    assert (answer["coverage"]["time"], answer["kinds"][0]["mean_ms"]) == (None, None)


def test_the_locustfile_is_no_description_and_the_description_is_named(poolsize_here: Command, tmp_path: Path) -> None:
    slow_log(tmp_path / "a.log")
    poolsize_here("capture", "--slow-log", "a.log", "--output", "old.py")
    words = ("capture", "--slow-log", "a.log", "--output", "new.py", "--against")
    refused = poolsize_here(*words, "old.py").stderr
    assert "old.py is no description of a captured workload: Invalid JSON: " in refused
    assert refused.endswith("; give old.json, the description beside it\n")
    (tmp_path / "list.json").write_text("[1]")
    assert "workload: the record is [1]: Input should be an object\n" in poolsize_here(*words, "list.json").stderr


@pytest.mark.costly
def test_json_has_the_coverage_and_what_changed(poolsize_here: Command, tmp_path: Path) -> None:
    slow_log(tmp_path / "a.log")
    first = poolsize_here("capture", "--slow-log", "a.log", "--output", "old.py", "--writes", "--json")
    answer = json.loads(first.stdout)
    assert answer["coverage"]["time"] == pytest.approx(1)
    assert {kind["name"]: kind["included"] for kind in answer["kinds"]} == {
        "select_customer": True,
        "update_customer": True,
    }
    assert "changes" not in answer
    old = load_workload(tmp_path / "old.json")
    (tmp_path / "old.json").write_bytes(workload_json(replace(old, arrival_rate=1_000.0)))
    words = ("capture", "--slow-log", "a.log", "--output", "new.py", "--against", "old.json")
    answer = json.loads(poolsize_here(*words, "--json").stdout)
    assert "arrival rate was 1,000/s" in answer["changes"][0]["text"]
    (tmp_path / "new.py").unlink()
    (tmp_path / "new.json").unlink()
    assert "Changed  The arrival rate was 1,000/s" in poolsize_here(*words).stdout
