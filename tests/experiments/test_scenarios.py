"""Scenarios: every file is complete, and a run whose figures are known agrees or disagrees with the published ones."""

import json
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.stats.percentiles import empty_histogram, encoded
from poolsize.errors import WorkFailed
from poolsize.experiments.agreement import agreement, agreement_text
from poolsize.experiments.connection_limits import port_uses, ports_text, refusals, refused_text
from poolsize.experiments.predictions import (
    exhaustion_text,
    exhaustions,
    full_size_prediction,
    full_size_text,
    wait_limits_ms,
)
from poolsize.experiments.run_scenario import _resumed_by
from poolsize.experiments.scenario import Direction, Side, plan_of, read_scenario, scenario_names
from poolsize.recordings.published import published_curves
from poolsize.runs.check import Check
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import CheckResult, Kind, Latencies, Run
from poolsize.runs.store import RunWriter
from poolsize.units import per_second
from tests.closed_loop_simulation import Network, simulated_run
from tests.conftest import EXAMPLES, Command, a_run, example

INSERT = read_scenario("insert-sweep")


@pytest.mark.parametrize("name", [name for name in scenario_names() if not read_scenario(name).survey])
def test_a_scenario_plans_at_most_three_minutes_and_measures_what_it_claims(name: str) -> None:
    quick = read_scenario(name)
    for scenario in (quick, quick.at_full_scale()):
        plan = plan_of(scenario.sweep_options())
        for claim in scenario.claims:
            assert set(claim.sizes) <= set(plan.sizes)
            shown = [curve for curve in scenario.curves_of(claim) if set(claim.sizes) <= set(curve.recording.sizes)]
            assert claim.expects is not None or shown
            assert set(claim.sides) == {Side.FIRST} or len(scenario.sides) == len(Side)
        if scenario is quick:
            assert scenario.sweeps * len(plan.sizes) * plan.repeats * (plan.warm_up_seconds + plan.step_seconds) <= 180


@pytest.mark.costly
def test_the_list_names_every_scenario(poolsize_here: Command) -> None:
    listed = poolsize_here("scenario", "--list")
    assert listed.returncode == 0
    for name in scenario_names():
        assert f"{name} (about " in listed.stdout
        assert read_scenario(name).question in " ".join(listed.stdout.split())
    assert poolsize_here("scenario").stdout == listed.stdout
    assert poolsize_here("scenario", url="mysql://u@h/").stdout == listed.stdout
    as_json = json.loads(poolsize_here("scenario", "--list", "--json").stdout)
    assert [each["name"] for each in as_json] == list(scenario_names())


SURVEYED = "pools times pools on a private server: leave it"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("insert-sweeps", "insert-sweeps is not a scenario; did you mean insert-sweep?\n"),
        ("--full", "name the scenario before its options"),
        ("--step-time 2s", "name the scenario before its options"),
        ("--resume a.jsonl", "name the scenario before its options"),
        ("--list exhaustion", "--list: leave the other words out"),
        ("--list --full", "--list: leave the other words out"),
        ("--list --step-time 2s", "--list: leave the other words out"),
        ("upgrade", "upgrade compares two servers: name the second with --against-url"),
        ("insert-sweep --against-option thread_handling=pool-of-threads", "insert-sweep measures one server"),
        ("insert-sweep --url mysql://a:b@h/ --against-url mysql://u:secret@h/", "insert-sweep measures one server"),
        ("pools --resume a.jsonl", f"--resume a.jsonl: {SURVEYED} out"),
        ("pools --step-time 5s", f"--step-time 5s: {SURVEYED} out"),
        ("pools --url mysql://u:secret@h/", f"--url: {SURVEYED} and POOLSIZE_URL out"),
    ],
)
def test_words_that_do_not_fit_are_refused(poolsize_here: Command, words: str, message: str) -> None:
    refused = poolsize_here("scenario", *words.split())
    assert refused.returncode == 2
    assert refused.stderr.startswith("poolsize: error: ")
    assert message in refused.stderr
    assert "secret" not in refused.stderr


def directions(rates: dict[int, int]) -> list[tuple[Direction, bool | None]]:
    verdicts = agreement(INSERT, [analyze(a_run(rates, users=50))]).verdicts
    return [(verdict.direction, verdict.agrees) for verdict in verdicts]


@pytest.mark.costly
def test_a_run_agrees_where_its_throughput_changes_as_published() -> None:
    """Both published curves agree with themselves; a ratio of 1.036 by one step each may be a change, or not."""
    for name in ("druid_insert_mysql57", "druid_insert_mysql9"):
        curve = published_curves()[name].recording.by_size
        rates = {size: round(curve[size].throughput[0]) for size in (1, 8, 50, 100, 500)}
        assert [agrees for _, agrees in directions(rates)][:3] == [True] * 3
        assert directions(rates)[3][1] is not False


def test_a_run_disagrees_where_its_throughput_changes_otherwise() -> None:
    assert directions({1: 1000, 8: 1000, 50: 700, 100: 1000, 500: 700}) == [
        (Direction.SAME, False), (Direction.FALLS, False), (Direction.RISES, False), (Direction.SAME, True),
    ]  # fmt: skip


def test_a_size_that_was_not_measured_is_no_agreement() -> None:
    assert directions({1: 500, 8: 1000})[1:] == [(Direction.UNCLEAR, None)] * 3
    text = agreement_text(agreement(INSERT, [analyze(a_run({1: 500, 8: 1000}, users=50))]))
    assert "There are no valid figures of both here" in " ".join(text.split())


def test_a_size_whose_steps_failed_a_check_is_no_agreement() -> None:
    run = a_run({1: 500, 8: 1000, 50: 1000, 100: 1000, 500: 1000}, users=50)
    failed = CheckResult(Check.ERRORS, False, {"share": 0.5})
    steps = tuple(replace(step, checks=(failed,)) if step.pool_size == 8 else step for step in run.steps)
    verdicts = agreement(INSERT, [analyze(replace(run, steps=steps))]).verdicts
    assert [verdict.measured is None for verdict in verdicts] == [True, True, False, False]


def test_a_noisy_ratio_is_unclear() -> None:
    run = a_run({1: 500, 8: 1000, 50: 1000, 100: 1080, 500: 1000}, users=50, noise=400)
    verdict = agreement(INSERT, [analyze(run)]).verdicts[2]
    assert (verdict.direction, verdict.agrees) == (Direction.UNCLEAR, None)


def test_another_run_is_not_resumed_as_the_scenario(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(EXAMPLES["insert-mariadb"].read_bytes())
    refused = poolsize_here("scenario", "insert-sweep", "--resume", "a.jsonl")
    assert refused.returncode == 2
    assert "--resume a.jsonl is not the first run of this scenario" in refused.stderr


def test_the_second_run_of_a_scenario_is_not_resumed_as_its_first(poolsize_here: Command, tmp_path: Path) -> None:
    known = read_scenario("short-connections")
    for name, options in (("a.jsonl", known.sweep_options()), ("a-other.jsonl", known.sweep_options(**known.other))):
        run = a_run({1: 500, 2: 900})
        setting = replace(run.setting, plan=plan_of(options))
        with RunWriter(tmp_path / name, setting):
            pass
    refused = poolsize_here("scenario", "short-connections", "--resume", "a-other.jsonl")
    assert refused.returncode == 2
    assert "--resume a-other.jsonl is not the first run of this scenario" in refused.stderr
    assert not (tmp_path / "a-other-other.jsonl").exists()


def two_runs(first: dict[int, int], other: dict[int, int]) -> list[Analysis]:
    return [analyze(a_run(rates, users=512)) for rates in (first, other)]


@pytest.mark.costly
def test_two_servers_are_compared_claim_by_claim() -> None:
    scenario = read_scenario("thread-pool")
    runs = two_runs({16: 1000, 64: 1000, 512: 500}, {16: 1000, 64: 1000, 512: 1000})
    result = agreement(scenario, runs)
    assert [(verdict.direction, verdict.agrees) for verdict in result.verdicts] == [
        (Direction.FALLS, True), (Direction.SAME, True), (Direction.RISES, True), (Direction.SAME, True),
    ]  # fmt: skip
    text = " ".join(agreement_text(result).split())
    assert "thread pool to a thread per connection at 512 connections" in text
    assert "Published ratio of throughput, 512 to 64 connections, a thread per connection: 0.934 (MariaDB)" in text


@pytest.mark.long
def test_two_servers_of_other_versions_are_named() -> None:
    runs = [example(f"insert-{server}") for server in ("mariadb", "mysql")]
    result = agreement(read_scenario("upgrade"), runs)
    first, other = (run.run.setting.subject for run in runs)
    assert result.scenario.sides == (first, other)
    assert f"{other} to {first} at 16 connections" in " ".join(agreement_text(result).split())


def of_kinds(total_ms: dict[int, float], noise: float) -> Analysis:
    """A run with three steps a size whose short transactions have this p95, and a kind of long transactions."""
    chance = np.random.default_rng(1)
    run = a_run(dict.fromkeys(total_ms, 1000), users=32)

    def kinds(size: int) -> dict[str, Kind]:
        times = empty_histogram()
        times.record_value(round(1000 * total_ms[size] * exp(noise * chance.standard_normal())), 1000)
        return {name: Kind(1000, Latencies(*[encoded(times)] * 3)) for name in ("Lookup", "Report")}

    steps = [replace(step, repeat=repeat) for repeat in range(3) for step in run.steps]
    steps = [replace(step, order=order, kinds=kinds(step.pool_size)) for order, step in enumerate(steps)]
    return analyze(replace(run, steps=tuple(steps)))


@pytest.mark.costly
def test_the_latencies_of_one_kind_of_transaction_are_compared() -> None:
    """With 8 connections the second pool makes the p95 a tenth; with 4 the noise is larger than the change."""
    scenario = read_scenario("mixed-lengths")
    result = agreement(scenario, [of_kinds({4: 100, 8: 100}, 0.1), of_kinds({4: 100, 8: 10}, 0.1)])
    with_8, with_4 = result.verdicts
    assert (with_8.direction, with_8.agrees) == (Direction.FALLS, True)
    assert with_8.measured is not None
    assert with_8.measured.low < 0.1 < with_8.measured.high
    assert with_4.agrees is not True
    text = " ".join(agreement_text(result).split())
    assert "The direction agrees: p95 of Lookup falls." in text
    assert "Ratio, two pools to one pool at 8 connections." in text


def test_the_latencies_of_all_transactions_are_compared() -> None:
    """At 2 connections a user of 16 waits 15 times shorter if the second sweep's throughput is 15 times as high."""
    scenario = read_scenario("short-connections")
    result = agreement(
        scenario, [analyze(a_run({1: 1500, 2: 3000}, users=16)), analyze(a_run({1: 100, 2: 200}, users=16))]
    )
    (verdict,) = result.verdicts
    assert verdict.agrees
    assert verdict.measured is not None
    assert verdict.measured.low < 1 / 15 < verdict.measured.high
    text = " ".join(agreement_text(result).split())
    assert "The direction agrees: p95 of all transactions falls." in text
    assert "p95 of all transactions, a pool" in text


def test_the_ports_of_connections_without_a_pool_run_out() -> None:
    """1,000 connections a second hold 60,000 ports after a minute; 28,232 last 28 s. Two steps follow each other."""
    run = a_run({2: 500, 8: 1000}, users=32)
    steps = tuple(
        replace(step, started=f"2026-01-01T00:00:{11 * place:02}+00:00", server={
            "machine_time_wait": (float(used),) * 11, "machine_ports": (28232.0,) * 11,
        })
        for place, (step, used) in enumerate(zip(run.steps, (5_500, 16_500), strict=True))
    )  # fmt: skip
    plan = replace(run.setting.plan, pool=PoolKind.NONE)
    remote = replace(run.setting, plan=plan, private=False, given_host="db.example.com:3306")
    few, many = port_uses(replace(run, setting=remote, steps=steps))
    assert few.made == sum(steps[0].throughput)
    assert many.made == sum(steps[0].throughput) + sum(steps[1].throughput)
    assert few.seconds_left is not None
    assert many.seconds_left == pytest.approx(28.2, abs=0.1)
    mostly_closed_by_the_server = replace(many, time_wait=many.made / 10)
    assert mostly_closed_by_the_server.steady == pytest.approx(6_000)
    assert mostly_closed_by_the_server.seconds_left is None
    capped = replace(many, limit=16_384.0)
    assert (capped.steady, capped.seconds_left) == (16_384, None)
    assert port_uses(run) == ()
    assert "28.2 s" in ports_text([many])
    assert "Within a machine" not in ports_text([many])


@pytest.mark.parametrize("given_host", ["localhost:3306", "127.0.0.1:3306", "[::1]:3306", None])
def test_ports_that_the_system_uses_again_within_a_machine_are_counted_as_for_a_network(given_host: str | None) -> None:
    run = a_run({2: 1000}, users=32)
    used_again = {"machine_time_wait": (2000.0,) * 11, "machine_ports": (28232.0,) * 11}
    plan = replace(run.setting.plan, pool=PoolKind.NONE)
    setting = replace(run.setting, plan=plan, private=given_host is None, given_host=given_host)
    (use,) = port_uses(replace(run, setting=setting, steps=(replace(run.steps[0], server=used_again),)))
    assert use.seconds_left == pytest.approx(28.2, abs=0.1)
    assert "Within a machine, as here" in " ".join(ports_text([use]).split())


def test_the_pools_that_stay_within_a_limit_are_the_fleets() -> None:
    """Four pools, 30 connections for all clients, of which 10 are for others: 4 each, because a deploy adds a pool."""
    run = a_run({16: 60, 40: 50}, users=48)
    assert run.setting.server is not None
    server = replace(run.setting.server, max_connections=30, max_user_connections=0)
    plan = replace(run.setting.plan, pool=PoolKind.LAZY)
    kind = Kind(15, Latencies(*[encoded(empty_histogram())] * 3))
    kinds = dict.fromkeys(("Shop", "Search", "Billing", "Mail"), kind)
    steps = tuple(
        replace(step, kinds=kinds, errors={"too_many_connections": (0, *[50] * 10)} if step.pool_size > 30 else {})
        for step in run.steps
    )
    disturbed = CheckResult(Check.QUIET, False, {})
    attempt = replace(steps[1], errors={"too_many_connections": (0, *[5000] * 10)}, checks=(disturbed,))
    measured = replace(run, setting=replace(run.setting, plan=plan, server=server), steps=(steps[0], attempt, steps[1]))
    within, beyond = refusals(measured)
    assert (within.failed, within.errors) == (0, ())
    assert beyond.failed == pytest.approx(0.5, abs=0.01)
    assert (beyond.pools, beyond.fleet_pool) == (4, 4)
    text = " ".join(refused_text([within, beyond]).split())
    assert "gives each of 4 pools 4 connections: 16 together" in text
    assert "too_many_connections" in text
    tight = replace(run.setting.server, max_connections=10)
    (few, _) = refusals(replace(run, setting=replace(run.setting, plan=plan, server=tight), steps=steps))
    assert few.fleet_pool is None
    assert "too few for 4 pools" in refused_text([few])
    assert refusals(run) == ()


def limited_run(limit_ms: float, share: float) -> Run:
    """A run with a wait limit in which that share of the transactions at pool size 1 timed out."""
    run = a_run({1: 50}, users=8)
    late = round(50 * share / (1 - share))
    steps = tuple(replace(step, errors={"pool_timeout": (0, *[late] * 10)}) for step in run.steps)
    plan = replace(run.setting.plan, pool_timeout_seconds=limit_ms / 1000)
    return replace(run, setting=replace(run.setting, plan=plan), steps=steps)


@pytest.mark.long
def test_the_timeouts_of_an_exhausted_pool_follow_from_the_usage_times() -> None:
    """8 users and 1 connection, 20 ms of usage: of the 7 who wait, a limit of 40 ms serves 2; the others time out."""
    network = Network(users=8, cores=2, client_ms=0.5, cpu_ms=20.0, slowdown=0.0)
    unlimited = analyze(simulated_run(network, (1, 2, 3, 4), 60, np.random.default_rng(1), 0.0, 0.0))
    (found,) = exhaustions(unlimited, [limited_run(40.0, 0.8)])
    assert found.measured == pytest.approx(0.8, abs=0.01)
    assert found.predicted == pytest.approx(1 - 40 / 20.5 / 7, abs=0.08)
    assert 4 < found.enough_connections <= 8
    assert found.enough_ms is not None
    assert 7 * 20.5 < found.enough_ms < 1000
    text = exhaustion_text([found])
    assert "80 %" in text
    assert "Caution" not in text
    disturbed = replace(found, failed_checks=(Check.QUIET,))
    assert "these steps failed a check: 40 ms with 1 connection (quiet)." in " ".join(
        exhaustion_text([disturbed]).split()
    )
    assert "The transactions failed with: pool_timeout." in " ".join(text.split())
    assert exhaustions(unlimited, []) == ()


@pytest.mark.costly
def test_wait_limits_are_shares_of_the_wait_time_at_the_smallest_size() -> None:
    """1 connection serves 50/s, 20 ms each: of 8 users 7 wait, 140 ms each."""
    unlimited = analyze(a_run({1: 50, 2: 100, 3: 150, 4: 200}, users=8))
    assert wait_limits_ms(unlimited, (0.25, 0.7, 1e-6)) == (35, 98, 1)
    with pytest.raises(WorkFailed, match="needs 4 valid sizes"):
        wait_limits_ms(analyze(a_run({1: 50, 2: 100}, users=8)), (0.25,))


def test_the_published_number_of_users_is_predicted_from_the_servers_cpu_time() -> None:
    analysis = example("oltp_read_write-mariadb")
    plan = plan_of(read_scenario("think-time").at_full_scale().sweep_options())
    assert (plan.users, plan.sizes) == (9600, (96, 1024, 2048))
    prediction = full_size_prediction(analysis, plan)
    assert prediction is not None
    most = 1000 * prediction.cores / prediction.cpu_ms
    for each in prediction.predicted:
        assert each.throughput <= most * (1 + 1e-9)
        in_users = each.throughput * (each.wait_ms + each.usage_ms + analysis.run.think_time_ms) / 1000
        assert in_users == pytest.approx(9600, rel=1e-6), "the interactive response time law"
    assert prediction.predicted[-1].throughput == pytest.approx(most, rel=0.01)
    lines = [" ".join(line.split()) for line in full_size_text(prediction).splitlines()]
    assert sum(line.startswith("9,600 ") for line in lines) == 3
    assert f"allow at most {per_second(most)}" in " ".join(lines)


def test_an_interrupted_scenario_names_its_own_command() -> None:
    with pytest.raises(WorkFailed) as failed, _resumed_by("poolsize scenario upgrade --full", Path("a.jsonl")):
        raise WorkFailed("interrupted; kept: poolsize sweep --resume a-other.jsonl")
    assert str(failed.value) == "interrupted; kept: poolsize scenario upgrade --full --resume a.jsonl"
