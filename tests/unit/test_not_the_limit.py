"""An application whose pool limits nothing: most of its connections are free at every size."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from poolsize.analysis.analysis import analyze
from poolsize.analysis.checks import check_step
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.comparison.comparison import compare
from poolsize.comparison.text import comparison_text
from poolsize.present.report import report_html, report_markdown
from poolsize.present.text.recommendation import recommendation_text
from poolsize.runs.check import Check
from poolsize.runs.plan import MeasuredApplication
from poolsize.runs.run import Run, Step
from tests.conftest import Command, a_run, written

CURVE = {1: 1_000, 2: 1_090, 5: 1_050, 10: 1_010, 19: 880}
"""Requests per second of an application whose CPU is saturated: the sizes differ by what the JVM has compiled."""
IN_USE = (0, 1, 1, 2, 0, 1, 0, 4, 1, 0)
"""Connections in use at the readings of a step of 10 s: 1 on average, and 0.8 of a pool of 1."""
USERS = 38
SATURATED = {"application_cpu": 1.97, "application_cores": 2.0}


def metrics(step: Step, in_use: Sequence[float], wait_share: float, counters: Mapping[str, float]) -> Step:
    """The step as an application's, with these readings of its metrics: connections in use, and others."""
    assert step.latencies is not None
    seconds = len(step.throughput)
    wait_seconds = wait_share * step.users  # by Little's law, of all requests in a second
    constant = {"pool_count": 1.0, "pool_max": float(step.pool_size), "pool_wait_seconds": wait_seconds} | dict(
        counters
    )
    series = {name: (value,) * seconds for name, value in constant.items()}
    readings = tuple(float(min(number, step.pool_size)) for number in (in_use[0], *in_use))
    step = replace(
        step,
        latencies=replace(step.latencies, wait=None, usage=None),
        server=series | {"pool_active": readings},
    )
    return replace(step, checks=check_step(step, 0.01))


def free(
    curve: dict[int, int] = CURVE,
    in_use: Sequence[float] = IN_USE,
    wait_share: float = 0.11,
    users: int = USERS,
    *,
    saturated: bool = True,
) -> Run:
    """A run of an application in which requests wait for the smallest pool only. wait_share: of the response time."""
    run, counters = a_run(curve, users), SATURATED if saturated else {}
    application = MeasuredApplication("shop.toml", "0" * 64, "http://shop", True, ("POOL_SIZE",))
    steps = tuple(
        metrics(step, in_use, wait_share if step.pool_size == min(curve) else 0.0, counters) for step in run.steps
    )
    return Run(replace(run.setting, application=application, private=False), steps)


def checked(run: Run, steps: Sequence[Step]) -> Run:
    """The run with these steps, checked again."""
    return replace(run, steps=tuple(replace(step, checks=check_step(step, 0.01)) for step in steps))


def stored(run: Run, folder: Path) -> str:
    return str(written(folder / "free.jsonl", run))


@pytest.mark.parametrize("size", [1, 10])
def test_one_size_gives_no_answer_whether_it_was_full_or_not(size: int) -> None:
    answer = recommend(free({size: 1_000}, wait_share=0.0))
    assert (answer.pool_size, answer.verdict) == (None, "noisy")
    assert f"Only one pool size, {size}, is valid, and an answer compares two" in recommendation_text(answer)


@pytest.mark.costly
def test_noise_between_the_sizes_is_no_answer() -> None:
    """The answer was 2, with 19 connections losing 19 % and 10 losing 7 %."""
    answer = recommend(free(), current=10)
    assert (answer.pool_size, answer.range, answer.verdict) == (5, None, "not-the-limit")
    assert answer.prices == ()
    text = " ".join(recommendation_text(answer).split())
    assert text.startswith("The pool is not the limit: no measured size limits throughput.")
    assert "Even 1 connection reached 1,000/s, with 0.6 in use on average and a mean wait time of 4.18 ms." in text
    assert (
        "The smallest that was never full has 5 connections: with 38 users, 1 were in use on average, and at most 4 at "
        "once."
    ) in text
    assert "Use 5 connections in the application's pool [not-the-limit]" in text
    assert "Your current pool size, 10, is not the limit either." in text
    assert "Bottleneck: application CPU" in text
    assert text.endswith("In the application, set POOL_SIZE=5.")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (free({1: 100, 2: 190, 4: 200, 8: 201}, (1, 2, 2, 1, 2, 1, 3, 1, 2, 1)), "measured"),  # full
        (free(wait_share=0.11, saturated=False), "measured"),  # requests may come 12 % more often without their waits
        (free(wait_share=0.03, saturated=False), "not-the-limit"),
        (free(wait_share=0.9), "measured"),  # the longest queue, although readings show free connections
    ],
)
def test_a_pool_that_is_full_or_waited_for_is_the_limit(run: Run, verdict: str) -> None:
    assert recommend(run).verdict == verdict


def test_a_smallest_pool_that_was_never_full_needs_no_wait_times() -> None:
    """A page without the metrics of waits is enough then, and no processor need be saturated."""
    run = free({5: 1_000, 10: 1_010, 19: 990}, saturated=False)
    steps = tuple(replace(step, server=dict(step.server) | {"pool_wait_seconds": ()}) for step in run.steps)
    answer = recommend(replace(run, steps=steps))
    assert (answer.pool_size, answer.verdict) == (5, "not-the-limit")
    assert "Even " not in recommendation_text(answer)


@pytest.mark.costly
def test_without_metrics_nothing_shows_it() -> None:
    run = free()
    hidden = tuple(replace(step, server=dict(step.server) | {"pool_active": ()}) for step in run.steps)
    assert recommend(replace(run, steps=hidden)).verdict != "not-the-limit"


@pytest.mark.costly
@pytest.mark.parametrize("connections", [None, 2])
def test_sizes_that_no_metric_and_no_account_shows_are_doubted(connections: int | None) -> None:
    run = free({1: 100, 2: 190, 4: 200, 8: 201}, (1, 2, 2, 1, 2, 1, 3, 1, 2, 1))
    hidden = tuple(
        replace(step, server=dict(step.server) | {"pool_max": ()}, server_connections=connections) for step in run.steps
    )
    text = " ".join(recommendation_text(recommend(replace(run, steps=hidden))).split())
    doubt = "Nothing shows that the application's pool had the measured sizes."
    assert (doubt in text) == (connections is None)


@pytest.mark.costly
def test_more_were_in_use_at_once_than_on_average() -> None:
    """A service of 2 threads answers a reading with one of them: no reading has more than 1 of 1.66 in use."""
    run = free({2: 400, 5: 410, 10: 405, 19: 390}, (1,) * 10)
    steps = tuple(metrics(step, (1,) * 10, 0.0, SATURATED | {"pool_usage_seconds": 1.66}) for step in run.steps)
    assert recommend(replace(run, steps=steps)).pool_size == 5


def paced(pause_ms: float, curve: dict[int, int]) -> Run:
    """A run of users who pause, and are too few to fill any pool: 0.4 of a connection is in use on average."""
    run = free(curve, (0, 1, 0, 0, 1, 0, 1, 1, 0, 0), wait_share=0.001, users=60, saturated=False)
    return checked(run, [_paused(step, pause_ms) for step in run.steps])


def _paused(step: Step, pause_ms: float) -> Step:
    assert step.latencies is not None
    total = HdrHistogram(1, 3_600_000_000, 3)
    total.record_value(round(1e6 * step.users / step.mean_throughput - 1000 * pause_ms), sum(step.counted))
    return replace(step, gap_ms=pause_ms, latencies=replace(step.latencies, total=total.encode().decode()))


@pytest.mark.costly
@pytest.mark.parametrize(("curve", "answer"), [({1: 150, 2: 148, 4: 151, 25: 149}, 2), ({4: 150, 25: 149}, 4)])
def test_users_who_pause_are_a_peak_that_fills_no_pool(
    curve: dict[int, int], answer: int, poolsize_here: Command, tmp_path: Path
) -> None:
    """The answer was a refusal that asked for 323 users in place of the 60 of the user's peak."""
    run = paced(395, curve)
    assert all(not step.valid for step in run.steps)
    of_run = recommend(run, current=25)
    assert (of_run.pool_size, of_run.verdict) == (answer, "not-the-limit")
    assert "never filled" not in recommendation_text(of_run)
    smaller = {each.code for each in recommend(run, current=min(curve) - 1 or 1).findings}
    assert ("current_not_measured" in smaller) == (min(curve) > 1)
    path = stored(run, tmp_path)
    assert f"maximumPoolSize={answer}" in poolsize_here("config", "--for", "hikaricp", "--run", path).stdout
    assert "<h3>The pool is not the limit</h3>" in report_html(analyze(run), of_run)


def test_a_late_generator_does_not_change_the_load_of_users_who_pause() -> None:
    """Locust and the service shared a core: the answer was a refusal that asked for 120 users."""
    run = paced(395, {1: 150, 2: 148, 4: 151, 25: 149})
    late = tuple(
        replace(step, workers=tuple(replace(each, loop_lag_ms=60.0) for each in step.workers)) for step in run.steps
    )
    run = checked(run, late)
    assert all(Check.GENERATOR in {each.check for each in step.failed_checks} for step in run.steps)
    assert (recommend(run).pool_size, recommend(run).verdict) == (2, "not-the-limit")


def test_too_few_users_without_pauses_are_no_answer() -> None:
    """Their number may be any: where no pool was full, throughput shows nothing."""
    assert recommend(paced(1, {100: 500, 200: 600})).verdict == "users-limited"


@pytest.mark.costly
@pytest.mark.parametrize("worker_cores", [0.3, 0.98])
def test_on_a_machine_without_a_free_core_only_another_machine_helps(worker_cores: float) -> None:
    """The ways out were more workers, users and pool sizes on the same machine."""
    run = free({1: 600, 2: 780, 4: 900, 8: 1_000}, (8,) * 10, wait_share=0.9, saturated=False)
    busy = {"machine_cpu": (1.8,) * 11, "machine_cores": (2.0,) * 11, "process_cpu": (0.8,) * 11}
    steps = [replace(step, server=dict(step.server) | busy) for step in run.steps]
    steps = [replace(step, workers=tuple(replace(each, cpu=worker_cores) for each in step.workers)) for step in steps]
    answer = recommend(checked(run, steps))
    text = " ".join(recommendation_text(answer).split())
    assert text.startswith("No core of this machine was free")
    assert "1 connection reached 600/s: a service that needs much less is not limited by its pool." in text
    assert "still rises at 8, the largest measured size: run Locust on another machine." in text
    assert not {"--processes", "--pool-sizes", "--users", "--budget"} & set(text.split())


@pytest.mark.costly
@pytest.mark.parametrize("shown", [1, 2])
def test_few_readings_show_nothing(shown: int) -> None:
    """A page that is read late has no reading in some of the seconds; another shows no connection in use."""
    run = free()
    readings = {1: (None, *IN_USE[:9], None), 2: (0.0,) * 11}[shown]
    steps = (*run.steps[:-1], replace(run.steps[-1], server=dict(run.steps[-1].server) | {"pool_active": readings}))
    assert recommend(replace(run, steps=steps)).verdict != "not-the-limit"


@pytest.mark.costly
def test_a_size_with_a_request_that_waited_is_not_the_answer() -> None:
    run = free()
    waiting = tuple(
        metrics(step, IN_USE, 0.0, SATURATED | {"pool_waiting": float(step.pool_size <= 5)}) for step in run.steps
    )
    assert recommend(replace(run, steps=waiting)).pool_size == 10


@pytest.mark.costly
def test_a_busy_load_generator_comes_first() -> None:
    run = free()
    busy = tuple(replace(step, workers=tuple(replace(each, cpu=0.98) for each in step.workers)) for step in run.steps)
    assert recommend(checked(run, busy)).verdict == "generator-limited"


@pytest.mark.costly
def test_a_range_that_noise_makes_too_wide_is_no_refusal() -> None:
    run = free({1: 260, 2: 300, 4: 372, 8: 400, 16: 395, 32: 390}, users=80)
    noisy = tuple(
        replace(step, throughput=tuple(max(1, rate + (250 if second % 2 else -250)) for second, rate in enumerate(
            step.throughput))) for step in run.steps
    )  # fmt: skip
    noisy = tuple(replace(step, checks=()) for step in noisy)
    assert recommend(replace(run, steps=noisy)).pool_size == 8


@pytest.mark.costly
def test_a_latency_limit_is_kept_or_decides() -> None:
    run = free()
    kept = recommend(run, LatencyLimits(max_p95_ms=1000))
    assert kept.verdict == "not-the-limit"
    assert kept.limit_probability == pytest.approx(1, abs=0.01)
    assert recommend(run, LatencyLimits(max_p95_ms=1)).verdict != "not-the-limit"


@pytest.mark.costly
def test_json_has_the_verdict_and_its_figures(poolsize_here: Command, tmp_path: Path) -> None:
    answer = json.loads(poolsize_here("recommend", "--run", stored(free(), tmp_path), "--json").stdout)
    assert (answer["verdict"], answer["pool_size"], answer["range"], answer["regret"]) == ("not-the-limit", 5, None, [])
    finding = answer["findings"][0]
    assert finding["code"] == "not_the_limit"
    assert finding["values"] == {
        "pool_size": 5, "users": 38, "in_use": 1.0, "most_in_use": 4, "smallest": 1, "smallest_in_use": 0.6,
        "smallest_throughput": 1000.0, "smallest_wait_ms": pytest.approx(4.18),
    }  # fmt: skip


@pytest.mark.costly
def test_the_report_has_the_verdict() -> None:
    analysis = analyze(free())
    answer = recommend(analysis)
    page = report_markdown(analysis, answer)
    assert page.startswith("# 5 connections")
    assert "**not-the-limit**" in page
    assert "The pool is not the limit" in page
    page = report_html(analysis, answer)
    assert "<h3>The pool is not the limit</h3>" in page
    assert "the differences between the pool sizes are noise" in page


@pytest.mark.costly
def test_the_configuration_has_the_smallest_size_that_was_never_full(poolsize_here: Command, tmp_path: Path) -> None:
    path = stored(free(), tmp_path)
    done = poolsize_here("config", "--for", "hikaricp", "--run", path)
    text = " ".join(done.stdout.replace("#", " ").split())
    assert "for all clients of the database together" not in text
    assert "the pool is not the limit: 5 connections is the smallest pool that was never full" in text
    many = poolsize_here("config", "--for", "hikaricp", "--run", path, "--instances", "6", "--json")
    assert json.loads(many.stdout)["pool_size"] == 5


@pytest.mark.costly
def test_a_fleet_divides_no_size_that_says_nothing_of_the_database(poolsize_here: Command, tmp_path: Path) -> None:
    """6 instances got 1 of 5 connections each; and what the database can use was not measured at all."""
    path = stored(free(wait_share=0.03, saturated=False), tmp_path)
    plan = json.loads(poolsize_here("fleet", "--run", path, "--instances", "6", "--json").stdout)
    assert (plan["pools"][0]["pool_size"], plan["pools"][0]["connections"]) == (5, 30)
    assert plan["findings"][0]["code"] == "fleet_pool_size_kept"
    refused = poolsize_here("fleet", "--run", path, "--service", "a:1:1:1", "--service", "b:2:1:1")
    assert refused.returncode == 2
    assert "--run: the pool is not the limit in this run" in refused.stderr


@pytest.mark.costly
def test_a_comparison_compares_no_such_sizes() -> None:
    first, second = free(), free({size: rate + 100 for size, rate in CURVE.items()})
    text = " ".join(comparison_text(compare({"a": analyze(first), "b": analyze(second)})).split())
    assert "The pool sizes can't be compared" in text
