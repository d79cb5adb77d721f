"""The pool size of an application: a simulated network with the application in it is the truth."""

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from poolsize import load_run, recommend
from poolsize.analysis.analysis import Analysis, analyze
from poolsize.analysis.application_size import (
    ADDED_MS,
    ApplicationSize,
    application_sizes,
    size_for_usage_time,
    with_locks_held,
)
from poolsize.analysis.models.closed_network import NOT_MEASURED, FittedNetwork, MeasuredStations, Station, throughputs
from poolsize.analysis.models.network_fit import fit_network
from poolsize.analysis.service_demand import ServiceDemands, saturated_server_ms
from poolsize.answer.application import ClientTimes, LocksHeld, usage_of_run
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.errors import BadInput
from poolsize.present.report import report_markdown
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import recommendation_text, recommendation_values
from poolsize.present.text.sentences.findings import warning_sentences
from tests.conftest import EXAMPLES, Command, a_run, example, in_ci
from tests.network_simulation import simulated_throughput

SIZES = (1, 2, 4, 8, 16, 32, 64)
TOLERANCE = 0.05
SIMULATED = 8_000
"""Transactions of a simulated step: its throughput has an error of 1 to 2 %."""
NETWORKS = {
    "server's CPU": (Station(0.2), Station(1.0, 2), NOT_MEASURED, 0.5),
    "generator": (Station(1.0), Station(0.8, 2), NOT_MEASURED, 0.6),
    "both": (Station(0.6), Station(1.2, 2), NOT_MEASURED, 0.3),
    "a lock": (Station(0.1), Station(0.2, 4), Station(0.3), 1.0),
    "four at a time": (Station(0.1), Station(0.2, 4), Station(1.0, 4), 0.5),
    "CPU and a lock": (Station(0.1), Station(0.3, 2), Station(0.2), 0.1),
}
"""Bottleneck -> load generator, server's CPU, a further queue, and a delay in ms."""


@cache
def fitted(name: str) -> FittedNetwork:
    """The network fitted to simulated steps, which knows the service demands of both CPUs."""
    client, cpu, queue, delay_ms = NETWORKS[name]
    random = np.random.default_rng(1)
    stations = [station for station in (client, cpu, queue) if station.demand_ms]
    rates = [simulated_throughput(stations, delay_ms, size, random, SIMULATED) for size in SIZES]
    saturated = max(rates) > 0.85 * 1000 * cpu.servers / cpu.demand_ms
    network = fit_network(SIZES, rates, [0.01 * rate for rate in rates], MeasuredStations(client, cpu, saturated))
    assert network is not None
    return network


@pytest.mark.costly
@pytest.mark.parametrize("name", NETWORKS)
def test_the_simulation_agrees_with_the_formula(name: str) -> None:
    *stations, delay_ms = NETWORKS[name]
    used = [station for station in stations if station.demand_ms]
    for size in (1, 8, 64):
        rate = simulated_throughput(used, delay_ms, size, np.random.default_rng(2), SIMULATED)
        assert rate == pytest.approx(1000 * throughputs(used, delay_ms, size)[-1], rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("added_ms", in_ci([0.0, 2.0, 20.0], 2.0))
@pytest.mark.parametrize("name", NETWORKS)
def test_the_size_is_the_plateau_of_the_simulated_application(name: str, added_ms: float) -> None:
    """Within a fifth, and a connection: it reaches 93 % of capacity, and a pool smaller by that much misses 95 %."""
    _, cpu, queue, delay_ms = NETWORKS[name]
    database = [station for station in (cpu, queue) if station.demand_ms]
    usage_time_ms = sum(station.demand_ms for station in database) + delay_ms + added_ms
    size = size_for_usage_time(fitted(name), usage_time_ms, TOLERANCE)
    assert size is not None
    assert size.is_certain

    def simulated(connections: int) -> float:
        random = np.random.default_rng(3)
        return simulated_throughput(database, delay_ms + added_ms, connections, random, SIMULATED)

    capacity = simulated(3 * size.pool_size)
    assert simulated(size.pool_size) > 0.93 * capacity
    smaller = int(0.8 * size.pool_size) - 1
    assert not smaller or simulated(smaller) < 0.95 * capacity
    exact = throughputs(database, delay_ms + added_ms, 6 * size.pool_size)
    truth = 1 + int(np.argmax(exact >= 0.95 * exact.max()))
    assert size.range[0] - 1 <= truth <= size.range[1] + 1


@pytest.mark.long
@pytest.mark.parametrize(("cpu_time_ms", "cores"), in_ci([(0.5, 1), (1.0, 2), (4.0, 4)], (1.0, 2)))
@pytest.mark.parametrize("name", NETWORKS)
def test_the_size_counts_the_queue_for_the_application_s_own_cpu(name: str, cpu_time_ms: float, cores: int) -> None:
    """An application of 5 ms of its own, a part of which is CPU time: the exact network is the truth."""
    _, cpu, queue, delay_ms = NETWORKS[name]
    added_ms = 5.0
    stations = [station for station in (cpu, queue) if station.demand_ms]
    usage_time_ms = sum(station.demand_ms for station in stations) + delay_ms + added_ms
    size = size_for_usage_time(fitted(name), usage_time_ms, TOLERANCE, cpu_time_ms, cores)
    assert size is not None
    stations.append(Station(cpu_time_ms, cores))
    exact = throughputs(stations, delay_ms + added_ms - cpu_time_ms, 6 * size.pool_size)
    assert exact[size.pool_size - 1] > 0.93 * exact.max()
    truth = 1 + int(np.argmax(exact >= 0.95 * exact.max()))
    assert size.range[0] - 1 <= truth <= size.range[1] + 1


@pytest.mark.costly
@pytest.mark.parametrize("name", NETWORKS)
def test_cpu_time_counts_where_it_exceeds_the_added_time(name: str) -> None:
    """An application adds 0.1 ms, and most of what was the load generator's delay is the application's CPU time."""
    _, cpu, queue, delay_ms = NETWORKS[name]
    network, own = fitted(name), Station(0.1 + 0.8 * delay_ms, 1)
    stations = [station for station in (cpu, queue) if station.demand_ms]
    usage_time_ms = sum(station.demand_ms for station in stations) + delay_ms + 0.1
    exact = throughputs([*stations, own], 0.2 * delay_ms, 64)
    predicted = network.with_application(max(0.0, usage_time_ms - network.database_ms), own).throughput(range(1, 65))
    assert predicted[3:] == pytest.approx(1000 * exact[3:], rel=0.1)  # below, a fit may take a delay for a queue


@pytest.mark.costly
@pytest.mark.parametrize("name", NETWORKS)
def test_the_size_is_enough_if_losses_are_twice_the_predicted_losses(name: str) -> None:
    network = fitted(name)
    size = size_for_usage_time(network, network.database_ms + 2.0, TOLERANCE)
    assert size is not None
    assert 2 * (1 - size.throughput / size.capacity) <= TOLERANCE


def test_an_application_that_holds_a_lock_for_its_own_time_is_served_one_at_a_time() -> None:
    """Exactly, a lock of 0.3 ms that is held for 5 ms more allows 1 / 5.3 ms; without that, 1 / 0.3 ms."""
    network = fitted("a lock")
    size = size_for_usage_time(network, network.database_ms + 5.0, TOLERANCE)
    assert size is not None
    locked = with_locks_held(network, size, TOLERANCE)
    assert locked is not None
    locked_size, capacity = locked
    assert capacity == pytest.approx(1000 / 5.3, rel=0.02)
    assert size.capacity == pytest.approx(1000 / 0.3, rel=0.05)
    assert locked_size <= 3 < size.pool_size
    assert with_locks_held(fitted("server's CPU"), size, TOLERANCE) is None


@pytest.mark.costly
def test_where_transactions_wait_for_row_locks_the_answer_has_both_ends() -> None:
    """The time that an application holds a lock is not known; the run is one of a further queue at 400/s."""
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400, 16: 401}, users=256)
    counters = {"process_cpu": 0.2, "machine_cpu": 0.5, "machine_cores": 8.0, "Innodb_row_lock_waits": 90.0}
    counters["Innodb_row_lock_time"] = 12_000.0
    steps = tuple(
        replace(step, server={name: (value,) * len(step.throughput) for name, value in counters.items()})
        for step in run.steps
    )
    analysis = analyze(replace(run, steps=steps))
    assert analysis.bottleneck is not None
    assert analysis.bottleneck.name == "row locks"
    answer = recommend(analysis, client_times=ClientTimes(30.0))
    (held,) = [finding for finding in answer.findings if isinstance(finding, LocksHeld)]
    assert held.pool_size == answer.pool_size
    assert held.locked_size is not None
    assert held.locked_capacity is not None
    assert held.locked_capacity < held.capacity
    text = " ".join(recommendation_text(answer).split())
    assert "Transactions wait for each other's row locks. The answer holds if" in text
    assert not [finding for finding in recommend(analysis).findings if isinstance(finding, LocksHeld)]


@pytest.mark.costly
def test_an_answer_without_the_applications_cpu_time_says_how_much_it_may_be() -> None:
    run = example("scan-mariadb")
    text = " ".join(recommendation_text(recommend(run, client_times=ClientTimes(30.0))).split())
    assert "holds if the application's own CPU can do 82.4/s: on 1 core, that is at most 12.1 ms of CPU time" in text
    with_cpu = recommendation_text(recommend(run, client_times=ClientTimes(30.0, 2.0)))
    assert "application's own CPU can do" not in " ".join(with_cpu.split())


@pytest.mark.costly
def test_an_application_without_cpu_time_is_one_whose_cores_are_never_busy() -> None:
    network = fitted("both")
    as_delay = size_for_usage_time(network, 6.0, TOLERANCE)
    on_many_cores = size_for_usage_time(network, 6.0, TOLERANCE, 2.0, 1000)
    assert as_delay is not None
    assert on_many_cores is not None
    assert (on_many_cores.pool_size, on_many_cores.range) == (as_delay.pool_size, as_delay.range)
    assert on_many_cores.capacity == pytest.approx(as_delay.capacity, rel=1e-6)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--app-cpu-time", "1ms"], "--app-cpu-time and --app-cores also need --usage-time"),
        (["--usage-time", "30ms", "--app-cores", "2"], "--app-cores 2: also give the CPU time"),
        (["--usage-time", "30ms", "--app-cpu-time", "31ms"], "--app-cpu-time 31ms: it is a part of the usage time"),
        (["--usage-time", "30ms", "--app-cpu-time", "1ms", "--app-cores", "0"], "--app-cores 0: an application may"),
    ],
)
def test_a_wrong_cpu_time_is_refused(poolsize_here: Command, words: list[str], line: str) -> None:
    done = poolsize_here("recommend", "--run", str(EXAMPLES["scan-mariadb"]), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_that_are_not_determined_are_left_out(name: str) -> None:
    """A saturated load generator hides a database whose CPU time is not known."""
    client, cpu, _, delay_ms = NETWORKS[name]
    if name != "generator":
        assert len(application_sizes(fitted(name), TOLERANCE)) == len(ADDED_MS)
        return
    rates = 1000 * throughputs([client, cpu], delay_ms, SIZES[-1])[np.array(SIZES) - 1]
    network = fit_network(SIZES, rates.tolist(), (0.01 * rates).tolist(), MeasuredStations(client))
    assert network is not None
    assert application_sizes(network, TOLERANCE) == ()


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(EXAMPLES, "oltp_read_write-mariadb", "scan-mysql"))
def test_a_longer_usage_time_never_needs_fewer_connections(name: str) -> None:
    sizes = example(name).models.application_sizes
    assert [size.added_ms for size in sizes] == list(ADDED_MS)
    for shorter, longer in pairwise(sizes):
        assert shorter.pool_size <= longer.pool_size
        assert shorter.range[0] <= longer.range[0]
        assert shorter.range[1] <= longer.range[1]
    for size in sizes:
        assert size.range[0] <= size.pool_size <= size.range[1]


def without_size_1(analysis: Analysis) -> Analysis:
    run = analysis.run
    sizes = tuple(size for size in run.plan.sizes if size > 1)
    steps = tuple(step for step in run.steps if step.pool_size > 1)
    return analyze(replace(run, setting=replace(run.setting, plan=replace(run.plan, sizes=sizes)), steps=steps))


@pytest.mark.long
@pytest.mark.parametrize("name", in_ci(["insert-mariadb", "insert-mysql"], "insert-mysql"))
def test_the_sizes_do_not_hang_on_pool_size_1(name: str) -> None:
    """At most by half more or a third fewer, which is less than the ranges; and the ranges overlap."""
    complete, shorter = example(name), without_size_1(example(name))
    rows = zip(complete.models.application_sizes, shorter.models.application_sizes, strict=True)
    for with_it, without_it in rows:
        assert 1 / 1.5 <= without_it.pool_size / with_it.pool_size <= 1.5
        assert with_it.range[0] <= without_it.range[1]
        assert without_it.range[0] <= with_it.range[1]
    assert recommend(shorter).database_size == shorter.models.application_sizes[0].pool_size


def test_the_largest_size_that_is_looked_for_is_no_answer() -> None:
    """Where some networks need more connections, the upper end of the range is not known."""
    size = ApplicationSize(30.0, 20.0, 1_269, (417, 1_990), 1_000.0, 1_050.0)
    assert size.is_certain
    assert not replace(size, range=(417, 2_000)).is_certain


@pytest.mark.costly
def test_the_answer_for_a_usage_time() -> None:
    analysis = example("insert-mysql")
    answer = recommend(analysis, client_times=ClientTimes(3.1), current=10)
    assert answer.application is not None
    assert answer.pool_size == answer.application.pool_size
    assert answer.range == answer.application.range
    table = {size.added_ms: size.pool_size for size in answer.application_sizes}
    assert table[2.0] <= answer.pool_size <= table[5.0]
    text = recommendation_text(answer)
    headline = f"Use {answer.pool_size} connections for a usage time of 3.1 ms, counted over all processes (95 % range "
    assert text.startswith(headline)
    assert "Your current pool size, 10, loses" in text
    losses = {price.pool_size: price.throughput_loss for price in answer.prices}
    assert losses[answer.pool_size] <= 2 * TOLERANCE
    assert losses[10] > 0.3
    with pytest.raises(BadInput, match="2,000"):
        recommend(analysis, client_times=ClientTimes(3.1), current=5000)


@pytest.mark.costly
def test_the_load_generators_own_usage_time_gives_about_its_own_part() -> None:
    """The usage time at 1 connection is the database's part and the load generator's CPU time."""
    for name in ("insert-mariadb", "oltp_read_write-mariadb"):
        analysis = example(name)
        network = analysis.models.network
        assert network is not None
        lone_ms = 1000 / analysis.at(1).throughput.mean
        assert network.database_ms + network.client.demand_ms == pytest.approx(lone_ms, rel=0.1)


@pytest.mark.costly
def test_a_usage_time_a_little_below_the_databases_own_adds_nothing() -> None:
    """The machine may have been faster when the application measured it."""
    analysis = example("insert-mysql")
    answer = recommend(analysis, client_times=ClientTimes(0.45))
    assert answer.pool_size == analysis.models.application_sizes[0].pool_size
    warnings = " ".join(warning_sentences(answer.findings))
    assert "The usage time of 0.45 ms is shorter than the " in warnings


def test_a_usage_time_of_another_transaction_is_refused() -> None:
    with pytest.raises(BadInput, match=r"`usage_time_ms` 0\.3ms: .* 0\.756ms in the database alone"):
        recommend(example("insert-mysql"), client_times=ClientTimes(0.3))


@pytest.mark.costly
def test_a_latency_limit_is_no_part_of_an_applications_answer() -> None:
    with pytest.raises(BadInput, match="latency limit"):
        recommend(example("insert-mysql"), LatencyLimits(max_p95_ms=20), client_times=ClientTimes(3))
    limited = example("scan-mariadb").run
    plan = replace(limited.plan, max_p95_ms=300.0)
    limited = replace(limited, setting=replace(limited.setting, plan=plan))
    assert "limit" not in recommendation_text(recommend(limited, client_times=ClientTimes(30)))


@pytest.mark.costly
def test_what_only_the_model_knows_is_said() -> None:
    warnings = warning_sentences(recommend(example("oltp_read_write-mariadb"), client_times=ClientTimes(5)).findings)
    assert "follows from the fitted network alone" in " ".join(warnings)
    measured = warning_sentences(recommend(example("scan-mariadb"), client_times=ClientTimes(30)).findings)
    assert "fitted network alone" not in " ".join(measured)


@pytest.mark.costly
def test_a_replay_has_no_sizes_and_fits_no_network(poolsize_here: Command, tmp_path: Path) -> None:
    assert poolsize_here("sweep", "--replay", "specsdm91", "--output", "replay.jsonl").returncode == 0
    analysis = analyze(load_run(tmp_path / "replay.jsonl"))
    answer = recommend(analysis)
    assert answer.application_sizes == ()
    assert answer.database_size is None
    assert "network" not in vars(analysis.models)
    assert "The table of pool sizes for applications is missing: a replay does not know" in " ".join(
        recommendation_text(answer).split()
    )
    with pytest.raises(BadInput, match="a replay does not know"):
        recommend(analysis, client_times=ClientTimes(3))


@pytest.mark.costly
def test_runs_without_a_network_say_why() -> None:
    few = analyze(a_run({1: 100, 2: 200, 4: 201}))
    with pytest.raises(BadInput, match="4 valid pool sizes"):
        recommend(few, client_times=ClientTimes(30))
    no_lone_connection = analyze(a_run({2: 100, 4: 200, 8: 390, 16: 400}))
    with pytest.raises(BadInput, match="only if pool size 1 was measured"):
        recommend(no_lone_connection, client_times=ClientTimes(30))
    with pytest.raises(BadInput, match="4 valid pool sizes"):
        usage_of_run(analyze(a_run({1: 100, 2: 200}, users=1)))


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_more_connections_for_less_time_are_explained(name: str) -> None:
    """An application that adds nothing needs no more connections than the load generator, which takes CPU time."""
    answer = recommend(example(name))
    text = " ".join(recommendation_text(answer).split())
    (lone,) = [size for size in answer.application_sizes if not size.added_ms]
    cautious = f"with the answer's probability. The table of sizes for applications has {lone.pool_size}, because"
    assert (cautious in text) == (lone.pool_size > (answer.pool_size or 0))


@pytest.mark.costly
def test_a_network_that_contradicts_the_answer_gives_no_table() -> None:
    """An application that adds nothing would certainly need more connections than the load generator."""
    models = example("oltp_read_write-mariadb").models
    assert models.plateau is not None
    assert models.application_sizes
    smaller = replace(models, plateau=replace(models.plateau, pool_size=models.application_sizes[0].range[0] - 1))
    assert smaller.application_sizes == ()


@pytest.mark.long
def test_the_table_is_in_text_report_and_json() -> None:
    analysis = example("oltp_read_write-mysql")
    answer = recommend(analysis)
    assert "Pool size for an application" in recommendation_text(answer)
    assert "| 20 ms |" in report_markdown(analysis, answer)
    values = json.loads(json_text(recommendation_values(answer)))
    assert values["application"] is None
    assert values["application_sizes"][0].keys() == {
        "usage_time_ms", "added_ms", "pool_size", "range", "throughput", "capacity", "cpu_time_ms", "cores",
    }  # fmt: skip
    assert values["database_size"] == values["application_sizes"][0]["pool_size"]
    asked = json.loads(json_text(recommendation_values(recommend(analysis, client_times=ClientTimes(10)))))
    assert asked["application"]["usage_time_ms"] == 10


@pytest.mark.long
def test_the_command_line_takes_a_usage_time(poolsize_here: Command) -> None:
    done = poolsize_here("recommend", "--run", str(EXAMPLES["scan-mariadb"]), "--usage-time", "30ms")
    assert "for a usage time of 30 ms" in done.stdout
    busy = poolsize_here(
        "recommend", "--run", str(EXAMPLES["scan-mariadb"]), "--usage-time", "30ms", "--app-cpu-time", "5ms", "--why"
    )
    assert "and 5 ms is its CPU time on 1 core" in " ".join(busy.stdout.split())
    refused = poolsize_here("recommend", "--cores", "8", "--usage-time", "30ms")
    assert refused.returncode == 2
    assert "--usage-time" in refused.stderr
    too_short = poolsize_here("recommend", "--run", str(EXAMPLES["scan-mariadb"]), "--usage-time", "3ms")
    assert too_short.returncode == 2
    assert "--usage-time 3ms: " in too_short.stderr


def test_a_server_that_was_never_saturated_needs_less_cpu_time_once_it_is() -> None:
    """The server uses 0.25 cores at any throughput, and 0.5 ms for each transaction."""

    def demands(rate: float, idle: float) -> ServiceDemands:
        return ServiceDemands(1.0, 1, 1000 * (idle + 0.0005 * rate) / rate, 1, inferred=False, saturated=False)

    rates = (300.0, 600.0, 800.0, 900.0)
    measured = {rate: demands(rate, 0.25) for rate in rates}
    assert saturated_server_ms(measured) == pytest.approx(0.5 / (1 - 0.25))
    assert saturated_server_ms({rate: demands(rate, 0.0) for rate in rates}) == pytest.approx(0.5)
    saturated = measured | {1300.0: demands(1300, 0.25)}
    assert saturated_server_ms(saturated) == saturated[1300.0].server_ms
    assert saturated_server_ms({}) is None


@pytest.mark.parametrize("name", NETWORKS)
def test_a_saturated_cpu_leaves_the_time_of_a_lone_transaction(name: str) -> None:
    network = replace(fitted(name), saturated_share=0.7)
    for sample in (network, *network.samples):
        application = sample.with_application(0.0)
        assert 0.7 * sample.cpu.demand_ms <= application.cpu.demand_ms <= sample.cpu.demand_ms
        assert application.delay_ms >= sample.delay_ms
        assert application.database_ms == pytest.approx(sample.database_ms)
