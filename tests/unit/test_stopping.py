"""When a step ends: on time, when steady, when precise enough, or because it is beyond help."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil, sin
from statistics import fmean

import numpy as np
import pytest
from scipy.signal import lfilter

from poolsize.analysis.stats.confidence import mean_interval
from poolsize.load.master_step import Ending, StepSeconds, ending
from poolsize.load.messages import ReportedSecond, StepSecond
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Stopped, StopReason
from tests.conftest import in_ci

PLAN = SweepPlan((4,), 16, "scan", warm_up_seconds=2, step_seconds=10)
COMPILING = (
    0, 39, 51, 45, 61, 66, 72, 83, 85, 68, 61, 78, 87, 75, 73, 80, 66, 86, 86, 78, 79, 98, 92, 134, 159, 243, 162, 155,
    121, 152, 261, 151, 238, 167, 273, 261, 269, 319, 211, 164, 213, 302, 360, 419, 462, 450, 312, 314, 451, 229, 384,
    340, 317, 568, 585, 436, 356, 294, 611, 470, 437, 455, 364, 434, 515, 514, 215, 439, 434, 602, 539, 479, 363, 476,
    382, 463, 506, 460, 434, 444, 468, 395, 475, 406, 467, 466, 322, 455, 649, 638, 867, 706, 458, 681, 833, 705, 861,
)  # fmt: skip
"""Requests in each second of a Spring Boot service that has just started, on two cores that other programs also use."""


def course(throughput: Sequence[int], errors: int = 0, backlog: int = 0) -> list[StepSecond]:
    return [StepSecond(transactions, {"deadlock": errors}, backlog=backlog) for transactions in throughput]


def ended(plan: SweepPlan, seconds: Sequence[StepSecond], most_seconds: int | None = None) -> Ending:
    """The ending of a step that is looked at each second."""
    planned, lengths = PlannedStep(0, 4, 0, plan.rate, most_seconds), range(1, len(seconds) + 1)
    return next(end for length in lengths if (end := ending(plan, planned, seconds[:length])))


def seconds_until(plan: SweepPlan, throughput: Sequence[int], **more: int) -> Ending:
    return ended(plan, course(throughput, **more))


def noisy(random: np.random.Generator, noise: float) -> np.ndarray:
    """100 seconds around 1, with this standard deviation, which resemble their neighbours."""
    return np.asarray(1 + lfilter([1.0], [1.0, -0.5], random.normal(0, noise * np.sqrt(0.75), 150))[50:])


def test_a_steady_step_takes_its_length() -> None:
    assert seconds_until(PLAN, [100, 101] * 30) == Ending(2, 12, None)


@pytest.mark.parametrize("most_seconds", in_ci(range(10, 60), *range(10, 60, 7)))
@pytest.mark.parametrize("rate", [None, 100.0])
def test_no_step_is_extended_beyond_the_budget(most_seconds: int, rate: float | None) -> None:
    """Throughput that rises without end, and a pool that just serves the rate or does not: both would last 42 s."""
    plan = replace(PLAN, rate=rate)
    rising = [StepSecond(100 * second) for second in range(60)]
    seconds = rising if rate is None else [StepSecond(100, busy=4 + (-1) ** second / 2) for second in range(60)]
    end = ended(plan, seconds, most_seconds)
    assert end.last == min(plan.longest_seconds, max(plan.planned_seconds, most_seconds))
    assert rate is None or end.last - end.first >= plan.step_seconds


def test_a_slow_start_is_cut_and_made_up_for() -> None:
    end = seconds_until(PLAN, [*range(0, 100, 5), *[100, 101] * 20])
    assert end.stopped is None
    assert end.first >= 10
    assert end.last - end.first >= 10


@pytest.mark.costly
@pytest.mark.parametrize(("warm_up_seconds", "step_seconds"), [(2, 8), (2, 10), (3, 15)])
@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_the_ramp_of_a_short_step_is_not_counted(warm_up_seconds: int, step_seconds: int, noise: float) -> None:
    """A start of five seconds at 20, 40, 60, 80 and 100 %: counted, it is worth up to -7.5 % of the throughput."""
    plan = replace(PLAN, warm_up_seconds=warm_up_seconds, step_seconds=step_seconds)
    random = np.random.default_rng(5)
    means = []
    for _ in range(200):
        climb = np.minimum(1, np.arange(1, 101) / 5)
        throughput = [round(1000 * value) for value in (climb * noisy(random, noise)).tolist()]
        end = seconds_until(plan, throughput)
        assert end.last - end.first >= step_seconds
        means.append(fmean(throughput[end.first : end.last]))
    assert fmean(means) == pytest.approx(1000, rel=0.01)


def test_the_warm_up_goes_on_while_a_jvm_compiles() -> None:
    """Without that, 89/s counted, of a service that does 650/s: the seconds 10 to 25 are steady enough for a step."""
    plan = replace(PLAN, warm_up_seconds=10, step_seconds=15)
    counted = []
    for longest in (0, 60):
        end = seconds_until(replace(plan, longest_warm_up_seconds=longest), COMPILING)
        counted.append(fmean(COMPILING[end.first : end.last]))
        assert end.first <= max(10, longest)
    assert counted == pytest.approx([89, 443], abs=1)


OF_SEARCH = replace(PLAN, step_seconds=8)
OF_APPLICATION = replace(PLAN, warm_up_seconds=10, step_seconds=15, longest_warm_up_seconds=60)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("plan", "noise", "most"),
    [(OF_SEARCH, 0.05, 1.05), (OF_APPLICATION, 0.02, 1.03), (OF_APPLICATION, 0.05, 1.03), (OF_APPLICATION, 0.1, 1.15)],
)
def test_noise_makes_a_step_hardly_longer(plan: SweepPlan, noise: float, most: float) -> None:
    """On average, with the defaults of a search, and those of an application, whose warm-up may be longer."""
    random = np.random.default_rng(5)
    steps = ([round(1000 * value) for value in noisy(random, noise).tolist()] for _ in range(200))
    assert fmean(seconds_until(plan, step).last for step in steps) < most * plan.planned_seconds


def test_a_step_that_never_settles_ends_all_the_same() -> None:
    assert seconds_until(PLAN, range(0, 10_000, 100)).last == PLAN.longest_seconds


def test_precision_makes_a_step_longer() -> None:
    noisy = [100 + round(20 * sin(second**2)) for second in range(60)]
    assert seconds_until(PLAN, noisy).last == 12
    precise = seconds_until(replace(PLAN, precision=0.08), noisy).last
    assert 12 < precise < PLAN.longest_seconds
    assert seconds_until(replace(PLAN, precision=0.001), noisy).last == PLAN.longest_seconds


def test_too_many_failures_end_it() -> None:
    end = seconds_until(PLAN, [100] * 20, errors=10)
    assert end.last < 12
    assert end.stopped == Stopped(StopReason.TOO_MANY_ERRORS, {"failed": 20, "transactions": 220})
    assert seconds_until(replace(PLAN, error_budget=0.2), [100] * 20, errors=10).stopped is None


def test_a_queue_without_end_ends_it() -> None:
    end = seconds_until(replace(PLAN, rate=100.0), [50] * 20, backlog=501)
    assert end.stopped == Stopped(StopReason.BACKLOG, {"backlog": 501})
    assert seconds_until(replace(PLAN, rate=100.0), [50] * 20, backlog=499).stopped is None


def served(users: int, per_second: int, length: int) -> list[StepSecond]:
    """The seconds of a closed loop whose users all ask at its beginning, and are served in order."""
    return [StepSecond(per_second, unserved=max(0, users - per_second * (second + 1))) for second in range(length)]


@pytest.mark.parametrize(("users", "per_second", "step_seconds"), [(272, 40, 8), (272, 10, 8), (272, 40, 2)])
def test_the_warm_up_lasts_until_every_user_was_served(users: int, per_second: int, step_seconds: int) -> None:
    """Until then, wait times climb for users / throughput seconds, and Little's law misses the users."""
    plan = replace(PLAN, step_seconds=step_seconds)
    seconds = served(users, per_second, 100)
    end = ended(plan, seconds)
    assert end == Ending(ceil(users / per_second), ceil(users / per_second) + step_seconds, None)
    mean_total = fmean(min(second + 0.5, users / per_second) for second in range(end.first, end.last))
    assert per_second * mean_total == pytest.approx(users, rel=0.05)


def test_users_that_are_never_served_prolong_the_warm_up_until_they_time_out() -> None:
    plan = replace(PLAN, pool_timeout_seconds=20.5)
    seconds = served(272, 1, 200)
    end = ended(plan, seconds)
    assert (end.first, end.last) == (21, 31)


@pytest.mark.costly
@pytest.mark.parametrize("pause_seconds", [0.1, 2.0, 6.0])
def test_the_warm_up_lasts_until_the_longest_pauses_are_over(pause_seconds: float) -> None:
    """Pauses that end soon after the beginning are the short ones; Little's law needs the long ones as well."""
    users, plan = 600, replace(PLAN, users=600, step_seconds=15)
    chance, transactions_of, gap_seconds = np.random.default_rng(1), [0] * 100, [0.0] * 100
    for _ in range(users):
        moment, gap = 0.001, 0.0
        while moment < 100:
            transactions_of[int(moment)] += 1
            gap_seconds[int(moment)] += gap
            gap = chance.exponential(pause_seconds)
            moment += gap + 0.001
    seconds = [StepSecond(ended, gap_seconds=gaps) for ended, gaps in zip(transactions_of, gap_seconds, strict=True)]
    end = ended(plan, seconds)
    assert end.first == pytest.approx(max(plan.warm_up_seconds, 4 * pause_seconds), abs=2 + pause_seconds / 2)
    counted = seconds[end.first : end.last]
    transactions = sum(second.transactions for second in counted)
    mean_gap = sum(second.gap_seconds for second in counted) / transactions
    assert transactions / len(counted) * (mean_gap + 0.001) == pytest.approx(users, rel=0.05)


def test_pauses_that_all_last_alike_are_awaited_and_an_open_loop_has_none() -> None:
    """20 users who pause for 6 s come back together; arrivals at a rate follow no pause."""
    plan = replace(PLAN, users=20, step_seconds=15)
    seconds = [StepSecond(20 * (not second % 6), gap_seconds=120.0 * (second % 6 == 0)) for second in range(90)]
    seconds[0] = replace(seconds[0], gap_seconds=1e-6)
    end = ended(plan, seconds)
    assert 24 <= end.first <= 36
    assert seconds_until(replace(PLAN, users=200), [20] * 30) == Ending(2, 12, None)


def second_of(index: int, values: Sequence[int]) -> ReportedSecond:
    return ReportedSecond(
        index, StepSecond(len(values), {"deadlock": 1}, dict(Counter(values)), unserved=3, backlog=2, busy=1.5)
    )


def test_a_second_is_complete_when_every_worker_has_reported_it() -> None:
    seconds = StepSeconds(["first", "second"])
    seconds.add("first", second_of(0, [1000] * 19))
    seconds.add("first", second_of(1, [1000]))
    assert seconds.complete == []
    seconds.add("second", second_of(0, [9000]))
    (first,) = seconds.complete
    assert (first.transactions, first.errors, first.p95_ms) == (20, {"deadlock": 2}, 1.0)
    assert (first.backlog, first.busy, first.unserved) == (4, 3.0, 6)
    seconds.lose("second")
    seconds.add("second", second_of(2, [9000]))
    assert [complete.transactions for complete in seconds.complete] == [20, 1]


@pytest.mark.long
@pytest.mark.parametrize("lag_one", in_ci([0.0, 0.5, 0.8], 0.8))
def test_intervals_hold_the_truth_whatever_the_rules_made_of_the_step(lag_one: float) -> None:
    """600 steps of 30 s of 3 % noise, warm-up cut and all: nearly as often as without the rules (test_confidence)."""
    plan = SweepPlan((4,), 16, "scan", warm_up_seconds=3, step_seconds=30)
    random = np.random.default_rng(5)
    covering = 0
    for _ in range(600):
        noise = lfilter([1.0], [1.0, -lag_one], random.normal(0, 30 * np.sqrt(1 - lag_one**2), 300))[150:]
        throughput = [round(1000 + value) for value in noise.tolist()]
        end = seconds_until(plan, throughput)
        interval = mean_interval([throughput[end.first : end.last]])
        covering += interval.low <= 1000 <= interval.high
    assert covering / 600 >= 0.9
