"""`poolsize scenario`, at a tenth of its length, on real servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from poolsize import load_run
from poolsize.analysis.analysis import analyze
from poolsize.runs.check import Check
from tests.conftest import (
    EXAMPLES,
    FLAVORS,
    MARIADB_IN_CI,
    Command,
    assert_counted_steps,
    measured_again,
    mysqld,
)

pytestmark = [pytest.mark.server, pytest.mark.long]
SHORT = ("--json", "--step-time", "1s", "--warm-up", "1s", "--repeats", "1", "--output", "a.jsonl")


def answer_of(poolsize: Command, name: str, *words: str) -> dict[str, Any]:
    done = poolsize("scenario", name, *SHORT, *words, timeout=400)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    return answer


def on(flavor: str) -> tuple[str, ...]:
    program = mysqld(flavor)
    return ("--mysqld", str(program)) if program else ()


@pytest.mark.parametrize("flavor", MARIADB_IN_CI)
def test_the_insert_sweep_ends_beside_the_published_figures(poolsize: Command, tmp_path: Path, flavor: str) -> None:
    answer = answer_of(poolsize, "insert-sweep", *on(flavor))
    assert answer["runs"] == ["a.jsonl"]
    run = load_run(tmp_path / "a.jsonl")
    assert_counted_steps(run)
    assert {step.pool_size for step in run.steps} == {1, 8, 50, 100, 500}
    assert all(claim["published"] for claim in answer["claims"])


@pytest.mark.slow
@pytest.mark.experiment
@measured_again
def test_the_exhausted_pool_loses_transactions_as_predicted(poolsize: Command, tmp_path: Path) -> None:
    answer = answer_of(poolsize, "exhaustion", "--step-time", "3s")
    timeouts = {(timeout["limit_ms"], timeout["pool_size"]): timeout for timeout in answer["timeouts"]}
    short, long = sorted({limit for limit, _ in timeouts})
    assert answer["runs"] == ["a.jsonl", f"a-{short:.0f}ms.jsonl", f"a-{long:.0f}ms.jsonl"]
    wait_ms = analyze(load_run(tmp_path / "a.jsonl")).at(1).wait.mean
    assert (short, long) == pytest.approx((0.25 * wait_ms, 0.7 * wait_ms), abs=0.5)
    assert set(timeouts) == {(limit, size) for limit in (short, long) for size in (1, 2, 3, 4)}
    worst = timeouts[short, 1]
    assert worst["measured"] > timeouts[long, 4]["measured"]
    assert 0.3 < worst["measured"] < 1
    assert 0.3 < worst["predicted"] < 1
    assert worst["enough_connections"] > 1
    assert worst["enough_ms"] > short
    assert worst["errors"]


@pytest.mark.experiment
@measured_again
def test_short_transactions_have_a_pool_of_their_own(poolsize: Command, tmp_path: Path) -> None:
    answer = answer_of(poolsize, "mixed-lengths")
    assert answer["runs"] == ["a.jsonl", "a-other.jsonl"]
    assert [claim["p95_of"] for claim in answer["claims"]] == ["Lookup", "Lookup"]
    runs = [load_run(tmp_path / path) for path in answer["runs"]]
    assert [run.plan.workload for run in runs] == ["mixed_lengths", "mixed_lengths_two_pools"]
    for run in runs:
        assert_counted_steps(run)
        assert all(set(step.kinds) == {"Lookup", "Report"} for step in run.steps)


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("flavor", FLAVORS)
@measured_again
def test_without_a_pool_each_transaction_connects(poolsize: Command, tmp_path: Path, flavor: str) -> None:
    answer = answer_of(poolsize, "short-connections", *on(flavor))
    pooled, short = (load_run(tmp_path / path) for path in answer["runs"])
    assert_counted_steps(pooled)
    assert [run.plan.pool for run in (pooled, short)] == ["fair", "none"]
    for step in short.steps:
        made = step.counter("Connections")
        assert made is not None
        assert made >= 0.8 * step.mean_throughput
        assert not step.errors
    assert {use["pool_size"] for use in answer["ports"]} == {1, 2}
    (claim,) = answer["claims"]
    assert (claim["p95_of"], claim["direction"]) == ("all transactions", "falls")
    foreign = tmp_path / "a-other.jsonl"
    foreign.write_bytes(EXAMPLES["scan-mariadb"].read_bytes())
    refused = poolsize("scenario", "short-connections", "--resume", "a.jsonl", *on(flavor))
    assert refused.returncode == 2
    assert "a-other.jsonl: it is not of this scenario at this scale; move it away" in refused.stderr
    assert foreign.read_bytes() == EXAMPLES["scan-mariadb"].read_bytes()


@pytest.mark.slow
@pytest.mark.experiment
@pytest.mark.parametrize("flavor", FLAVORS)
@measured_again
def test_pools_beyond_the_servers_limit_lose_transactions(poolsize: Command, tmp_path: Path, flavor: str) -> None:
    """Of 40 connections the server admits fewer; the 16 that the fleet's rule allows are all admitted."""
    answer = answer_of(poolsize, "max-connections", "--step-time", "4s", "--warm-up", "2s", *on(flavor))
    within, beyond = answer["refused"]
    assert (within["connections"], within["errors"], within["failed"]) == (16, [], 0)
    assert beyond["connections"] == 40
    assert beyond["failed"] > 0
    assert beyond["errors"] == ["too_many_connections"]
    assert (beyond["pools"], beyond["limit"], beyond["fleet_pool"]) == (4, 30, 4)
    *_, full = [step for step in load_run(tmp_path / "a.jsonl").steps if step.pool_size == 40]
    assert Check.LITTLES_LAW not in {result.check for result in full.failed_checks}, "users starved"
    assert full.server_connections is not None
    assert full.server_connections <= 30
    assert (full.counter("Connection_errors_max_connections") or 0) > 0


@pytest.mark.experiment
def test_two_servers_are_measured_in_turn(poolsize: Command, tmp_path: Path) -> None:
    answer = answer_of(poolsize, "upgrade", "--against-option", "innodb_flush_log_at_trx_commit=2")
    assert answer["runs"] == ["a.jsonl", "a-other.jsonl"]
    assert [claim["sides"] for claim in answer["claims"]] == [["first", "other"]]
    options = [load_run(tmp_path / run).setting.server_options for run in answer["runs"]]
    assert options == [{}, {"innodb_flush_log_at_trx_commit": "2"}]


@pytest.mark.experiment
@pytest.mark.parametrize("name", ["thread-pool", "thread-pool-scan", "idle-crowd"])
def test_a_server_without_a_thread_pool_is_refused(poolsize: Command, name: str) -> None:
    refused = poolsize("scenario", name, *SHORT, *on("mysql"))
    assert refused.returncode == 2
    assert "thread_handling" in refused.stderr
