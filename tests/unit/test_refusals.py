"""Inputs that a new user gets wrong: each is refused with a line that names the way out, before anything is done."""

from pathlib import Path
from types import SimpleNamespace

import pymysql
import pytest

from poolsize import analyze, commands, explain, load_run, recommend
from poolsize.errors import BadInput, Interrupted, did_you_mean
from poolsize.facts.server import host_and_port, read_server
from poolsize.present.text.recommendation import recommendation_text
from poolsize.server import connection
from poolsize.server.connection import connect, database_url
from poolsize.sweep import replay
from tests.conftest import EXAMPLES, Command, a_run, written

SCAN = str(EXAMPLES["scan-mariadb"])
DIGITS = "9" * 20


def stored(path: Path, users: int = 64) -> Path:
    return written(path, a_run({1: 100, 2: 200, 4: 390, 8: 400}, users=users))


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # a time without a unit
        (["recommend", "--run", SCAN, "--max-p95", "20"], "--max-p95 20: a time needs a unit: write 20ms or 20s"),
        (["report", SCAN, "--output", "a.md", "--max-p99", "0.5"], "--max-p99 0.5: a time needs a unit"),
        (["sweep", "--replay", "cisco", "--max-p95", "20"], "write 20ms or 20s"),
        (["sweep", "--think-time", "50"], "--think-time 50: a time needs a unit: write 50ms or 50s"),
        (["predict", SCAN, "--round-trip", "5"], "--round-trip 5: a time needs a unit: write 5ms or 5s"),
        (["predict", SCAN, "--think-time", "1"], "--think-time 1: a time needs a unit"),
        (
            ["sweep", "--think-time", "20MS"],
            "give a duration such as 550ms, 15s or 2m; its units are ms, s, m, h and d",
        ),
        # what another command takes
        (["recommend", SCAN], "a name without its option: write --run RUN"),
        (["analyze", SCAN, "--max-p95", "20ms"], "No such option '--max-p95'. poolsize recommend has it."),
        (["config", "--for", "go", "--rat", "4"], "Did you mean one of: '--burst', '--format', '--rate'"),
        (["config", "--for", "gunicorn", "--size", "3"], "--for gunicorn: no such stack; did you mean django?"),
        # files
        (
            ["sweep", "--replay", "cisco", "--output", "a.csv"],
            "--output a.csv: the name ends in .jsonl",
        ),
        (["sweep", "--workload", "shop/shp.py"], "--workload shop/shp.py: there is no such file"),
        (["sweep", "--workload", SCAN], "the name of a locustfile ends in .py"),
        (["sweep", "--repeats", "3", "--budget", "60s"], "a search chooses its repeats itself: leave it out, or name"),
        # typos
        (["swep"], "swep is not a command; did you mean sweep?"),
        (["Recomend"], "did you mean recommend?"),
        (["frobnicate"], "the commands are recommend, demo, calculator, explain, sweep, observe, capture, application"),
        (["sweep", "--workload", "oltp_read_wirte"], "did you mean oltp_read_write?"),
        (["sweep", "--replay", "cisko"], "did you mean cisco?"),
        # a Java URL
        (
            ["sweep", "--url", "jdbc:mysql://u:secret@h:3306/shop"],
            "write mysql://USER:PASSWORD@HOST:3306/, without jdbc:",
        ),
        # numbers that nobody means
        (["recommend", "--cores", DIGITS], f"--cores {DIGITS}: a database host has 10,000 cores at most"),
        (["recommend", "--cores", "999999999999"], "--cores 999999999999"),
        (["recommend", "--cores", "8", "--disks", "1000000000"], "--disks 1000000000"),
        (["recommend", "--cores", "8", "--app-threads", DIGITS, "--connections-per-thread", "2"], "--app-threads"),
        (["recommend", "--run", SCAN, "--current", "99999999"], "--current 99999999: a pool has 1 to 100,000"),
        (["predict", SCAN, "--cores", DIGITS], f"--cores {DIGITS}"),
        (["predict", SCAN, "--instances", DIGITS], f"--instances {DIGITS}"),
        (["sweep", "--replay", "cisco", "--cores", DIGITS], f"--cores {DIGITS}"),
        (["sweep", "--replay", "cisco", "--pool-sizes", DIGITS], "from 1 to 100,000"),
        (["sweep", "--replay", "cisco", "--pool-sizes", "4", "--repeats", DIGITS], f"--repeats {DIGITS}"),
        (["recommend", "--url", "mysql://a:b@localhost:99999/"], "--url: port 99999: give 1 to 65535"),
        (["sweep", "--users", "1000001", "--pool-sizes", "4"], "--users 1000001: give at most 1,000,000"),
        (["sweep", "--processes", DIGITS], f"--processes {DIGITS}: give 1 to 1,000"),
        # a budget in which no step fits
        (["sweep", "--replay", "cisco", "--budget", "1s"], "--budget 1s: no step fits in it; a step takes 10s"),
        (["sweep", "--replay", "cisco", "--step-time", "700s"], "--budget 600s: no step fits in it"),
        # files that can't be written
        (["analyze", SCAN, "--plot", "nodir/a.png"], "--plot nodir/a.png: there is no folder nodir"),
        (["analyze", SCAN, "--plot", "a.pdf"], "--plot a.pdf: name a .png or an .svg file"),
        (["report", SCAN, "--output", "nodir/a.html"], "--output nodir/a.html: there is no folder nodir"),
        (["report", "unread.jsonl", "--output", "a.pdf"], "--output a.pdf: name a file that ends in .html or .md"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "",
)
def test_it_is_refused_in_one_line_and_nothing_is_printed(
    poolsize_here: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = poolsize_here(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("poolsize: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.costly
def test_durations_of_steps_may_be_plain_seconds_and_no_think_time_needs_no_unit(poolsize_here: Command) -> None:
    done = poolsize_here("sweep", "--replay", "cisco", "--pool-sizes", "1,8,27", "--step-time", "10", "--warm-up", "0")
    assert "--" not in done.stderr
    assert done.stdout.startswith("Use ")
    assert poolsize_here("predict", SCAN, "--think-time", "0").returncode == 0


def test_a_name_that_is_near_to_nothing_gets_no_guess() -> None:
    assert did_you_mean("xyzzy", ("sweep", "report")) == ""


@pytest.mark.costly
def test_no_pool_size_is_work_that_failed_and_its_json_is_printed_all_the_same(
    poolsize_here: Command, tmp_path: Path
) -> None:
    stored(tmp_path / "a.jsonl", users=1)
    for arguments in (("--json",), ()):
        done = poolsize_here("recommend", "--run", "a.jsonl", *arguments)
        assert (done.returncode, done.stderr) == (1, "")
        assert '"pool_size": null' in done.stdout or "No pool size can be recommended" in done.stdout
    seconds = [f"{size},{second},{100 + second % 3},5,1" for size in (2, 4, 8) for second in range(20)]
    (tmp_path / "one-user.csv").write_text("\n".join(["pool_size,second,throughput,p95_ms,users", *seconds]))
    swept = poolsize_here("sweep", "--replay", "one-user.csv", "--json", "--output", "b.jsonl")
    assert (swept.returncode, '"pool_size": null' in swept.stdout) == (1, True)


def test_ctrl_c_ends_with_the_shell_s_code_for_it(poolsize_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.LazyGroup, "invoke", interrupt)
    done = poolsize_here("recommend", "--cores", "8")
    assert (done.returncode, done.stderr) == (130, "\npoolsize: error: interrupted\n")


@pytest.mark.costly
def test_an_interrupted_replay_says_how_to_resume(poolsize_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(replay, "sweep", interrupt)
        done = poolsize_here("sweep", "--replay", "cisco", "--output", "a.jsonl")
    assert done.returncode == 130
    assert done.stderr == (
        "poolsize: error: interrupted; the measured steps are kept: poolsize sweep --resume a.jsonl\n"
    )
    assert poolsize_here("sweep", "--resume", "a.jsonl").returncode == 0


def test_another_signal_has_its_own_code() -> None:
    assert (Interrupted("stop").exit_code, Interrupted("stop", 15).exit_code) == (130, 143)


def test_an_ipv6_address_is_printed_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [host_and_port(host, 3306) for host in ("::1", "[::1]", "db", "10.0.0.1")] == [
        "[::1]:3306", "[::1]:3306", "db:3306", "10.0.0.1:3306",
    ]  # fmt: skip

    def refuse(**_: object) -> None:
        raise pymysql.OperationalError(2003, "refused")

    monkeypatch.setattr(connection, "BoundedConnection", refuse)
    with pytest.raises(BadInput, match=r"me@\[2001:db8::7\]:3307 \(refused\)"):
        connect(database_url("mysql://me:secret@[2001:db8::7]:3307/"))
    rows = (("hostname", "fe80::1"), ("port", "3306"), ("version", "8.0"), ("max_connections", "9"))
    cursor = SimpleNamespace(execute=lambda _: None, fetchall=lambda: rows)
    assert read_server(cursor).address == "[fe80::1]:3306"


@pytest.mark.costly
def test_in_python_recommend_takes_a_run_and_explain_words_the_answer() -> None:
    run = load_run(SCAN)
    answer = recommend(run)
    assert answer == recommend(analyze(run))
    assert explain(answer) == recommendation_text(answer)
    with pytest.raises(BadInput, match=r"recommend takes an Analysis or a Run, not a str: write recommend\(load_run"):
        recommend(SCAN)  # type: ignore[arg-type]  # the mistake


def test_a_size_that_was_not_measured_names_those_that_were() -> None:
    with pytest.raises(BadInput, match="`pool_size` 3 was not measured; the measured sizes are 1, 2, 4, 8, 16"):
        analyze(load_run(SCAN)).at(3)
