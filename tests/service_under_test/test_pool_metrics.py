"""Metrics pages of pools, as their libraries write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.bounds import is_counter
from poolsize.facts.pool_metrics import DRUID_FIELDS, METRICS
from poolsize.service_under_test.counters import COUNTERS, pool_metrics
from tests.observe.metrics_pages import PAGES

HIKARI_BY_ITSELF = """
hikaricp_active_connections{pool="a"} 3
hikaricp_active_connections{pool="b"} 4
hikaricp_max_connections{pool="a"} 8
hikaricp_max_connections{pool="b"} 8
hikaricp_connection_acquired_nanos_sum{pool="a"} 2e9
hikaricp_connection_acquired_nanos_sum{pool="b"} 1e9
hikaricp_connection_usage_millis_sum{pool="a"} 500
hikaricp_connection_usage_millis_sum{pool="b"} 250
"""
AGROAL = """
# TYPE agroal_active_count gauge
agroal_active_count{datasource="default"} 3.0
agroal_awaiting_count{datasource="default"} 2.0
agroal_active_count{datasource="users"} 4.0
agroal_awaiting_count{datasource="users"} 0.0
agroal_blocking_time_average_milliseconds{datasource="default"} 812.0
"""
BUCKETS = 'hikaricp_connections_usage_seconds_bucket{le="1"} 1\n' * 20_000
"""More lines than are read; no counter is in them."""


@pytest.mark.parametrize("library", PAGES)
def test_the_counters_of_each_library_are_read(library: str) -> None:
    page, quantities = PAGES[library]
    counters = {counter: quantities[quantity] for counter, quantity in COUNTERS.items() if quantity in quantities}
    read, unusable = pool_metrics(page)
    assert read == pytest.approx(counters | ({"pool_count": 1} if counters else {}))
    assert unusable is None


@pytest.mark.parametrize(
    ("page", "counters"),
    [
        (
            HIKARI_BY_ITSELF,
            {"pool_active": 7, "pool_max": 16, "pool_wait_seconds": 3, "pool_usage_seconds": 0.75, "pool_count": 2},
        ),
        (AGROAL, {"pool_active": 7, "pool_waiting": 2, "pool_count": 2}),
        (AGROAL + BUCKETS, {"pool_active": 7, "pool_waiting": 2, "pool_count": 2}),
        ("<html>Not found</html>", {}),
        ("process_cpu_seconds_total 3\n", {}),
        ("{}", {}),
        ('{"Content": []}', {}),
        ('{"Content": [3]}', {}),
        ("", {}),
    ],
)  # fmt: skip
def test_the_metrics_of_each_pool_are_read(page: str, counters: dict[str, float]) -> None:
    read, unusable = pool_metrics(page)
    assert read == pytest.approx(counters)
    assert unusable is None


NUMBERS = st.sampled_from(["1", "-1", "NaN", "+Inf", "1e400", "9" * 400, "1e308", "0x1", "1_0", "", "{"])
LINES = st.builds(
    "{}{}{} {}{}".format,
    st.sampled_from([metric.name for metric in METRICS]),
    st.sampled_from(["", "_total", "_bucket", "\x1b"]),
    st.one_of(st.just(""), st.text(max_size=20).map(lambda text: f'{{pool="{text}"}}'), st.text(max_size=20)),
    NUMBERS,
    st.sampled_from(["", " 1", ' # {a="b"} 1', " x"]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Content", *DRUID_FIELDS]), inner, max_size=4)
    ),
)


@pytest.mark.costly
@given(st.lists(LINES | st.text(max_size=30), max_size=6).map("\n".join) | JSON.map(json.dumps))
def test_no_page_breaks_the_reader_or_has_a_counter_that_no_run_holds(page: str) -> None:
    counters, _ = pool_metrics(page)
    assert all(isinstance(value, float | int) and is_counter(value) for value in counters.values())
    assert not counters or counters["pool_count"] >= 1
