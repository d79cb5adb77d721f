"""Recorded curves in place of a server: through the command line, as a user without one would."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from poolsize.recordings.importers import read_logs
from poolsize.recordings.recording import Recording, Seconds, read_recording, write_recording
from poolsize.runs.store import load_run
from tests.conftest import Command
from tests.scorecard import RECORDINGS, score_all

TRUE_PLATEAU = 24


def a_curve(size: int) -> float:
    """Rises to 24 connections' worth, then stays."""
    return 1200 * min(1.0, size / 25)


@pytest.fixture
def curve(tmp_path: Path) -> Path:
    """A recording of 300 s at 8 sizes with 3 % noise; p95 grows with the size."""
    random = np.random.default_rng(1)
    by_size = {
        size: Seconds(tuple(a_curve(size) * (1 + 0.03 * random.standard_normal(300))), (float(size),) * 300)
        for size in (1, 4, 12, 24, 32, 64, 128, 256)
    }
    path = tmp_path / "curve.csv.gz"
    write_recording(Recording(by_size), path)
    return path


@pytest.mark.long
def test_a_replay_answers_like_a_sweep(poolsize_here: Command, curve: Path) -> None:
    done = poolsize_here(
        "sweep", "--replay", str(curve), "--cores", "8", "--current", "100", "--json", "--output", "a.jsonl"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert TRUE_PLATEAU - 2 <= answer["pool_size"] <= 1.4 * TRUE_PLATEAU
    assert answer["range"][0] <= answer["pool_size"] <= answer["range"][1]
    assert (answer["verdict"], answer["run"]) == ("measured", "a.jsonl")
    run = load_run(curve.parent / "a.jsonl")
    assert (answer["steps"], answer["load_seconds"]) == (len(run.steps), 10 * len(run.steps))
    assert answer["load_seconds"] <= 600
    assert answer["estimates"].keys() == {"plateau", "usl", "closed_network", "kneedle"}
    prices = {price["pool_size"]: price for price in answer["regret"]}
    assert prices[100]["at_rate"] is None
    assert any("Your current pool size, 100," in reason for reason in answer["reasons"])
    assert any("They need a measurement, not a replay" in reason for reason in answer["reasons"])
    assert poolsize_here("recommend", "--run", "a.jsonl").returncode == 0
    assert poolsize_here("analyze", "a.jsonl", "--plot", "a.png", "--json").returncode == 0


@pytest.mark.long
def test_the_same_seed_is_the_same_sweep_and_another_is_not(poolsize_here: Command, curve: Path) -> None:
    runs = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            poolsize_here("sweep", "--replay", str(curve), "--seed", str(seed), "--output", f"{name}.jsonl").returncode
            == 0
        )
        runs.append([step.throughput for step in load_run(curve.parent / f"{name}.jsonl").steps])
    assert runs[0] == runs[1] != runs[2]


def test_a_grid_can_be_replayed_and_goes_on_where_it_was_cut_off(poolsize_here: Command, curve: Path) -> None:
    options = ("--replay", str(curve), "--output", "a.jsonl")
    done = poolsize_here("sweep", *options, "--pool-sizes", "4,24,48", "--repeats", "2", "--step-time", "20s")
    assert done.returncode == 0, done.stderr
    path = curve.parent / "a.jsonl"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:4]))
    cut = poolsize_here("recommend", "--run", "a.jsonl")
    assert (cut.returncode, "3 of 6 steps" in cut.stderr) == (1, True)
    assert poolsize_here("sweep", "--replay", str(curve), "--resume", "a.jsonl").returncode == 0
    assert path.read_text() == whole


@pytest.mark.long
def test_a_search_that_was_cut_off_goes_on_as_if_it_had_not_been(poolsize_here: Command, curve: Path) -> None:
    assert poolsize_here("sweep", "--replay", str(curve), "--output", "a.jsonl").returncode == 0
    path = curve.parent / "a.jsonl"
    whole = [step.throughput for step in load_run(path).steps]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    cut = poolsize_here("recommend", "--run", "a.jsonl")
    assert (cut.returncode, "search for the pool size was cut off" in cut.stderr) == (1, True)
    assert poolsize_here("sweep", "--replay", str(curve), "--resume", "a.jsonl", "--seed", "2").returncode == 2
    assert poolsize_here("sweep", "--resume", "a.jsonl", "--replay", str(curve)).returncode == 0
    assert [step.throughput for step in load_run(path).steps] == whole


def test_a_published_curve_is_replayed_by_its_name(poolsize_here: Command) -> None:
    done = poolsize_here("sweep", "--replay", "callaghan_rw_innodb5626", "--cores", "24", "--json")
    assert done.returncode == 0, done.stderr
    assert 36 <= json.loads(done.stdout)["pool_size"] <= 54


def test_a_curve_of_known_users_says_nothing_beyond_them(poolsize_here: Command) -> None:
    done = poolsize_here("sweep", "--replay", "druid_insert_mysql57", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "users-limited"
    assert "50 users" in " ".join(answer["warnings"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--replay", "nowhere.csv"), "nowhere.csv"),
        (("--replay", "curve.csv.gz", "--workload", "scan"), "--workload scan"),
        (("--replay", "curve.csv.gz", "--users", "50"), "--users 50"),
        (("--replay", "curve.csv.gz", "--rate", "50"), "--rate 50"),
        (("--replay", "curve.csv.gz", "--processes", "2"), "--processes 2"),
        (("--replay", "curve.csv.gz", "--url", "mysql://a@b/"), "--url"),
        (("--replay", "quoted.csv"), "quoted.csv"),
        (("--replay", "nobody.csv"), "line 2"),
        (("--replay", "curve.csv.gz", "--pool-sizes", "300"), "300"),
        (("--replay", "curve.csv.gz", "--max-p99", "20ms"), "--max-p99 20"),
        (("--replay", "curve.csv.gz", "--current", "0"), "--current 0"),
        (("--replay", "bad.csv"), "line 3"),
        (("--replay", "empty.csv"), "pool_size"),
        (("--replay", "torn.csv.gz"), "torn.csv.gz"),
        (("--replay", "still.csv"), "still.csv"),
    ],
)
def test_bad_input_is_one_line(poolsize_here: Command, curve: Path, arguments: tuple[str, ...], named: str) -> None:
    folder = curve.parent
    (folder / "bad.csv").write_text("pool_size,second,throughput,p95_ms\n1,1,10,5\n1,2,ten,5\n")
    (folder / "empty.csv").write_text("")
    (folder / "torn.csv.gz").write_bytes(curve.read_bytes()[:200])
    (folder / "still.csv").write_text("pool_size,second,throughput,p95_ms\n1,1,0,0\n")
    (folder / "quoted.csv").write_text('pool_size,second,throughput,p95_ms\n"' + "1" * 200_000)
    (folder / "nobody.csv").write_text("pool_size,second,throughput,p95_ms,users\n1,1,10,5,-5\n")
    done = poolsize_here("sweep", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("poolsize: error: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert done.stdout == ""


LOCUST_HEADER = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,Total Request Count,Total Failure Count"
SYSBENCH = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Running the test with following options:
Number of threads: {threads}
Report intermediate results every 1 second(s)

{lines}
SQL statistics:
"""


def a_sysbench_log(threads: int) -> str:
    lines = [
        f"[ {second}s ] thds: {threads} tps: {a_curve(threads) + second % 5:.2f} qps: 9900.30 (r/w/o: "
        f"6930.21/1980.06/990.03) lat (ms,95%): {threads:.2f} err/s: 0.00 reconn/s: 0.00"
        for second in range(1, 60)
    ]
    return SYSBENCH.format(threads=threads, lines="\n".join(lines))


def test_sysbench_logs_become_a_curve_and_a_run(poolsize_here: Command, tmp_path: Path) -> None:
    names = []
    for threads in (1, 8, 16, 32, 64):
        names.append(f"threads-{threads}.log")
        (tmp_path / names[-1]).write_text(a_sysbench_log(threads))
    assert poolsize_here("import", *names, "--output", "a.csv.gz").returncode == 0
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(
        b"pool_size,second,throughput,p95_ms\n1,1,49,1\n"
    )
    recording = read_recording(tmp_path / "a.csv.gz")
    assert recording == read_logs([tmp_path / name for name in names])
    assert recording.sizes == (1, 8, 16, 32, 64)
    done = poolsize_here("import", *names, "--cores", "8", "--output", "a.jsonl")
    assert done.returncode == 0, done.stderr
    answer = json.loads(poolsize_here("recommend", "--run", "a.jsonl", "--json").stdout)
    assert 20 <= answer["pool_size"] <= 32
    assert answer["formula"]["cores"] == 8


def test_a_log_of_more_than_two_hours_becomes_a_curve_and_a_run(poolsize_here: Command, tmp_path: Path) -> None:
    lines = [
        f"[ {second}s ] thds: 4 tps: 12345.68 qps: 9.0 (r/w/o: 1/1/1) lat (ms,95%): 12345.67 err/s: 0.00"
        for second in range(1, 7302)
    ]
    (tmp_path / "a.log").write_text("\n".join(lines))
    for output in ("a.csv", "a.jsonl"):
        done = poolsize_here("import", "a.log", "--output", output)
        assert done.returncode == 0, done.stderr
    assert read_recording(tmp_path / "a.csv") == read_logs([tmp_path / "a.log"])
    (step,) = load_run(tmp_path / "a.jsonl").steps
    assert step.throughput == (12345.68,) * 7301


def test_a_locust_history_becomes_a_curve(poolsize_here: Command, tmp_path: Path) -> None:
    """Its counts are used, failures left out, not its rates, which are means over the last ten seconds."""
    rows = [LOCUST_HEADER]
    total = 0
    for users in (1, 8, 16, 32):
        for second in range(20):
            total += round(a_curve(users))
            counts = f"1,0,5,9,{total + 7 * second},{7 * second}"
            at = f"{users * 100 + second},{users}"
            rows += [f"{at},pool,scan,{counts}", f"{at},,Aggregated,{counts}"]
    (tmp_path / "a_stats_history.csv").write_text("\n".join(rows))
    assert poolsize_here("import", "a_stats_history.csv", "--output", "a.csv").returncode == 0
    recording = read_recording(tmp_path / "a.csv")
    assert {size: seconds.throughput[0] for size, seconds in recording.by_size.items()} == {
        size: round(a_curve(size)) for size in (1, 8, 16, 32)
    }


@pytest.mark.parametrize(
    ("content", "output", "named"),
    [
        ("nothing", "b.csv", "none of the files that poolsize reads"),
        ("Timestamp,User Count,Name\n", "b.csv", "'Total Request Count'"),
        (
            "Timestamp,User Count,Name,95%,Total Request Count,Total Failure Count\n1,5,Aggregated,9,10,0\n",
            "b.csv",
            "5 s",
        ),
        (a_sysbench_log(4), "b.txt", "b.txt"),
        (a_sysbench_log(4), "a.log", "already exists"),
    ],
)
def test_a_log_that_is_none_is_refused(
    poolsize_here: Command, tmp_path: Path, content: str, output: str, named: str
) -> None:
    (tmp_path / "a.log").write_text(content)
    done = poolsize_here("import", "a.log", "--output", output)
    assert (done.returncode, done.stderr.count("\n"), named in done.stderr) == (2, 1, True), done.stderr


RECORDED = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recorded curves are not beside this checkout")


@pytest.mark.long
@RECORDED
def test_the_answer_is_good_on_every_tenth_recorded_curve() -> None:
    scores = score_all(sorted(RECORDINGS.glob("*.csv.gz"))[::10], seeds=(1,), alone=True)["plateau"]
    assert len(scores) >= 6
    assert min(score.efficiency for score in scores) >= 0.90
    assert np.quantile([score.ratio for score in scores], 0.9) <= 1.35


@pytest.mark.experiment
@RECORDED
def test_the_answer_is_good_on_every_recorded_curve() -> None:
    """The bars of efficiency, size and load, against each curve's own 900 s means; seeds 1 to 3."""
    scores = score_all(sorted(RECORDINGS.glob("*.csv.gz")), alone=True)["plateau"]
    efficiency, ratio = np.array([score.efficiency for score in scores]), np.array([score.ratio for score in scores])
    assert len(scores) >= 183
    assert efficiency.mean() >= 0.965
    assert (efficiency >= 0.93).mean() >= 0.98
    assert efficiency.min() >= 0.90
    assert round(float(np.median(ratio)), 2) <= 1.12
    assert round(float(np.quantile(ratio, 0.9)), 2) <= 1.35
    load = np.array([score.load_seconds for score in scores])
    assert np.median(load) <= 140
    assert load.mean() <= 175
    assert np.quantile(load, 0.9) <= 280
    assert np.mean([score.spent for score in scores]) <= 0.03
