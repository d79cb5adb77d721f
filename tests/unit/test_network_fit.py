"""The closed network against closed forms, and its fit: derivatives, the global minimum, every processor."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as of_hypothesis
from hypothesis import strategies as st
from scipy.optimize import least_squares

from poolsize.analysis.fitted_models import means_by_size
from poolsize.analysis.models.closed_network import (
    FittedNetwork,
    MeasuredStations,
    Station,
    throughputs,
    throughputs_at,
)
from poolsize.analysis.models.network_fit import (
    LEAST_ERROR,
    SERVERS,
    USUAL_SCALING,
    USUAL_SLOWDOWN,
    NetworkCurve,
    fit_network,
)
from poolsize.analysis.vector import Vector
from tests.conftest import EXAMPLES, Command, example, in_ci

SIZES = [1, 2, 4, 8, 16, 32, 64]
KERNELS = {"Nehalem": "X86_V2", "Haswell": "X86_V3", "Zen": "X86_V3", "SkylakeX": "X86_V4"}
"""OpenBLAS's kernels for matrices, each with the level of x86-64, as NumPy names it, that they need."""
FIT = """
import json
from tests.conftest import EXAMPLES
from tests.unit.test_network_fit import figures
print(json.dumps({name: figures(name) for name in EXAMPLES}))
"""


def figures(name: str) -> list[float]:
    """What is estimated of an example run: every estimator's size, the network, and the sizes of applications."""
    models = example(name).models
    network = models.network
    assert network is not None
    fields = ("pool_size", "low", "high", "error", "moved")
    values = [getattr(estimate, field) for estimate in models.estimates.values() for field in fields]
    known = [float(value) for value in values if value is not None]
    stations = [value for station in network.stations for value in (station.demand_ms, float(station.servers))]
    applications = [float(value) for size in models.application_sizes for value in (size.pool_size, *size.range)]
    return [*known, *stations, *network.throughput([1, 16, 256]), *applications]


def under(**kernels: str) -> dict[str, list[float]]:
    """The figures in a child process with these settings of OpenBLAS and NumPy."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT],
        env=os.environ | kernels,
        check=True,
        capture_output=True,
        text=True,
    )
    answers: dict[str, list[float]] = json.loads(done.stdout)
    return answers


@pytest.mark.long
@pytest.mark.experiment
def test_every_processor_gets_the_same_answer() -> None:
    """With other kernels, numbers are rounded in another way and eigenvectors have other signs."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    found = extensions.get("found", [])
    usable = [kernels for kernels, level in KERNELS.items() if level in [*extensions["baseline"], *found]]
    answers = [under(), under(NPY_DISABLE_CPU_FEATURES=" ".join(found))]
    answers += [under(OPENBLAS_CORETYPE=kernels) for kernels in usable]
    for name in EXAMPLES:
        for answer in answers[1:]:
            assert answer[name] == pytest.approx(answers[0][name], rel=1e-5), name


@cache
def curve(name: str, fewer: int) -> tuple[list[int], Vector, Vector]:
    sizes, rates, errors = means_by_size(example(name).models.observations)
    number = len(sizes) - fewer
    return sizes[:number], np.array(rates[:number]), np.array(errors[:number])


@pytest.mark.long
@pytest.mark.parametrize("fewer", in_ci([0, 1], 1))
@pytest.mark.parametrize("name", in_ci(EXAMPLES, "insert-mysql", "scan-mariadb"))
def test_a_billionth_does_not_change_the_fit(name: str, fewer: int) -> None:
    sizes, rates, errors = curve(name, fewer)
    exact = fit_network(sizes, rates.tolist(), errors.tolist())
    assert exact is not None
    for seed in range(10):
        noise = np.random.default_rng(seed).standard_normal(len(rates))
        network = fit_network(sizes, (rates * (1 + 1e-9 * noise)).tolist(), errors.tolist())
        assert network is not None
        assert network.queue.servers == exact.queue.servers
        assert network.throughput([1, 7, 40, 200]) == pytest.approx(exact.throughput([1, 7, 40, 200]), rel=1e-5)


def cost(network: FittedNetwork, rates: Vector, errors: Vector, sizes: list[int]) -> float:
    """Half of chi squared, the usual values of slowdown and scaling among the data."""
    weights = 1 / np.maximum(errors / rates, LEAST_ERROR)
    deviations = np.log(network.throughput(sizes) / rates) * weights
    further = [network.queue.slowdown / USUAL_SLOWDOWN, (network.queue.scaling - 1) / USUAL_SCALING]
    return 0.5 * float((deviations**2).sum() + np.square(further).sum())


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "fewer"), in_ci([("insert-mysql", 1), ("insert-mariadb", 0), ("scan-mysql", 0)], ("insert-mysql", 1))
)
def test_no_random_start_leads_to_a_better_fit(name: str, fewer: int) -> None:
    """SciPy's solver, from random points with every number of servers; without slowdown where the fit has none."""
    sizes, rates, errors = curve(name, fewer)
    weights = 1 / np.maximum(errors / rates, LEAST_ERROR)
    fitted = fit_network(sizes, rates.tolist(), errors.tolist())
    assert fitted is not None
    least = cost(fitted, rates, errors, sizes)
    lone_ms = 1000 * float((np.array(sizes) / rates).min())
    random = np.random.default_rng(5)

    def residuals(parameters: Vector, servers: int) -> Vector:
        demand, delay, slowdown, scaling = parameters
        rate = 1000 * throughputs_at([Station(demand, servers, slowdown, scaling)], delay, sizes)
        deviations = np.log(rate / rates) * weights
        return np.append(deviations, [slowdown / USUAL_SLOWDOWN, (scaling - 1) / USUAL_SCALING])

    most_slowdown = 10.0 if fitted.queue.slowdown else 1e-9
    low, high = [1e-6 * lone_ms, 1e-6 * lone_ms, 0.0, 0.2], [1e3 * lone_ms, 1e3 * lone_ms, most_slowdown, 1.0]
    for servers in [number for number in SERVERS if number <= sizes[-1]]:
        for _ in range(4):
            start = [lone_ms * servers**0.5 * random.uniform(0.05, 1), lone_ms * random.uniform(0.01, 1)]
            start += [random.uniform(0, min(0.02, most_slowdown)), random.uniform(0.3, 1)]
            other = least_squares(residuals, start, args=(servers,), bounds=(low, high))
            assert least <= other.cost + 0.02


@pytest.mark.long
@of_hypothesis(max_examples=60)
@given(
    st.integers(1, 40),
    st.floats(1e-3, 100),
    st.floats(1e-5, 100),
    st.floats(0, 0.5),
    st.floats(0.2, 1),
    st.sampled_from([(), (Station(0.7, 2),), (Station(0.1, 1), Station(2.0, 6))]),
)
def test_the_curve_and_its_derivatives_are_exact(
    servers: int, demand: float, delay: float, slowdown: float, scaling: float, measured: tuple[Station, ...]
) -> None:
    network, parameters = NetworkCurve([*SIZES, 1500], measured), np.array([demand, delay, slowdown, scaling])
    rates, derivatives = network(np.array([servers]), parameters[None])
    queue = Station(demand, servers, slowdown, scaling)
    assert np.exp(rates[0]) == pytest.approx(throughputs_at([*measured, queue], delay, [*SIZES, 1500]), rel=1e-6)
    for place, value in enumerate(parameters):
        step = np.zeros(4)
        step[place] = 1e-5 * max(value, 1e-3)
        sides = [network(np.array([servers]), (parameters + way * step)[None])[0][0] for way in (1, -1)]
        slope = (sides[0] - sides[1]) / (2 * step[place])
        scale = np.abs(derivatives[0, :, place]).max() + 1e-6 / step[place]
        assert derivatives[0, :, place] == pytest.approx(slope, abs=1e-3 * scale)


CLIENT, CPU, LOG = Station(0.3, 1), Station(2.0, 4), Station(0.8, 1)


def simulated(queue: tuple[Station, ...], delay_ms: float, seed: int) -> FittedNetwork:
    """The network fitted to a curve with the noise of short steps."""
    noise = np.random.default_rng(seed).normal(1.0, 0.02, len(SIZES))
    rates = 1000 * throughputs_at([CLIENT, CPU, *queue], delay_ms, SIZES) * noise
    fitted = fit_network(SIZES, rates.tolist(), (0.02 * rates).tolist(), MeasuredStations(CLIENT, CPU, not queue))
    assert fitted is not None
    return fitted


@pytest.mark.long
@pytest.mark.parametrize("slowdown", [0.0, 0.01])
def test_slowdown_is_fitted_only_where_the_curve_shows_it(slowdown: float) -> None:
    """Throughput with 96 connections is predicted within an eighth, from at least 18 of 20 noisy curves up to 24."""
    stations, sizes = (Station(0.84), Station(0.8, slowdown=slowdown)), [1, 2, 4, 8, 16, 24]
    measured = MeasuredStations(stations[0], Station(0.8), saturated=True)
    exact = 1000 * throughputs_at(stations, 0.4, [*sizes, 96])
    predicted = []
    for seed in range(20):
        rates = exact[:-1] * np.random.default_rng(seed).normal(1.0, 0.02, len(sizes))
        fitted = fit_network(sizes, rates.tolist(), (0.02 * rates).tolist(), measured)
        assert fitted is not None
        predicted.append(float(fitted.throughput([96])[0]) / exact[-1])
    agree = [ratio == pytest.approx(1.0, abs=0.125) for ratio in predicted]
    assert sum(agree) >= 18


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("queue", [(), (LOG,)], ids=["CPU", "CPU and log"])
@pytest.mark.parametrize("cores", [2, 8])
def test_other_cores_change_the_measured_cpu_alone(cores: int, queue: tuple[Station, ...], seed: int) -> None:
    """The CPU's demand and cores are measured; what else there is, a redo log with one writer, stays as it is."""
    fitted = simulated(queue, 1.5, seed)
    predicted = replace(fitted, cpu=fitted.cpu.with_servers(cores)).throughput(SIZES)
    truth = 1000 * throughputs_at([CLIENT, Station(CPU.demand_ms, cores), *queue], 1.5, SIZES)
    assert fitted.cpu.demand_ms == CPU.demand_ms
    assert predicted == pytest.approx(truth, rel=0.08)


def test_interference_takes_the_same_share_of_other_servers() -> None:
    station = Station(2.0, 2, scaling=0.9)
    more = station.with_servers(8)
    assert more.servers**more.scaling == pytest.approx(4 * station.servers**station.scaling)
    assert Station(2.0, 1).with_servers(4).scaling == 1
    assert station.with_servers(1).scaling == 1


@pytest.mark.costly
def test_sizes_that_would_take_many_seconds_are_not_fitted() -> None:
    """The time and the memory of a fit grow with the sum of the sizes: a file could name sizes up to 100,000."""
    rates, errors = (100.0, 900.0, 5000.0, 6000.0), (1.0,) * 4
    assert fit_network((1, 10, 100, 2_000), rates, errors) is not None
    assert fit_network((1, 10, 100, 20_000), rates, errors) is None


def test_a_curve_along_a_line_without_noise_has_an_answer(poolsize_here: Command, tmp_path: Path) -> None:
    """Where two parameters have the same effect, only the damping makes a step unique: it must not vanish."""
    curve = tmp_path / "line.csv"
    curve.write_text("threads,tps\n" + "".join(f"{size},{100 * size}\n" for size in (1, 2, 4, 8, 16)))
    assert poolsize_here("recommend", "--curve", str(curve)).stdout.startswith("Use 16 connections")


demand = st.floats(0.01, 100)


@pytest.mark.costly
@given(st.integers(1, 300), demand, st.integers(1, 5))
def test_balanced_stations_share_evenly(population: int, demand_ms: float, number: int) -> None:
    """X = N / ((N + K - 1) D) for K equal queues (Denning and Buzen, 1978)."""
    rates = throughputs([Station(demand_ms)] * number, 0.0, population)
    places = np.arange(1, population + 1)
    assert rates == pytest.approx(places / ((places + number - 1) * demand_ms), rel=1e-6)


@pytest.mark.costly
@given(st.integers(1, 200), demand, demand)
def test_two_unequal_queues_have_a_geometric_form(population: int, one_ms: float, other_ms: float) -> None:
    """G(N) is the sum of one**i * other**(N - i)."""
    ratio = min(one_ms, other_ms) / max(one_ms, other_ms)
    constants = np.cumsum(ratio ** np.arange(population + 1))
    rates = throughputs([Station(one_ms), Station(other_ms)], 0.0, population)
    assert rates == pytest.approx(constants[:-1] / constants[1:] / max(one_ms, other_ms), rel=1e-6)


def test_the_machine_repairman() -> None:
    """Three users who think for 10 ms before one server of 5 ms: 1 - p0 = 0.789... of its 0.2 per ms."""
    weights = np.array([1, 3 * 0.5, 6 * 0.5**2, 6 * 0.5**3])  # N! / (N - n)! (D / Z)**n
    busy = 1 - weights[0] / weights.sum()
    assert throughputs([Station(5.0)], 10.0, 3)[-1] == pytest.approx(busy / 5.0)


@pytest.mark.costly
@given(st.integers(1, 100), demand)
def test_as_many_servers_as_connections_are_a_delay(population: int, demand_ms: float) -> None:
    rates = throughputs([Station(demand_ms, population)], 0.0, population)
    assert rates == pytest.approx(np.arange(1, population + 1) / demand_ms, rel=1e-6)
    assert throughputs([], demand_ms, population) == pytest.approx(rates, rel=1e-6)


@pytest.mark.costly
@given(st.integers(1, 400), demand, st.integers(1, 8), demand, st.integers(1, 64), st.floats(0, 50))
def test_no_network_beats_its_bounds(
    population: int, client_ms: float, processes: int, server_ms: float, cores: int, delay_ms: float
) -> None:
    """Between a lone connection's rate, the population's at most, and the slowest station's; and never falling."""
    rates = throughputs([Station(client_ms, processes), Station(server_ms, cores)], delay_ms, population)
    lone = 1 / (client_ms + server_ms + delay_ms)
    slowest = min(processes / client_ms, cores / server_ms)
    places = np.arange(1, population + 1)
    assert rates[0] == pytest.approx(lone, rel=1e-6)
    assert (rates <= np.minimum(places * lone, slowest) * (1 + 1e-6)).all()
    assert (np.diff(rates) >= -1e-6 * rates[1:]).all()
