"""The recommendation: the plateau of curves whose answer is plain to see, and when it refuses to be one."""

import json
from dataclasses import replace

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.plateau import CERTAINTY
from poolsize.answer.finding import SweepBeyond
from poolsize.answer.from_run import recommend
from poolsize.answer.reasons import OnPlateau
from poolsize.answer.verdict import StillRising
from poolsize.errors import WorkFailed
from poolsize.present.plots.alt_text import of_throughput
from poolsize.present.text.analysis import analysis_text
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import recommendation_text, recommendation_values
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences
from poolsize.present.text.short_of_run import plateau_range_text, range_text
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult, Run
from tests.conftest import EXAMPLES, a_run, example

QUEUE_GREW = {"due_per_second": 500.0, "throughput": 420.0}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("curve", "size", "verdict"),
    [
        ({1: 100, 2: 200, 4: 390, 8: 400, 16: 395}, 4, "measured"),
        ({1: 400, 2: 401, 4: 399}, 1, "measured"),
        ({1: 100, 2: 200, 4: 390, 8: 700}, 8, "edge"),
        ({4: 400, 8: 401, 16: 399}, 4, "edge"),
        ({1: 100, 2: 200, 8: 400, 64: 900, 100: 905}, 8, "users-limited"),
    ],
)
def test_the_answer_that_a_person_sees(curve: dict[int, int], size: int, verdict: str) -> None:
    answer = recommend(analyze(a_run(curve)))
    assert (answer.pool_size, answer.verdict) == (size, verdict)
    assert answer.range is not None
    assert answer.range[0] <= size <= answer.range[1]


@pytest.mark.costly
def test_noise_widens_the_range_it_can_not_be_told_apart_from() -> None:
    curve = {1: 100, 2: 200, 4: 372, 8: 400, 16: 395}
    spans = [recommend(analyze(a_run(curve, noise=noise))).range for noise in (1, 60)]
    assert spans[0]
    assert spans[0][0] == 4
    assert spans[1]
    assert spans[1][1] > spans[0][1]


def test_a_range_too_wide_gives_no_size_but_a_way_to_one() -> None:
    answer = recommend(analyze(a_run({1: 260, 2: 300, 4: 372, 8: 400, 16: 395, 32: 390}, noise=250)))
    assert (answer.pool_size, answer.range, answer.verdict) == (None, None, "noisy")
    assert "--step-time" in warning_sentences(answer.findings)[0]


def test_one_size_is_nothing_to_compare() -> None:
    answer = recommend(analyze(a_run({4: 400})))
    assert (answer.pool_size, answer.verdict) == (None, "noisy")
    assert "Only one pool size, 4, is valid" in warning_sentences(answer.findings)[0]
    limited = recommend(analyze(a_run({4: 400}, cpu=0.95)))
    assert (limited.pool_size, limited.verdict) == (None, "generator-limited")
    assert "A worker was saturated or late at every pool size" in warning_sentences(limited.findings)[0]


def test_pools_as_large_as_the_users_give_no_size() -> None:
    answer = recommend(analyze(a_run({64: 900, 100: 905})))
    assert (answer.pool_size, answer.verdict) == (None, "users-limited")
    assert "--users" in warning_sentences(answer.findings)[0]
    assert "No pool size" in recommendation_text(answer)


@pytest.mark.costly
def test_users_who_are_too_few_are_the_limit_and_not_the_database() -> None:
    answer = recommend(analyze(a_run({1: 100, 2: 200, 8: 400, 64: 900, 100: 905})))
    text = recommendation_text(answer)
    assert "the highest throughput of the pools that 64 users filled" in " ".join(text.split())
    assert "capacity" not in text.split("Caution")[0].split("pool  throughput")[0]
    assert "Bottleneck" not in text
    analyzed = " ".join(analysis_text(analyze(a_run({1: 100, 2: 200, 8: 400, 64: 900, 100: 905}))).split())
    assert "of the highest throughput of the pools that 64 users filled (95 %" in analyzed
    assert "Bottleneck" not in analyzed


@pytest.mark.costly
def test_a_curve_that_still_rises_has_no_capacity_yet() -> None:
    analysis = analyze(a_run({1: 100, 2: 200, 4: 390, 8: 700}))
    text = " ".join(recommendation_text(recommend(analysis)).split())
    assert "8 connections reach 700/s, the highest throughput of the measured pool sizes." in text
    assert "of the highest throughput of the measured pool sizes (95 %" in " ".join(analysis_text(analysis).split())


@pytest.mark.costly
@pytest.mark.parametrize(
    ("curve", "repeats", "warned"),
    [({1: 100, 2: 200, 4: 205}, 1, True), ({1: 100, 2: 200, 4: 205}, 2, False), ({4: 100}, 1, False),
     ({1: 100, 2: 200, 4: 205, 8: 204}, 1, False)],
)  # fmt: skip
def test_a_few_steps_do_not_show_their_noise(curve: dict[int, int], repeats: int, warned: bool) -> None:
    run = a_run(curve)
    run = replace(run, steps=tuple(replace(step, repeat=repeat) for repeat in range(repeats) for step in run.steps))
    codes = {finding.code for finding in recommend(analyze(run)).findings}
    assert ("few_steps" in codes) == warned


@pytest.mark.costly
@pytest.mark.parametrize(
    ("curve", "known", "open_end", "headline"),
    [({1: 100, 2: 200, 4: 400, 8: 800}, "95 % range 8 or more", "high",
      "8 connections, counted over all processes (95 % range 8 or more)  [edge]"),
     ({4: 400, 8: 401, 16: 400}, "95 % range 4 or less", "low",
      "4 connections, counted over all processes (95 % range 4 or less)  [edge]"),
     ({1: 100, 2: 200, 4: 201, 8: 200}, "95 % range 2 to 4", None,
      "2 connections, counted over all processes (95 % range 2 to 4).")],
)  # fmt: skip
def test_the_range_is_open_beyond_the_measured_sizes_and_the_same_wherever_it_is_printed(
    curve: dict[int, int], known: str, open_end: str | None, headline: str
) -> None:
    analysis = analyze(a_run(curve))
    answer = recommend(analysis)
    assert recommendation_text(answer).splitlines()[0] == f"Use {headline}"
    values = json.loads(json_text(recommendation_values(answer)))
    assert (values["range_open"], values["range"] is None) == (open_end, not known)
    assert values["formula"] == {"cores": 4, "effective_disks": 1.0, "connections": 9}
    assert range_text(answer) == plateau_range_text(analysis) == known
    (plateau,) = [line for line in analysis_text(analysis).splitlines() if line.startswith("Plateau:")]
    for text in (plateau, of_throughput(analysis, answer)):
        assert known in text
        assert ("95 % range" in text) == bool(known)


def test_enough_users_fill_the_pools_to_measure_even_if_they_pause() -> None:
    """100 users with a usage time of 10 ms and pauses of 500 ms: 8 connections serve up to 800/s, for 400 pausing."""
    run = a_run({1: 100, 2: 200, 8: 790}, users=500)
    plan = replace(run.plan, think_time_ms=500.0)
    thinking = recommend(analyze(replace(run, setting=replace(run.setting, plan=plan))))
    usage_ms = analyze(run).at(8).usage.mean
    (way_out,) = [finding.way_out for finding in thinking.findings if isinstance(finding, StillRising)]
    assert isinstance(way_out, SweepBeyond)
    assert way_out.pool_sizes == (8, 16, 32, 64)
    assert way_out.users == pytest.approx(2 * 64 + 64 * 500 / usage_ms, abs=1)
    (without,) = [each.way_out for each in recommend(analyze(run)).findings if isinstance(each, StillRising)]
    assert isinstance(without, SweepBeyond)
    assert without.users is None


def test_too_many_users_to_simulate_are_not_advised() -> None:
    run = a_run({1: 100, 2: 200, 8: 790}, users=500)
    plan = replace(run.plan, think_time_ms=60_000.0)
    answer = recommend(analyze(replace(run, setting=replace(run.setting, plan=plan))))
    (sentence,) = [each for each in warning_sentences(answer.findings) if "still rises" in each]
    assert "with shorter pauses of the users" in sentence
    assert "--users" not in sentence


def test_a_cause_why_there_is_no_size_is_said_first() -> None:
    wide = a_run({1: 260, 2: 300, 4: 372, 8: 400, 16: 395, 32: 390}, noise=250)
    text = recommendation_text(recommend(analyze(disturbed(wide, 2))))
    assert text.startswith("Other programs used 1.0 of this machine's 2 cores: 2 of 8 measured steps failed a check")
    assert "The answer is in doubt" not in text
    assert recommendation_text(recommend(analyze(disturbed(wide, 1)))).startswith("No pool size")


@pytest.mark.costly
def test_a_busy_generator_is_said_and_hides_no_other_doubt() -> None:
    assert recommend(analyze(a_run({1: 100, 2: 200, 4: 201}, cpu=0.95))).verdict == "generator-limited"
    rising = recommend(analyze(a_run({1: 100, 2: 200, 4: 390, 8: 700}, cpu=0.95)))
    assert (rising.pool_size, rising.verdict, rising.range_open) == (8, "generator-limited", "high")
    text = " ".join(recommendation_text(rising).split())
    assert "a worker was saturated or late" in text
    assert "Throughput still rises at 8, the largest measured size" in text


BUSY_MACHINE = CheckResult(Check.QUIET, False, {"other_cores": 1.0, "cores": 2.0, "busy_cores": 2.0})


def test_other_programs_at_every_size_come_before_a_late_generator() -> None:
    run = a_run({1: 100, 2: 200, 4: 201}, cpu=0.95)
    steps = tuple(replace(step, checks=(*step.checks, BUSY_MACHINE)) for step in run.steps)
    assert all({Check.GENERATOR, Check.QUIET} <= {check.check for check in step.failed_checks} for step in steps)
    once = replace(run.setting, plan=replace(run.plan, attempts=1))
    answer = recommend(analyze(replace(run, setting=once, steps=steps)))
    assert (answer.pool_size, answer.verdict) == (None, "noisy")
    assert recommendation_text(answer).startswith("Other programs used 1.0 of this machine's 2 cores")


@pytest.mark.costly
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_measured_size_that_is_faster_than_capacity_is_said_first(repeats: int) -> None:
    run = a_run({1: 800, 2: 1600, 5: 3900, 10: 5300, 14: 5350, 19: 6500, 27: 5400, 38: 5300, 76: 5250}, users=200)
    again = [replace(step, repeat=repeat) for step in run.steps if step.pool_size == 10 for repeat in range(1, repeats)]
    answer = recommend(analyze(replace(run, steps=(*run.steps, *again))))
    assert answer.pool_size == 10
    text = " ".join(recommendation_text(answer).split())
    assert text.startswith(
        "The measured steps contradict the pool size of 10. With 19 connections, throughput was 6,500/s in 1 step, and "
        "the fitted curve puts capacity at 5,3"
    )


def disturbed(run: Run, number: int) -> Run:
    """The run, after this many attempts at its first step that other programs spoiled."""
    spoiled = replace(run.steps[0], checks=(BUSY_MACHINE,))
    plan = replace(run.plan, attempts=number + 1)
    return replace(run, setting=replace(run.setting, plan=plan), steps=(*[spoiled] * number, *run.steps))


@pytest.mark.long
def test_mostly_spoiled_steps_stand_before_the_number() -> None:
    run = a_run({1: 100, 2: 200, 4: 390, 8: 400})
    text = recommendation_text(recommend(analyze(disturbed(run, 5))))
    first, second = text.split("\n\n")[:2]
    assert " ".join(first.split()).startswith(
        "Other programs used 1.0 of this machine's 2 cores: 5 of 9 measured steps failed a check (quiet 5 times)."
    )
    assert second.startswith("Use 4 connections")
    assert text.count("5 of 9") == 1
    assert recommendation_text(recommend(analyze(disturbed(run, 4)))).startswith("Use 4 ")
    without_size = recommendation_text(recommend(analyze(disturbed(a_run({64: 900, 100: 905}), 3))))
    assert without_size.startswith("Other programs used 1.0 of this machine's 2 cores: 3 of 5 measured steps")


def test_an_incomplete_run_is_refused_with_the_way_on() -> None:
    run = a_run({1: 100, 2: 200, 4: 201})
    analysis = analyze(Run(run.setting, run.steps[:2]))
    with pytest.raises(WorkFailed, match="1 of 3 steps"):
        recommend(analysis)
    with pytest.raises(WorkFailed):
        analyze(Run(run.setting, ()))


@pytest.mark.costly
@pytest.mark.parametrize(("size", "verb"), [(9, "agrees"), (8, "overrides it")])
def test_the_measurement_agrees_with_the_formula_or_overrides_it(size: int, verb: str) -> None:
    answer = recommend(analyze(a_run({1: 50, 3: 150, size: 400, 27: 401})))
    assert f"The formula suggests 9 (4 cores x 2 + 1 disk). The measurement {verb}." in reason_sentences(
        answer.findings
    )


def test_the_table_has_a_line_for_each_size() -> None:
    text = analysis_text(analyze(a_run({1: 100, 2: 200, 100: 390})))
    (line,) = [line for line in text.splitlines() if line.split()[:1] == ["100"]]
    assert line.endswith("users_limited")
    assert "Plateau: 2 connections" in text


def at_a_rate(carried: dict[int, bool]) -> Run:
    """A sweep at 500/s in which some sizes carried it; each of the others was measured twice."""
    run = a_run(dict.fromkeys(carried, 500), users=1000)
    plan = replace(run.plan, rate=500.0)
    steps = [
        replace(
            step,
            rate=500.0,
            checks=() if carried[step.pool_size] else (CheckResult(Check.ARRIVALS, False, QUEUE_GREW),),
        )
        for step in run.steps
        for _ in range(1 if carried[step.pool_size] else 2)
    ]
    return Run(replace(run.setting, plan=plan), tuple(steps))


@pytest.mark.parametrize(
    ("carried", "size", "verdict"),
    [
        ({1: False, 2: False, 4: True, 8: True}, 4, "measured"),
        ({1: False, 2: False, 4: False, 8: True}, 8, "measured"),
        ({4: True, 8: True}, 4, "edge"),
    ],
)
def test_at_a_rate_the_smallest_size_that_carries_it_is_the_answer(
    carried: dict[int, bool], size: int, verdict: str
) -> None:
    answer = recommend(analyze(at_a_rate(carried)))
    assert (answer.pool_size, answer.verdict) == (size, verdict)


def test_a_rate_that_no_size_carries_is_said_to_be_that() -> None:
    answer = recommend(analyze(at_a_rate({1: False, 2: False})))
    assert answer.pool_size is None
    assert "No measured pool size serves 500/s" in warning_sentences(answer.findings)[0]


@pytest.mark.long
def test_the_answer_claims_no_more_probability_than_it_has() -> None:
    claimed = {}
    for name in EXAMPLES:
        analysis = example(name)
        assert analysis.plateau
        finding = recommend(analysis).findings[0]
        assert isinstance(finding, OnPlateau)
        assert finding.probability is not None
        claimed[name] = finding.probability
        assert claimed[name] <= analysis.plateau.probability
    assert set(claimed.values()) == {0.5, CERTAINTY}, "one example has a measured size in place of a larger one"


@pytest.mark.costly
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_throughput_of_a_measured_size_is_the_measured_mean(name: str) -> None:
    """Of the answer in the first sentence and in JSON, and in the price table."""
    analysis = example(name)
    answer = recommend(analysis)
    measured = {size.pool_size: size.throughput.mean for size in analysis.valid_sizes}
    if answer.pool_size in measured:
        assert answer.throughput == measured[answer.pool_size]
        assert dict(answer.findings[0].items())["throughput"] == measured[answer.pool_size]
    assert analysis.plateau
    for price in answer.prices:
        if price.pool_size in measured:
            loss = 1 - measured[price.pool_size] / analysis.plateau.capacity
            assert price.throughput_loss == pytest.approx(loss, abs=1e-6)
