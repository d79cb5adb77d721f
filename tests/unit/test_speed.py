"""The machine's speed: preemption does not change it, and a step is corrected to the usual speed, or measured again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.analysis.speed import UsualSpeed, speed_correction, usual_speed, with_speed_checks
from poolsize.answer.finding import Severity
from poolsize.answer.from_run import recommend
from poolsize.answer.warnings import CheckFailed
from poolsize.comparison.comparison import RunDifference, compare
from poolsize.comparison.text import comparison_text
from poolsize.present.text.analysis import analysis_text
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.setting import facts
from poolsize.present.text.short import main_caution
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search, SearchEnd
from poolsize.runs.run import Calibration, CheckResult, Run, Step
from poolsize.runs.store import RunWriter, load_run
from poolsize.server.speed_probe import SpeedProbe, usable_cores
from poolsize.sweep.events import Event, SpeedAwaited
from poolsize.sweep.loop import LoadGenerator, sweep
from tests.conftest import a_run, a_setting, a_step, at_speed, curve_of, in_ci

RATES = {1: 50, 2: 85, 4: 83, 8: 81}
"""Mean throughputs of a two-core virtual machine; 2 is the smallest size within 5 % of capacity."""
USUAL, SLOW = 48.0, 0.65


class SlowMachine:
    """A load generator on a machine that is slow while it measures certain attempts at one size."""

    notes: tuple[str, ...] = ()

    def __init__(self, slow_size: int, slow_attempts: int, *, readings: int = 0) -> None:
        self.random = np.random.default_rng([slow_size, slow_attempts])
        self.slow_size, self.slow_attempts, self.slow_readings = slow_size, slow_attempts, readings

    def calibrate(self) -> Calibration:
        """The speed is the usual speed."""
        return Calibration(7.0, 70.0, USUAL)

    def speed(self) -> float:
        """Slow at first."""
        self.slow_readings -= 1
        return SLOW * USUAL if self.slow_readings >= 0 else USUAL

    def measure(self, planned: PlannedStep) -> Step:
        """Throughput follows the speed."""
        is_slow = planned.pool_size == self.slow_size and self.slow_attempts > 0
        self.slow_attempts -= is_slow
        speed = SLOW if is_slow else 1.0
        rate = float(np.interp(planned.pool_size, list(RATES), list(RATES.values())))
        seconds = speed * rate * (1 + 0.03 * self.random.standard_normal(15))
        step = replace(a_step(planned.pool_size, seconds.round().astype(int).tolist()), repeat=planned.repeat)
        step = replace(step, order=planned.order)
        return at_speed(step, speed * USUAL)


SEARCH = Search(start=2, smallest=1, largest=8, budget_seconds=3000)


def swept(generator: LoadGenerator, path: Path, search: Search | None = None) -> tuple[Run, list[Event]]:
    setting, events = a_setting(tuple(RATES)), list[Event]()
    setting = replace(setting, plan=replace(setting.plan, search=search, sizes=() if search else setting.plan.sizes))
    with RunWriter(path, setting) as writer:
        run = sweep(Run(setting, ()), (), generator, writer, events.append)
    return run, events


@pytest.mark.costly
@pytest.mark.parametrize("size", RATES)
@pytest.mark.parametrize("attempts", [1, 2])
def test_a_slow_stretch_does_not_change_the_answer_of_a_grid(tmp_path: Path, size: int, attempts: int) -> None:
    """Without the speed, a stretch over both steps of a size makes the grid answer 8 (7 to 8) for size 4, 4 for 2."""
    run, _ = swept(SlowMachine(size, attempts), tmp_path / "slow.jsonl")
    assert recommend(run).pool_size == 2
    slow = [step for step in run.steps if step.failed_checks]
    assert [step.pool_size for step in slow] == [size] * attempts
    assert {result.check for step in slow for result in step.failed_checks} == {Check.SPEED}
    assert with_speed_checks(load_run(tmp_path / "slow.jsonl")) == run


@pytest.mark.costly
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_search_measures_a_size_again_that_had_another_speed(tmp_path: Path, size: int) -> None:
    run, _ = swept(SlowMachine(size, 2), tmp_path / "slow.jsonl", SEARCH)
    answer = recommend(run)
    assert answer.pool_size == 2
    slow = [step for step in run.steps if step.had_other_speed]
    assert [step.pool_size for step in slow] == [size] * 2
    assert not set(map(id, slow)) & set(map(id, curve_of(run)))


@pytest.mark.costly
def test_a_search_on_a_machine_that_stays_slow_ends(tmp_path: Path) -> None:
    run, _ = swept(SlowMachine(4, 99), tmp_path / "slow.jsonl", SEARCH)
    assert run.ended
    assert 4 in {step.pool_size for step in curve_of(run)}


@pytest.mark.costly
def test_the_sweep_waits_for_the_usual_speed_before_another_attempt(tmp_path: Path) -> None:
    _, events = swept(SlowMachine(2, 1, readings=5), tmp_path / "slow.jsonl")
    assert [event for event in events if isinstance(event, SpeedAwaited)] == [SpeedAwaited(2, SLOW)] * 5


@pytest.mark.costly
def test_a_machine_that_stays_slow_is_named_and_the_run_ends(tmp_path: Path) -> None:
    run, events = swept(SlowMachine(8, 99, readings=10**6), tmp_path / "slow.jsonl")
    assert sum(step.pool_size == 8 for step in run.steps) == run.plan.attempts
    assert sum(isinstance(event, SpeedAwaited) for event in events) == 60 * (run.plan.attempts - 1)
    answer = recommend(run)
    assert answer.range is not None
    assert answer.range[0] <= 2 <= answer.range[1]
    assert "speed" in {finding.check for finding in answer.findings if isinstance(finding, CheckFailed)}


def speeds(*figures: float, busy: float | None = None, ripple: float = 0.0) -> list[bool]:
    """Whether the steps of a run at these speeds pass. ripple: share by which every second differs from the mean."""
    run = a_run(dict.fromkeys(range(1, len(figures) + 1), 100))
    steps = tuple(
        at_speed(step, figure * (1 - ripple), figure * (1 + ripple), busy=busy)
        for step, figure in zip(run.steps, figures, strict=True)
    )
    run = with_speed_checks(replace(run, steps=steps))
    return [not any(result.check is Check.SPEED for result in step.failed_checks) for step in run.steps]


def test_the_usual_speed_is_that_of_most_steps_and_a_step_may_differ_by_15_percent() -> None:
    assert speeds(100, 112, 88) == [True, True, True]
    assert speeds(100, 84, 100) == [True, False, True]
    assert speeds(100, 100, 116) == [True, True, False]
    assert speeds(65, 65, 100, 100) == [False, False, True, True]  # a neighbour makes a machine slower, not faster
    assert speeds(65, 100, 100) == [False, True, True]


def test_fewer_than_three_steps_do_not_show_the_usual_speed() -> None:
    assert speeds(65, 100) == [True, True]


def test_the_speed_that_the_own_load_explains_is_no_other_speed() -> None:
    """Hyper-threads share a core, and busy cores share a clock rate: size 1 keeps one of two cores busy."""
    assert speeds(100, 61, 60, 60) == [True] * 4
    assert speeds(100, 60, 60, 50) == [True, True, True, False]
    assert speeds(100, 100, 65, 100) == [True, True, False, True]
    assert speeds(65, 100, 100, 100) == [False, True, True, True]  # more load makes no core faster


def test_a_speed_that_does_not_change_throughput_is_no_other_speed() -> None:
    """Transactions that wait for the disk need the CPU for a small part of their time."""
    assert speeds(100, 100, 75, 100, busy=0.3) == [True] * 4
    assert speeds(100, 100, 75, 100) == [True, True, False, True]


def test_a_speed_within_its_own_noise_is_no_other_speed() -> None:
    assert speeds(100, 100, 80, 100, ripple=0.3) == [True] * 4
    assert speeds(100, 100, 60, 100, ripple=0.3) == [True, True, False, True]


def followed(power: float, seed: int) -> Run:
    """24 steps of 8 s whose throughput follows a power of the speed; the probe reads it with 4 % of noise a second."""
    random = np.random.default_rng(seed)
    steps = []
    for order in range(24):
        speeds = USUAL * np.exp(0.05 * random.standard_normal() + 0.04 * random.standard_normal(8))
        counts = 500 * (speeds / USUAL) ** power * np.exp(0.01 * random.standard_normal(8))
        read = speeds * np.exp(0.04 * random.standard_normal(8))
        step = a_step((2, 4, 8)[order % 3], counts.round().astype(int).tolist(), order=order)
        steps.append(at_speed(step, USUAL, *read.tolist(), busy=2.0))
    return replace(a_run({2: 500, 4: 500, 8: 500}), steps=tuple(steps))


@pytest.mark.costly
@pytest.mark.parametrize("seed", in_ci(range(5), 0))
@pytest.mark.parametrize("power", [1.0, 1.6])
def test_throughput_that_follows_the_speed_or_more_varies_less_once_corrected(power: float, seed: int) -> None:
    run = followed(power, seed)
    usual = UsualSpeed.of(run)
    assert usual is not None
    measured = [np.log(step.mean_throughput) for step in run.steps]
    corrected = [np.log(step.mean_throughput * usual.correction(step)[0]) for step in run.steps]
    assert np.std(corrected) <= 0.6 * np.std(measured)
    if power == 1:
        errors = [usual.correction(step)[1] for step in run.steps]
        assert 0.5 * np.std(corrected) <= np.mean(errors) <= 2 * np.std(corrected)


def test_a_run_without_speeds_has_neither_a_check_nor_a_usual_speed() -> None:
    run = a_run({1: 100, 2: 200})
    assert with_speed_checks(run) == run
    assert usual_speed(run) is None


@pytest.fixture
def core() -> int:
    """A core that this process may use."""
    if not usable_cores(None):
        pytest.skip("the system has no affinity")
    return usable_cores(None)[0]


def measured(core: int, seconds: float) -> float:
    probe = SpeedProbe()
    probe.start((core,))
    time.sleep(seconds)
    probe.stop()
    speed = probe.take()
    assert speed is not None
    return speed


@pytest.mark.long
def test_preemption_does_not_change_the_speed(core: int) -> None:
    """Three busy loops take three quarters of the probed core; by the clock on the wall, the speed would be a quarter.

    The pairs alternate, and 0.5 is far from a quarter, because the speed of a shared machine changes by a third.
    """
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    ratios = []
    try:
        for process in busy:
            os.sched_setaffinity(process.pid, {core})
        for _ in range(5):
            signal_all(busy, signal.SIGCONT)
            crowded = measured(core, 0.6)
            signal_all(busy, signal.SIGSTOP)
            ratios.append(crowded / measured(core, 0.6))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert median(ratios) > 0.5


def signal_all(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        process.send_signal(number)


@pytest.mark.long
def test_the_probe_takes_less_than_a_percent_of_one_core(core: int) -> None:
    before = time.process_time()
    measured(core, 2.0)
    assert time.process_time() - before < 2.0 * 0.02  # start and end of the thread included


@pytest.mark.long
def test_a_comparison_names_the_speed_that_differs_and_no_other() -> None:
    first, slower = (at_speeds(a_run(dict.fromkeys((1, 2, 4, 8), 100)), speed) for speed in (100.0, 90.0))
    comparison = compare({"first": analyze(first), "slower": analyze(slower)})
    assert comparison.others[0].faster_machine == pytest.approx(-0.1)
    assert "ran at 90 % of its usual speed in the first run" in comparison_text(comparison)
    same = compare({"first": analyze(first), "same": analyze(at_speeds(slower, 98.0))})
    assert "usual speed" not in comparison_text(same)


def at_speeds(run: Run, speed: float) -> Run:
    """The run on a machine of this speed."""
    return with_speed_checks(replace(run, steps=tuple(at_speed(step, speed) for step in run.steps)))


class WanderingMachine(SlowMachine):
    """A load generator on a machine whose speed differs from step to step, and throughput with it."""

    def __init__(self, seed: int) -> None:
        super().__init__(slow_size=0, slow_attempts=0)
        self.random = np.random.default_rng(seed)

    def calibrate(self) -> Calibration:
        """Without a speed."""
        return Calibration(7.0, 70.0)

    def measure(self, planned: PlannedStep) -> Step:
        """Throughput follows the speed and, from second to second, a noise of its own."""
        speed = float(np.exp(self.random.uniform(-0.06, 0.06)))
        rate = float(np.interp(planned.pool_size, list(RATES), list(RATES.values())))
        seconds = speed * rate * (1 + 0.02 * self.random.standard_normal(15))
        step = replace(a_step(planned.pool_size, seconds.round().astype(int).tolist()), repeat=planned.repeat)
        probed = speed * USUAL * (1 + 0.02 * self.random.standard_normal(16))
        return at_speed(replace(step, order=planned.order), *probed.tolist())


@pytest.mark.costly
@pytest.mark.parametrize("search", [None, SEARCH], ids=["grid", "search"])
@pytest.mark.parametrize("seed", in_ci(range(5), 0))
def test_a_wandering_speed_does_not_change_the_answer(tmp_path: Path, seed: int, search: Search | None) -> None:
    """As measured, throughput at 2 connections may be 8 % below that at 8."""
    run, _ = swept(WanderingMachine(seed), tmp_path / "wander.jsonl", search)
    assert not any(step.had_other_speed for step in run.steps if step.pool_size > 1)
    answer = recommend(run)
    assert answer.pool_size == 2
    ratio = analyze(run).at(2).throughput.mean / analyze(run).at(8).throughput.mean
    assert ratio == pytest.approx(RATES[2] / RATES[8], rel=0.04)


def corrections(*figures: float, busy: float | None = None, rate: float | None = None) -> list[float]:
    """The factors that correct the steps of a run at these speeds."""
    run = a_run(dict.fromkeys(range(1, len(figures) + 1), 100))
    steps = [at_speed(step, figure, busy=busy) for step, figure in zip(run.steps, figures, strict=True)]
    plan = replace(run.setting.plan, rate=rate)
    run = replace(run, setting=replace(run.setting, plan=plan), steps=tuple(replace(step, rate=rate) for step in steps))
    return [speed_correction(step)[0] for step in with_speed_checks(run).steps]


def test_throughput_is_corrected_to_the_usual_speed() -> None:
    assert corrections(100, 100, 90, 100, busy=2.0) == pytest.approx([1, 1, 1 / 0.9, 1])
    assert corrections(100, 100, 110, 100, busy=2.0) == pytest.approx([1, 1, 1 / 1.1, 1])


def test_only_the_cpus_part_in_the_transactions_is_corrected() -> None:
    """At 3 connections, the server's 0.3 cores and the worker's 0.2 are a sixth of the connections' time."""
    assert corrections(100, 100, 90, 100, busy=0.3) == pytest.approx([1, 1, (1 / 0.9) ** (1 / 6), 1])


def test_throughput_that_pauses_limit_is_hardly_corrected() -> None:
    """100 users who pause for 990 ms and wait 10 ms make 100/s at any speed."""
    steps = [
        at_speed(replace(a_step(4, [100] * 10, users=100), gap_ms=990.0), speed * USUAL, busy=0.8)
        for speed in (1.0, 0.8, 1.0, 1.0)
    ]
    usual = UsualSpeed.of(replace(a_run({4: 100}, users=100), steps=tuple(steps)))
    assert usual is not None
    factor, _ = usual.correction(steps[1])
    assert 1 <= factor < 1.01


def test_a_steady_speed_and_an_arrival_rate_correct_nothing() -> None:
    assert corrections(100, 100, 100, 100) == pytest.approx([1, 1, 1, 1])
    assert corrections(100, 100, 90, 100, rate=50.0) == [1, 1, 1, 1]


def test_beside_a_remote_server_nothing_is_corrected_and_the_bound_is_3_percent() -> None:
    run = a_run(dict.fromkeys(range(2, 6), 100), cpu=0.95)
    steps = [at_speed(step, speed) for step, speed in zip(run.steps, (100, 100, 90, 100), strict=True)]
    remote = [
        replace(step, server={name: values for name, values in step.server.items() if not name.startswith("process")})
        for step in steps
    ]
    checked = with_speed_checks(replace(run, steps=tuple(remote))).steps
    assert [speed_correction(step)[0] for step in checked] == [1, 1, 1, 1]
    assert [step.had_other_speed for step in checked] == [False, False, True, False]


def test_time_that_the_hypervisor_gave_to_others_slows_the_machine() -> None:
    """One of the two busy cores' seconds in ten is stolen."""
    run = a_run(dict.fromkeys(range(2, 6), 100))
    first, *others = (at_speed(step, 100, busy=2.0) for step in run.steps)
    stolen = replace(first, server=dict(first.server) | {"machine_steal": (0.2,) * len(first.throughput)})
    factors = [speed_correction(step)[0] for step in with_speed_checks(replace(run, steps=(stolen, *others))).steps]
    assert factors == pytest.approx([1 / 0.9, 1, 1, 1])


@pytest.mark.costly
def test_only_beside_the_server_is_the_speed_that_of_its_machine() -> None:
    """A user of a server elsewhere learns that its speed is unknown."""
    run = at_speeds(a_run(dict.fromkeys((1, 2, 4, 8), 100)), 48.0)
    elsewhere = replace(run, steps=tuple(
        replace(step, server={name: seconds for name, seconds in step.server.items() if name != "process_cpu"})
        for step in run.steps
    ))  # fmt: skip
    here, far = (" ".join(analysis_text(analyze(of)).split()) for of in (run, elsewhere))
    assert "The machine's usual speed: it compresses 48.0 MB" in here
    assert "is unknown" not in here
    assert "The usual speed of the load generator's machine: it compresses 48.0 MB" in far
    assert "the speed of the server's machine is unknown" in far
    assert [dict(facts(of)).get("Speed of the server's machine") for of in (run, elsewhere)] == [
        None, "unknown",
    ]  # fmt: skip


@pytest.mark.costly
def test_a_correction_is_named_in_the_answer() -> None:
    run = a_run({1: 50, 2: 85, 4: 83, 8: 81})
    run = with_speed_checks(replace(run, steps=tuple(
        at_speed(step, USUAL * (0.9 if step.pool_size == 8 else 1), busy=2.0) for step in run.steps
    )))  # fmt: skip
    (finding,) = [finding for finding in recommend(run).findings if finding.code == "speed_corrected"]
    assert dict(finding.items()) == {"steps": 1, "low": pytest.approx(1 / 9), "high": pytest.approx(1 / 9)}
    text = " ".join(recommendation_text(recommend(run)).split())
    assert "The throughput of 1 step is corrected to the usual speed of all steps, by +11.1 %" in text
    assert analyze(run).at(8).throughput.mean == pytest.approx(81 / 0.9)


@pytest.mark.costly
def test_a_spent_budget_comes_before_the_speed_and_the_speed_before_excluded_steps() -> None:
    """The next commands advise a larger budget, so the main caution has their reason."""
    run = a_run({1: 50, 2: 85, 4: 83, 8: 81}, noise=20)
    plan = replace(run.plan, sizes=(), search=replace(SEARCH, budget_seconds=60))
    slow, *others = (at_speed(step, USUAL * (0.9 if step.pool_size == 8 else 1), busy=2.0) for step in run.steps)
    failed = replace(slow, checks=(CheckResult(Check.QUIET, False, {}),))
    run = Run(replace(run.setting, plan=plan), (failed, slow, *others), ended=SearchEnd.BUDGET)
    answer = recommend(run)
    warnings = [each.code for each in answer.findings if each.severity is Severity.WARNING]
    assert warnings[:2] == ["budget_spent", "speed_corrected"]
    assert warnings.index("retried") > 1
    assert main_caution(answer.findings)[1].startswith("The search spent its budget of 60 s")


def in_turn(sizes: Sequence[int], figures: Sequence[tuple[float, float, int]]) -> RunDifference:
    """Two runs whose steps alternate, as compared. figures: speed, busy cores and throughput of each step, in turn."""
    steps: tuple[list[Step], list[Step]] = ([], [])
    for place, (speed, busy, rate) in enumerate(figures):
        step = at_speed(a_step(sizes[place // 2], [rate] * 10), speed, busy=busy)
        moment = datetime(2026, 1, 2, tzinfo=UTC) + timedelta(seconds=20 * place)
        steps[place % 2].append(replace(step, order=place // 2, started=moment.isoformat()))
    run = a_run(dict.fromkeys(sizes, 1000))
    first, other = (analyze(with_speed_checks(replace(run, steps=tuple(of_run)))) for of_run in steps)
    return compare({"first": first, "other": other}).others[0]


@pytest.mark.costly
def test_the_load_of_two_servers_in_turn_is_no_advantage() -> None:
    """The other server keeps more cores busy, which slows them for both alike: the difference is as measured."""
    difference = in_turn((2, 4, 8, 16), [(100.0, 1.0, 1000), (80.0, 1.9, 900)] * 4).throughput
    assert difference is not None
    assert difference.mean == pytest.approx(-0.1, abs=0.002)


@pytest.mark.costly
def test_two_servers_in_turn_are_corrected_to_one_usual_speed() -> None:
    """The machine becomes slower from step to step, and the second run has each slower step of a pair."""
    speeds = [1 - 0.02 * place for place in range(8)]
    difference = in_turn((1, 2, 4, 8), [(speed * USUAL, 2.0, round(1000 * speed)) for speed in speeds])
    assert difference.in_turn
    assert difference.throughput is not None
    assert difference.throughput.mean == pytest.approx(0, abs=0.002)
