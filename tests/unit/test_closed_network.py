"""The closed network against closed forms and the bounds that every such network obeys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.models.closed_network import Station, throughputs

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
