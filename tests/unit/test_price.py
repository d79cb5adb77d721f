"""The price of other sizes, latency limits, and when there is no answer."""

from dataclasses import replace

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.bimodal import bimodal_usage
from poolsize.answer.from_run import recommend
from poolsize.answer.latency_limit import LatencyLimits
from poolsize.errors import BadInput
from poolsize.load.recorder import histogram
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.tables import price_table
from poolsize.runs.check import Check
from poolsize.runs.plan import Search, SearchEnd
from poolsize.runs.run import QUANTILES, CheckResult, Kind, Latencies, Run, Step
from tests.conftest import a_run, a_step

FALLING = a_run({4: 390, 8: 400, 16: 396, 32: 360, 64: 300}, users=256)
"""Total times by Little's law: the fewer are done, the longer they take."""


def reasons(run: Run, current: int | None = None) -> str:
    return "\n".join(reason_sentences(recommend(analyze(run), current=current).findings))


@pytest.mark.costly
def test_the_current_size_has_its_price() -> None:
    assert "Your current pool size, 64, loses 2" in reasons(FALLING, current=64)
    assert "Your current pool size, 4, is the recommended size" in reasons(FALLING, current=4)
    answer = recommend(analyze(FALLING), current=48)
    (price,) = [row for row in answer.prices if row.pool_size == 48]
    assert 0.1 < price.throughput_loss < 0.25


@pytest.mark.costly
def test_what_lies_beyond_the_measured_sizes_has_no_price() -> None:
    assert "is outside of the measured sizes (4 to 64)" in reasons(FALLING, current=100)
    assert 100 not in [price.pool_size for price in recommend(analyze(FALLING), current=100).prices]


@pytest.mark.costly
def test_a_latency_limit_is_kept_by_a_size_that_keeps_it() -> None:
    """8 connections are the fastest here, as they are the most; p95 is 640 ms with 8 and 656 ms with 4."""
    analysis = analyze(FALLING)
    limited = recommend(analysis, LatencyLimits(max_p95_ms=645))
    assert limited.pool_size in range(6, 14)
    assert "within the latency limit: p95 within 645 ms" in "\n".join(reason_sentences(limited.findings))
    assert recommend(analysis, LatencyLimits(max_p95_ms=700)).pool_size == recommend(analysis).pool_size
    steps = tuple(
        replace(step, sections={"total": dict.fromkeys(QUANTILES, step.p95_ms[:8])}) for step in FALLING.steps
    )
    precise = replace(FALLING, steps=steps)
    both = recommend(analyze(precise), LatencyLimits(max_p95_ms=700, max_p99_ms=645))
    assert both.pool_size == limited.pool_size


@pytest.mark.costly
def test_a_limit_that_no_size_keeps_is_told_with_the_lowest() -> None:
    answer = recommend(analyze(FALLING), LatencyLimits(max_p95_ms=5))
    assert "no pool size keeps the latency limit (p95 within 5 ms)" in warning_sentences(answer.findings)[0]
    assert "at 8 connections" in warning_sentences(answer.findings)[0]


def test_a_limit_on_what_is_not_known_is_refused() -> None:
    recorded = replace(FALLING, steps=tuple(replace(step, latencies=None) for step in FALLING.steps))
    assert recommend(analyze(recorded), LatencyLimits(max_p95_ms=10_000)).pool_size == 4
    with pytest.raises(BadInput, match="`max_p99_ms`"):
        recommend(analyze(recorded), LatencyLimits(max_p99_ms=20))


@pytest.mark.costly
def test_as_many_users_as_connections_are_a_job_queue() -> None:
    run = a_run({2: 200, 4: 390, 8: 400, 16: 401}, users=16)
    assert "consumers of a job queue" in reasons(run)
    assert "consumers of a job queue" not in reasons(FALLING)


def with_usage(step: Step, short_ms: int, long_ms: int) -> Step:
    assert step.latencies is not None
    usage = str(histogram([{short_ms * 1000: 9000, long_ms * 1000: 1000}]).encode(), "ascii")
    return replace(step, latencies=Latencies(step.latencies.wait, usage, step.latencies.total))


@pytest.mark.costly
def test_two_kinds_of_transactions_get_two_pools() -> None:
    run = a_run({2: 100, 4: 200, 10: 390, 16: 395, 32: 395})
    mixed = replace(run, steps=tuple(with_usage(step, 2, 100) for step in run.steps))
    answer = recommend(analyze(mixed))
    assert answer.pool_size is not None
    short, long = answer.two_pools
    busy_short = answer.pool_size * 18 / 118  # 9 x 2 ms against 100 ms
    assert short.pool_size - 1 <= busy_short < short.pool_size
    assert long.pool_size - 1 <= answer.pool_size - busy_short < long.pool_size
    assert "Usage times are bimodal" in "\n".join(reason_sentences(answer.findings))
    assert recommendation_text(answer).count("create_engine") == 2
    assert not recommend(analyze(run)).two_pools


LOCKED = {2: 0, 4: 500, 10: 1000, 16: 1000, 32: 1000}
"""Pool size -> how many of 10,000 transactions of 2 ms meet a lock of 20 ms."""


def with_lock_waits(step: Step, locked: int, **counters: float) -> Step:
    assert step.latencies is not None
    usage = str(histogram([{2_000: 10_000 - locked, 22_000: locked}]).encode(), "ascii")
    server = {name: (value,) * len(step.throughput) for name, value in counters.items()}
    latencies = Latencies(step.latencies.wait, usage, step.latencies.total)
    return replace(step, latencies=latencies, server=server)


@pytest.mark.costly
def test_lock_waits_are_no_kind_of_transaction() -> None:
    """They are rare with few connections, or the server counts them."""
    run = a_run({2: 100, 4: 200, 10: 390, 16: 395, 32: 395})
    among_themselves = [with_lock_waits(step, LOCKED[step.pool_size]) for step in run.steps]
    by_others = [with_lock_waits(step, 1000, Innodb_row_lock_time=2.0 * step.mean_throughput) for step in run.steps]
    reads = [with_lock_waits(step, 1000, Innodb_buffer_pool_reads=0.1 * step.mean_throughput) for step in run.steps]
    for steps in (among_themselves, by_others, reads):
        analysis = analyze(replace(run, steps=tuple(steps)))
        assert analysis.models.usage_histogram
        assert bimodal_usage(analysis.models.usage_histogram), "two modes, but not two kinds"
        assert not recommend(analysis).two_pools
    no_small_pool = a_run({10: 390, 16: 395, 32: 395})
    unknown = tuple(with_lock_waits(step, 1000) for step in no_small_pool.steps)
    assert not recommend(analyze(replace(no_small_pool, steps=unknown))).two_pools
    few = [with_lock_waits(step, 1000, Innodb_row_lock_time=0.1 * step.mean_throughput) for step in run.steps]
    assert recommend(analyze(replace(run, steps=tuple(few)))).two_pools


@pytest.mark.costly
def test_tasks_say_which_transactions_are_long() -> None:
    """Whatever one of them waits for: its task has a name, and can have a pool."""
    run = a_run({2: 100, 4: 200, 10: 390, 16: 395, 32: 395})
    locked = [with_lock_waits(step, LOCKED[step.pool_size]) for step in run.steps]

    def with_tasks(long_ms: int) -> Run:
        kinds = {name: Kind(number, times(ms)) for name, number, ms in (("browse", 9000, 2), ("report", 1000, long_ms))}
        return replace(run, steps=tuple(replace(step, kinds=kinds) for step in locked))

    answer = recommend(analyze(with_tasks(100)))
    assert [pool.kind.kinds for pool in answer.two_pools] == [("browse",), ("report",)]
    text = "\n".join(reason_sentences(answer.findings))
    assert "90 % of the transactions (browse) take 2 ms, 10 % (report) take 100 ms" in text
    assert not recommend(analyze(with_tasks(3))).two_pools


def times(usage_ms: int) -> Latencies:
    counts = str(histogram([{1000 * usage_ms: 1000}]).encode(), "ascii")
    return Latencies(counts, counts, counts)


@pytest.mark.costly
def test_what_the_database_alone_needs_is_told_where_its_processor_holds_it() -> None:
    """1 ms of the server's 4 cores and 2 ms of the client's: the database would be busy with 4."""
    counters = {"process_cpu": (None, *(3.9,) * 10), "process_cores": (None, *(4.0,) * 10)}
    steps = tuple(
        replace(a_step(size, [rate] * 10, 256, order, 0.4), server=counters)
        for order, (size, rate) in enumerate({2: 1900, 4: 3600, 8: 3890, 16: 3900, 32: 3900}.items())
    )
    answer = recommend(analyze(Run(a_run({2: 1, 4: 1, 8: 1, 16: 1, 32: 1}, 256).setting, steps)))
    assert answer.database_size in {4, 5}
    assert answer.database_range is not None
    assert answer.database_range[0] <= answer.database_size <= answer.database_range[1]
    assert "whose own code took no time in a transaction" in "\n".join(reason_sentences(answer.findings))


def test_a_busy_client_that_can_not_be_told_from_the_server_gives_no_size() -> None:
    """Nothing is known of the server's part without its process, or a lone connection."""
    answer = recommend(analyze(a_run({4: 390, 8: 400, 16: 401}, cpu=0.95)))
    assert (answer.pool_size, answer.verdict) == (None, "generator-limited")
    assert "can't be separated" in warning_sentences(answer.findings)[0]


@pytest.mark.costly
def test_a_size_whose_steps_failed_a_check_is_marked_in_the_table() -> None:
    *others, last = FALLING.steps
    busy = replace(last, checks=(CheckResult(Check.GENERATOR, False, {}),))
    table = price_table(recommend(replace(FALLING, steps=(*others, busy))))
    assert table.columns[-1] == "checks"
    assert [row[-1] for row in table.rows] == [*["ok"] * len(others), "generator"]
    assert "checks" not in price_table(recommend(FALLING)).columns


@pytest.mark.costly
def test_a_search_that_spent_its_budget_says_what_is_not_known() -> None:
    plan = replace(FALLING.plan, sizes=(), search=Search(8, 1, 128, budget_seconds=50))
    run = replace(FALLING, setting=replace(FALLING.setting, plan=plan), ended=SearchEnd.BUDGET)
    text = "\n".join(warning_sentences(recommend(analyze(run)).findings))
    assert "spent its budget of 50 s" in text
    assert "--budget" in text
    assert "spent" not in "\n".join(
        warning_sentences(recommend(analyze(replace(run, ended=SearchEnd.CERTAIN))).findings)
    )


@pytest.mark.long
def test_sizes_far_apart_leave_the_answer_between_them_and_say_so() -> None:
    answer = recommend(analyze(a_run({1: 100, 8: 400, 192: 1000, 768: 1010}, users=2000)))
    assert answer.pool_size is not None
    assert 8 < answer.pool_size < 192
    text = recommendation_text(answer)
    assert "may have up to 8 % less throughput than the best size" in text.splitlines()[0]
    assert "sizes between 8 and 192" in " ".join(text.split())


@pytest.mark.costly
def test_losses_are_never_negative_and_grow_away_from_the_best() -> None:
    losses = [price.throughput_loss for price in recommend(analyze(FALLING)).prices]
    assert 0 <= min(losses) < 0.02
    assert np.diff(losses[2:]).min() > 0


def test_a_limit_is_kept_at_a_fixed_rate_too() -> None:
    """The smallest pool that carries the rate and keeps the limit; there is no curve to read it from."""
    at_rate = replace(FALLING, setting=replace(FALLING.setting, plan=replace(FALLING.plan, rate=300.0)))
    run = replace(at_rate, steps=tuple(replace(step, rate=300.0, checks=()) for step in at_rate.steps))
    assert recommend(analyze(run)).pool_size == 4
    limited = recommend(analyze(run), LatencyLimits(max_p95_ms=645))
    assert limited.pool_size == 8
    assert (
        "At 300/s, no pool size keeps"
        in warning_sentences(recommend(analyze(run), LatencyLimits(max_p95_ms=5)).findings)[0]
    )


def test_an_answer_at_the_lower_end_sends_the_sweep_below_it() -> None:
    answer = recommend(analyze(a_run({4: 400, 6: 401})))
    assert answer.verdict == "edge"
    assert max(answer.sweep_sizes) <= 4
    assert "--pool-sizes 1,2,4" in warning_sentences(answer.findings)[0]


@pytest.mark.long
def test_the_plateau_is_one_and_the_same_everywhere() -> None:
    for curve in ({1: 100, 2: 200, 4: 390, 8: 400}, {1: 100, 2: 200, 4: 372, 8: 400, 16: 395}):
        analysis = analyze(a_run(curve))
        assert analysis.plateau is not None
        assert (
            analysis.models.estimates["plateau"].pool_size
            == analysis.plateau.pool_size
            == analysis.models.sizes["plateau"]
        )
