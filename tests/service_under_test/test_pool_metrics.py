"""Metrics pages of pools, as their libraries write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.bounds import is_counter
from poolsize.facts.pool_metrics import DRUID_FIELDS, METRICS
from poolsize.service_under_test.counters import pool_metrics

HIKARI_BY_MICROMETER = """
# HELP hikaricp_connections_usage_seconds Connection usage time
# TYPE hikaricp_connections_usage_seconds summary
hikaricp_connections_usage_seconds_count{pool="HikariPool-1"} 38
hikaricp_connections_usage_seconds_sum{pool="HikariPool-1"} 0.177
# TYPE hikaricp_connections_acquire_seconds summary
hikaricp_connections_acquire_seconds_count{pool="HikariPool-1"} 38
hikaricp_connections_acquire_seconds_sum{pool="HikariPool-1"} 0.5
# TYPE hikaricp_connections_active gauge
hikaricp_connections_active{pool="HikariPool-1"} 3.0
# TYPE hikaricp_connections_pending gauge
hikaricp_connections_pending{pool="HikariPool-1"} 2.0
# TYPE hikaricp_connections_max gauge
hikaricp_connections_max{pool="HikariPool-1"} 8.0
# TYPE jdbc_connections_active gauge
jdbc_connections_active{name="dataSource"} 3.0
"""
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
GO = """
# TYPE go_sql_in_use_connections gauge
go_sql_in_use_connections{db_name="shop"} 3
go_sql_max_open_connections{db_name="shop"} 8
# TYPE go_sql_wait_duration_seconds_total counter
go_sql_wait_duration_seconds_total{db_name="shop"} 12.5
"""
OTEL = """
db_client_connections_usage{state="used"} 3
db_client_connections_usage{state="idle"} 5
db_client_connections_max 8
"""
GORM = """
# TYPE gorm_dbstats_in_use gauge
gorm_dbstats_in_use{db_name="shop"} 3
gorm_dbstats_max_open_connections{db_name="shop"} 8
gorm_dbstats_wait_duration{db_name="shop"} 1.25e+10
"""
AGROAL = """
# TYPE agroal_active_count gauge
agroal_active_count{datasource="default"} 3.0
agroal_awaiting_count{datasource="default"} 2.0
agroal_active_count{datasource="users"} 4.0
agroal_awaiting_count{datasource="users"} 0.0
agroal_blocking_time_average_milliseconds{datasource="default"} 812.0
"""
DRUID = """
{"ResultCode": 1, "Content": [
  {"Name": "shop", "ActiveCount": 3, "MaxActive": 8, "WaitThreadCount": 2, "NotEmptyWaitMillis": 500, "URL": "x"}]}
"""


@pytest.mark.parametrize(
    ("page", "counters"),
    [
        (
            HIKARI_BY_MICROMETER,
            {"pool_active": 3, "pool_waiting": 2, "pool_max": 8, "pool_wait_seconds": 0.5,
             "pool_usage_seconds": 0.177, "pool_count": 1},
        ),
        (
            HIKARI_BY_ITSELF,
            {"pool_active": 7, "pool_max": 16, "pool_wait_seconds": 3, "pool_usage_seconds": 0.75, "pool_count": 2},
        ),
        (GO, {"pool_active": 3, "pool_max": 8, "pool_wait_seconds": 12.5, "pool_count": 1}),
        (GORM, {"pool_active": 3, "pool_max": 8, "pool_wait_seconds": 12.5, "pool_count": 1}),
        (AGROAL, {"pool_active": 7, "pool_waiting": 2, "pool_count": 2}),
        (OTEL, {"pool_active": 3, "pool_max": 8, "pool_count": 1}),
        (DRUID, {"pool_active": 3, "pool_waiting": 2, "pool_max": 8, "pool_wait_seconds": 0.5, "pool_count": 1}),
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


@given(st.lists(LINES | st.text(max_size=30), max_size=6).map("\n".join) | JSON.map(json.dumps))
def test_no_page_breaks_the_reader_or_has_a_counter_that_no_run_holds(page: str) -> None:
    counters, _ = pool_metrics(page)
    assert all(isinstance(value, float | int) and is_counter(value) for value in counters.values())
    assert not counters or counters["pool_count"] >= 1
