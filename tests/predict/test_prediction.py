"""Users in front of a pool against closed forms, and what a run's network predicts against what was measured."""

import csv
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from poolsize.analysis.analysis import analyze
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.errors import BadInput, WorkFailed
from poolsize.predict.predicted_size import predictor
from poolsize.predict.prediction import WhatIf, predict
from poolsize.predict.text import prediction_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.store import load_run
from poolsize.traffic.finite_source import finite_source
from tests.conftest import EXAMPLES, ROOT, a_run, example

SCAN = analyze(load_run(ROOT / "data/examples/scan-mariadb.jsonl"))


def erlang_c(servers: int, offered: float) -> float:
    """The chance to wait with endless users (Erlang, 1917)."""
    logarithms = np.arange(servers + 1) * np.log(offered) - gammaln(np.arange(servers + 1) + 1)
    last = np.exp(logarithms[-1]) * servers / (servers - offered)
    return float(last / (np.exp(logarithms[:-1]).sum() + last))


def test_many_users_who_seldom_call_are_an_open_queue() -> None:
    """M/M/c: waits are Erlang C's chance times an exponential time of the rate that is left."""
    servers, service_ms, users = 8, 10.0, 1_000_000
    for load in (0.5, 0.8, 0.9):
        offered = servers * load
        result = finite_source(np.arange(1, servers + 1) / service_ms, users, users * service_ms / offered)
        waiting, left = erlang_c(servers, offered), servers / service_ms - offered / service_ms
        assert result.throughput == pytest.approx(offered / service_ms, rel=1e-3)
        assert result.wait_ms == pytest.approx(waiting / left, rel=0.02)
        p95_ms = max(0.0, np.log(waiting / 0.05) / left)
        assert result.wait_quantile_ms(0.95) == pytest.approx(p95_ms, rel=0.05, abs=0.15)


def test_the_machine_repairman_waits_as_its_closed_form_says() -> None:
    result = finite_source(np.array([1 / 5.0]), 3, 10.0)
    weights = np.array([1, 3 * 0.5, 6 * 0.5**2, 6 * 0.5**3])  # N! / (N - n)! (D / Z)**n
    throughput = (1 - weights[0] / weights.sum()) / 5
    assert result.throughput == pytest.approx(throughput)
    assert result.wait_ms == pytest.approx(3 / throughput - 10 - 5, rel=0.01)


@pytest.mark.costly
def test_a_run_is_predicted_whatever_its_file_says_of_workers_and_cores() -> None:
    """A file may hold steps that poolsize does not write: a worker without users, a server on a third of a core."""
    run = load_run(EXAMPLES["insert-mariadb"])
    steps = [
        replace(step, workers=tuple(replace(worker, users=0) for worker in step.workers)) if step.order == 5
        else replace(step, server=dict(step.server) | {"process_cores": (0.3,) * len(step.throughput)})
        for step in run.steps
    ]  # fmt: skip
    predicted = predict(analyze(replace(run, steps=tuple(steps))), WhatIf(cores=8))
    assert all(size.throughput > 0 for size in predicted.sizes)


@pytest.mark.costly
@given(st.integers(1, 60), st.integers(1, 5000), st.floats(0.1, 1000), st.integers(1, 16), st.floats(0, 0.05))
def test_little_and_the_interactive_law_hold(
    pool: int, users: int, think_ms: float, servers: int, slowdown: float
) -> None:
    rates = throughputs([Station(3.0, servers, slowdown)], 1.0, pool)
    result = finite_source(rates, users, think_ms)
    assert result.throughput <= users / (think_ms + result.usage_ms) * (1 + 1e-9)
    assert result.connections_in_use <= min(pool, users) + 1e-9
    response_ms = users / result.throughput - think_ms
    assert result.wait_ms + result.usage_ms == pytest.approx(response_ms, rel=0.02, abs=0.02 * result.usage_ms)


def test_users_that_never_think_are_all_there() -> None:
    result = finite_source(np.array([0.1, 0.2]), 10, 0.0)
    assert result.throughput == pytest.approx(0.2)
    assert result.connections_in_use == 2
    assert result.wait_ms == pytest.approx(8 / 0.2, rel=0.01)


@dataclass(frozen=True)
class Shown:
    """What Oracle's demonstration showed for one pool size."""

    pool_size: int
    wait_ms: int
    execution_ms: int
    users: int
    think_ms: int

    @property
    def throughput(self) -> float:
        """Transactions per millisecond (interactive law)."""
        return self.users / (self.wait_ms + self.execution_ms + self.think_ms)

    @property
    def inside(self) -> float:
        """Users who have or want a connection at a time (Little's law)."""
        return self.throughput * (self.wait_ms + self.execution_ms)


def shown() -> list[Shown]:
    with (ROOT / "data/published/oracle_demonstration.csv").open() as file:
        return [Shown(*(int(row[field.name]) for field in fields(Shown))) for row in csv.DictReader(file)]


def test_oracle_s_demonstration_is_what_a_server_makes_of_it_that_slows_down() -> None:
    """One network for both sizes: 16 servers of 0.9 ms, and each connection too many makes it 0.015 % slower.

    With 9,600 users who pause for 550 ms it is at the edge of its capacity, so that a little slowdown decides whether
    some fifty users are inside or two thousand.
    """
    figures = shown()
    rates = throughputs([Station(0.9, 16, 1.5e-4)], 0.0, max(figure.pool_size for figure in figures))
    solved = [finite_source(rates[: figure.pool_size], figure.users, figure.think_ms) for figure in figures]
    for figure, network in zip(figures, solved, strict=True):
        assert network.throughput == pytest.approx(figure.throughput, rel=0.1)
        assert 0.5 <= network.usage_ms / figure.execution_ms <= 2
    large, small = solved
    assert small.throughput > 1.1 * large.throughput
    assert large.connections_in_use > 20 * small.connections_in_use


def test_the_demonstration_s_users_did_not_wait_for_a_connection() -> None:
    """Its times put fewer users at the database at once than there are connections."""
    large, small = shown()
    assert large.inside == pytest.approx(1600)
    assert large.inside < large.pool_size
    assert small.inside < small.pool_size


def test_what_was_measured_is_predicted() -> None:
    prediction = predict(SCAN, WhatIf())
    for size in prediction.sizes:
        if size.measured is not None:
            measured = SCAN.at(size.pool_size)
            assert size.throughput == pytest.approx(size.measured, rel=0.05)
            assert size.usage.mean == pytest.approx(measured.usage.mean, rel=0.1)
            assert size.total.p95 == pytest.approx(measured.total.p95, rel=0.15)
    assert [size.pool_size for size in prediction.sizes] == [1, 2, 4, 8, 16, 32]
    assert any("Above 16" in note for note in map(sentence, prediction.findings))


@pytest.mark.costly
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_waits_of_every_example_run_are_predicted(name: str) -> None:
    """Half of the users, one in twenty and one in a hundred; without the measured pauses, p99 was too low by 73 %."""
    analysis = example(name)
    for size in predict(analysis, WhatIf()).sizes:
        if size.measured is not None:
            wait = analysis.at(size.pool_size).wait
            assert size.wait.p95 == pytest.approx(wait.p95, rel=0.25)
            assert size.wait.p99 == pytest.approx(wait.p99, rel=0.25)


@pytest.mark.costly
def test_the_errors_are_those_of_times_that_are_predicted_from_the_other_sizes() -> None:
    prediction = predict(SCAN, WhatIf())
    largest = SCAN.valid_sizes[-1].pool_size
    model = predictor(SCAN, prediction.network, SCAN.setting.plan.users, 0.0, largest)
    measured = [model.without(size.pool_size).at(size.pool_size) for size in SCAN.valid_sizes]
    for latency, quantile in (("wait", "p99"), ("usage", "p95"), ("total", "p50")):
        errors = [
            getattr(getattr(size, latency), quantile) / getattr(getattr(SCAN.at(size.pool_size), latency), quantile) - 1
            for size in measured
        ]
        expected = np.sqrt(np.mean(np.square(errors)))
        assert prediction.latency_errors[latency][quantile] == pytest.approx(expected)
    other_users = predict(SCAN, WhatIf(users=500))
    assert other_users.latency_errors == prediction.latency_errors
    assert " wait  1 %   3 %   4 %" in prediction_text(other_users)


@pytest.mark.costly
def test_a_million_users_time_out_in_place_of_waiting_for_an_hour() -> None:
    prediction = predict(SCAN, WhatIf(users=1_000_000))
    timeout_ms = 1000 * SCAN.setting.plan.pool_timeout_seconds
    for size in prediction.sizes:
        assert size.wait.max <= timeout_ms
        users = (size.timeouts + size.throughput) * timeout_ms / 1000 + size.at_work
        assert users == pytest.approx(1_000_000, rel=0.01)
    assert any("100 % of the requests" in note for note in map(sentence, prediction.findings))
    assert not predict(SCAN, WhatIf()).sizes[0].timeouts
    assert "timeouts" in prediction_text(prediction)
    assert "timeouts" not in prediction_text(predict(SCAN, WhatIf()))


@pytest.mark.costly
def test_users_of_an_application_wait_as_long_as_its_pool_lets_them() -> None:
    """A run does not know the wait limit of an application's pool: 0 made every request time out."""
    application = MeasuredApplication("shop.toml", "0" * 64, "http://shop", started=True)
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400, 16: 401})
    prediction = predict(analyze(replace(run, setting=replace(run.setting, application=application))), WhatIf(), [4])
    (size,) = prediction.sizes
    assert size.timeouts == 0
    assert size.throughput == pytest.approx(390, rel=0.05)
    assert "timeouts" not in prediction_text(prediction)


@pytest.mark.costly
def test_more_cores_do_more_and_more_users_wait_longer() -> None:
    as_it_was, cores = (predict(SCAN, WhatIf(cores=cores), [16]).sizes[0] for cores in (None, 8))
    assert cores.throughput == pytest.approx(4 * as_it_was.throughput, rel=0.1)
    few, many = (predict(SCAN, WhatIf(users=users), [2]).sizes[0] for users in (4, 400))
    assert many.wait.p95 > 20 * few.wait.p95
    assert many.throughput == pytest.approx(few.throughput, rel=0.02)


@pytest.mark.costly
def test_more_cores_are_no_promise_where_something_else_held_the_run() -> None:
    insert = analyze(load_run(ROOT / "data/examples/insert-mariadb.jsonl"))
    assert insert.bottleneck is not None
    assert insert.bottleneck.name not in {"server CPU", "shared CPU"}
    assert any("may not help" in note for note in map(sentence, predict(insert, WhatIf(cores=8), [16]).findings))
    assert not any("may not help" in note for note in map(sentence, predict(SCAN, WhatIf(cores=8), [16]).findings))


@pytest.mark.costly
def test_what_is_not_cpu_stays_as_it_is_with_other_cores() -> None:
    insert = example("insert-mysql")
    as_it_was, more = (predict(insert, WhatIf(cores=cores)) for cores in (None, 8))
    demands = insert.valid_sizes[-1].demands
    assert demands is not None
    assert as_it_was.network.cpu.servers == demands.server_cores == 2
    assert more.network.cpu.servers == 8
    assert more.network.cpu.demand_ms == demands.server_ms
    assert more.network.queue == as_it_was.network.queue
    assert any("needs 0.166 ms of CPU time on the server" in note for note in map(sentence, more.findings))


@pytest.mark.costly
def test_cores_are_refused_where_the_cpu_time_is_not_known() -> None:
    steps = tuple(replace(step, server={}) for step in SCAN.run.steps)
    with pytest.raises(BadInput, match="`cores` 8: the run does not know how much CPU time"):
        predict(analyze(replace(SCAN.run, steps=steps)), WhatIf(cores=8))


@pytest.mark.costly
def test_distance_is_paid_by_every_statement() -> None:
    assert SCAN.statements is not None
    near, far = (predict(SCAN, WhatIf(round_trip_ms=trip), [1]).sizes[0] for trip in (None, 50.0))
    assert far.usage.mean == pytest.approx(near.usage.mean + 50 * SCAN.statements, rel=0.02)


@pytest.mark.costly
def test_instances_share_users_and_pool_and_lose_a_little() -> None:
    """Ten small pools are never better than a single pool of the same size."""
    at_one, at_ten = (
        predict(SCAN, WhatIf(users=200, think_time_ms=1000.0, instances=number, cores=16), [20]).sizes[0]
        for number in (1, 10)
    )
    assert at_ten.wait.mean > at_one.wait.mean
    assert at_ten.throughput == pytest.approx(at_one.throughput, rel=0.1)


@pytest.mark.parametrize(("option", "value"), [("users", 1_000_001), ("users", 0), ("cores", 0), ("instances", 0)])
def test_what_can_not_be_is_refused(option: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"`{option}` {value}: "):
        WhatIf(**{option: value})


def test_what_a_run_does_not_know_is_refused() -> None:
    with pytest.raises(BadInput, match="`sizes` 10: 3 instances can't share it"):
        predict(SCAN, WhatIf(instances=3), [10])
    with pytest.raises(BadInput, match="`users` 2: fewer than the 3 instances"):
        predict(SCAN, WhatIf(instances=3, users=2), [9])
    with pytest.raises(BadInput, match="10,000 connections at most"):
        predict(SCAN, WhatIf(), [100_000])
    with pytest.raises(WorkFailed, match="4 valid sizes"):
        predict(analyze(a_run({1: 100, 2: 200})), WhatIf())
    with pytest.raises(BadInput, match="`round_trip_ms` 5ms"):
        predict(analyze(a_run({1: 100, 2: 200, 4: 390, 8: 400, 16: 401})), WhatIf(round_trip_ms=5.0))


@pytest.mark.costly
def test_sizes_beyond_the_measured_ones_are_sizes_that_can_be_predicted() -> None:
    """10,000 connections at most, also where users would fill more, and where instances round a size up."""
    analysis = analyze(a_run({1: 100, 2: 200, 8: 390, 2500: 400}, users=30_000))
    assert [size.pool_size for size in predict(analysis, WhatIf()).sizes] == [1, 2, 8, 2500, 5000, 10_000]
    shared = predict(analysis, WhatIf(instances=9))
    assert [size.pool_size for size in shared.sizes] == [9, 2502, 5004]
    with pytest.raises(BadInput, match="10,000 connections at most"):
        predict(analysis, WhatIf(instances=20_000))


@pytest.mark.costly
def test_the_shape_of_usage_times_is_the_measured_one() -> None:
    steady = predict(SCAN, WhatIf(), [2]).sizes[0].usage
    assert steady.p95 / steady.mean == pytest.approx(SCAN.at(2).usage.p95 / SCAN.at(2).usage.mean, rel=0.02)
    recorded = replace(SCAN.run, steps=tuple(replace(step, latencies=None) for step in SCAN.run.steps))
    unknown = predict(analyze(recorded), WhatIf(), [2])
    assert unknown.sizes[0].usage.p95 / unknown.sizes[0].usage.mean == pytest.approx(np.log(20), rel=0.02)
    assert any("exponentially" in note for note in map(sentence, unknown.findings))
    replayed = replace(recorded, setting=replace(recorded.setting, recording="a.csv"))
    assert predict(analyze(replayed), WhatIf(), [2]).users == SCAN.setting.plan.users
    without_users = replace(replayed, steps=tuple(replace(step, users=0) for step in replayed.steps))
    with pytest.raises(BadInput, match="give `users`"):
        predict(analyze(without_users), WhatIf())
