"""How many connections are in use at once, against queues whose answers are known."""

from math import exp, factorial

import numpy as np
import pytest

from poolsize.traffic.database_load import database_load


def test_a_single_server_that_is_shared_has_the_mean_of_its_formula() -> None:
    """One core that all connections share: load / (1 - load) in use on average, as M/M/1 with processor sharing."""
    load = database_load(np.full(2000, 100.0), 80.0)
    assert load is not None
    assert load.mean == pytest.approx(0.8 / 0.2)
    assert load.usage_ms == pytest.approx(10 / 0.2)


def test_a_database_that_never_slows_has_poissons_probabilities() -> None:
    load = database_load(np.linspace(50.0, 9950.0, 199), 300.0)
    assert load is not None
    assert load.in_use[:20] == pytest.approx([exp(-6) * 6**number / factorial(number) for number in range(20)])
    assert load.usage_ms == pytest.approx(20)
    assert load.beyond(9) == pytest.approx(0.0839, abs=1e-4)
    assert load.quantile(0.999) == 15


def test_beyond_the_rate_with_all_connections_in_use_there_is_no_load() -> None:
    rates = np.array([50.0, 90.0, 100.0])
    assert database_load(rates, 99.9) is not None
    assert database_load(rates, 100.0) is None


def test_bursts_leave_the_mean_of_a_database_that_never_slows_and_need_more_at_once() -> None:
    rates = np.linspace(50.0, 9950.0, 199)
    steady, bursty = database_load(rates, 300.0), database_load(rates, 300.0, burst=3.0)
    assert steady is not None
    assert bursty is not None
    assert bursty.mean == pytest.approx(steady.mean)
    assert bursty.quantile(0.999) > 1.5 * steady.quantile(0.999)


def test_what_is_late_in_a_burst_beyond_the_pools_is_served_later() -> None:
    """Little's law: 400/s with 15 ms are 6 connections on average, though the busiest second needs 240 of 45."""
    load = database_load(np.arange(1, 46) * 1000 / 15, 400.0, burst=40.0)
    assert load is not None
    assert load.mean == pytest.approx(6, rel=0.01)
