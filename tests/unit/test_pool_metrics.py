"""Metrics pages of pools, as their libraries write them, and what a step's checks and times make of the figures."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.analysis.analysis import analyze
from poolsize.analysis.checks import check_step
from poolsize.answer.recommendation import recommend
from poolsize.bounds import is_counter
from poolsize.present.text.analysis import analysis_text
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.check import Check
from poolsize.runs.compared_field import compared_field
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.run import CheckResult, Run, Step
from poolsize.server.application.pool_metrics import DRUID_FIELDS, NAMES, pool_metrics
from tests.conftest import a_run, a_step

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
    assert pool_metrics(page) == pytest.approx(counters)


NUMBERS = st.sampled_from(["1", "-1", "NaN", "+Inf", "1e400", "9" * 400, "1e308", "0x1", "1_0", "", "{"])
LINES = st.builds(
    "{}{}{} {}{}".format,
    st.sampled_from(sorted(NAMES)),
    st.sampled_from(["", "_total", "_bucket", "\x1b"]),
    st.one_of(st.just(""), st.text(max_size=20).map(lambda text: f'{{pool="{text}"}}'), st.text(max_size=20)),
    NUMBERS,
    st.sampled_from(["", " 1", ' # {a="b"} 1', " x"]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Content", *(field for field, _ in DRUID_FIELDS.values())]), inner, max_size=4
        )
    ),
)


@given(st.lists(LINES | st.text(max_size=30), max_size=6).map("\n".join) | JSON.map(json.dumps))
def test_no_page_breaks_the_reader_or_has_a_counter_that_no_run_holds(page: str) -> None:
    counters = pool_metrics(page)
    assert all(isinstance(value, float | int) and is_counter(value) for value in counters.values())
    assert not counters or counters["pool_count"] >= 1


def of_application(step: Step, **counters: float) -> Step:
    """The step as an application's: without wait and usage times, with these counters in every second."""
    assert step.latencies is not None
    return replace(
        step,
        latencies=replace(step.latencies, wait=None, usage=None),
        server={name: (value,) * len(step.throughput) for name, value in counters.items()},
        server_connections=None,
    )


def judged(step: Step) -> dict[Check, CheckResult]:
    return {result.check: result for result in check_step(step, 0.01)}


def test_a_service_with_too_few_threads_is_told_so() -> None:
    """64 users wait, the pool has 32 connections, and the service has 8 worker threads: 8 are in use, none waits."""
    step = of_application(a_step(32, [100] * 10), pool_active=8, pool_waiting=0, pool_count=1)
    failed = judged(step)[Check.SERVICE_THREADS]
    assert not failed.passed
    assert failed.values["wanting_requests"] == 8
    assert failed.values["waiting_users"] == pytest.approx(64, rel=0.01)
    assert not failed.check.disqualifies


def test_a_full_pool_passes() -> None:
    step = of_application(a_step(32, [100] * 10), pool_active=31.5, pool_waiting=4, pool_count=1)
    assert judged(step)[Check.SERVICE_THREADS].passed


def test_few_users_are_no_fault_of_the_service() -> None:
    step = of_application(a_step(80, [100] * 10), pool_active=20, pool_waiting=0, pool_count=1)
    assert judged(step)[Check.SERVICE_THREADS].passed
    assert not judged(step)[Check.USERS_LIMITED].passed


def test_without_metrics_there_is_no_such_check() -> None:
    assert Check.SERVICE_THREADS not in judged(of_application(a_step(32, [100] * 10)))


def of_run(run: Run, host: str = "http://shop", **counters: float) -> Run:
    """The run as that of an application's pool."""
    application = MeasuredApplication("shop.toml", "0" * 64, host, started=True, variables=("POOL_SIZE",))
    steps = tuple(of_application(step, **counters) for step in run.steps)
    steps = tuple(replace(step, checks=check_step(step, 0.01)) for step in steps)
    return Run(replace(run.setting, application=application, private=False), steps)


def test_a_busy_load_generator_puts_an_answer_in_doubt_and_does_not_forbid_it() -> None:
    """The throughput is true, and the user can give more workers; no CPU time of a request is needed for that."""
    answer = recommend(
        of_run(a_run({1: 100, 2: 190, 4: 200, 8: 201}, cpu=0.98), pool_active=8, pool_count=1, pool_max=8)
    )
    assert answer.verdict == "generator-limited"
    assert answer.pool_size in {2, 3}
    assert recommendation_text(answer).endswith(f"In the application, set POOL_SIZE={answer.pool_size}.")


def test_two_hosts_of_an_application_differ_in_one_field() -> None:
    run = a_run({1: 100, 2: 190, 4: 200, 8: 201})
    assert compared_field({"a": of_run(run, "http://old"), "b": of_run(run, "http://new")}) == "application"


def test_mean_times_follow_from_the_metrics_by_littles_law() -> None:
    """At 100/s, 8 busy connections are 80 ms a request; requests that wait 24 s in each second wait 240 ms each."""
    run = a_run({8: 100, 16: 110})
    steps = tuple(
        of_application(step, pool_active=8.0, pool_wait_seconds=24.0, pool_count=1.0, pool_max=8.0)
        for step in run.steps
    )
    application = MeasuredApplication("shop.toml", "0" * 64, "http://shop", started=True)
    run = Run(replace(run.setting, application=application, private=False), steps)
    analysis = analyze(run)
    assert analysis.at(8).usage.mean == pytest.approx(80, rel=0.01)
    assert analysis.at(8).wait.mean == pytest.approx(240, rel=0.01)
    text = analysis_text(analysis)
    assert "usage mean" in text
    assert "80 ms" in text
