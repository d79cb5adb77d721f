"""The machine's speed: preemption does not change it, and a step at another speed is measured again."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.comparison import compare
from poolsize.answer.recommendation import recommend
from poolsize.present.text.comparison import comparison_text
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, Search
from poolsize.runs.run import Calibration, Run, Step
from poolsize.runs.speed import usual_speed, with_speed_checks
from poolsize.runs.store import RunWriter, load_run
from poolsize.sweep.events import Event, SpeedAwaited
from poolsize.sweep.loop import sweep
from poolsize.target.speed_probe import SpeedProbe, usable_cores
from tests.conftest import a_run, a_setting, a_step, curve_of

RATES = {1: 50, 2: 85, 4: 83, 8: 81}
"""Mean throughputs of a two-core virtual machine; 2 is the smallest size within 5 % of capacity."""
USUAL, SLOW = 48.0, 0.65


def at_speed(step: Step, *speeds: float, busy: float | None = None) -> Step:
    """A step at these speeds, second by second, of a server that keeps so many of two cores busy, else all it can."""
    seconds, cores = len(step.throughput), min(2.0, step.pool_size) if busy is None else busy
    counters = {"machine_cores": 2.0, "machine_cpu": cores, "process_cores": 2.0, "process_cpu": cores}
    series = {name: (value,) * seconds for name, value in counters.items()}
    return replace(step, server=dict(step.server) | series | {"machine_speed": (speeds * seconds)[:seconds]})


class SlowMachine:
    """A load generator on a machine that is slow while it measures certain attempts at one size."""

    notes: tuple[str, ...] = ()

    def __init__(self, slow_size: int, slow_attempts: int, *, records_speed: bool = True, readings: int = 0) -> None:
        self.random = np.random.default_rng([slow_size, slow_attempts])
        self.slow_size, self.slow_attempts, self.records_speed = slow_size, slow_attempts, records_speed
        self.slow_readings = readings

    def calibrate(self) -> Calibration:
        """The speed is the usual speed."""
        return Calibration(7.0, 70.0, USUAL) if self.records_speed else Calibration(7.0, 70.0)

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
        return at_speed(step, speed * USUAL) if self.records_speed else step


SEARCH = Search(start=2, smallest=1, largest=8, budget_seconds=3000)


def swept(generator: SlowMachine, path: Path, search: Search | None = None) -> tuple[Run, list[Event]]:
    setting, events = a_setting(tuple(RATES)), list[Event]()
    setting = replace(setting, plan=replace(setting.plan, search=search, sizes=() if search else setting.plan.sizes))
    with RunWriter(path, setting) as writer:
        run = sweep(Run(setting, ()), (), generator, writer, events.append)
    return run, events


@pytest.mark.parametrize("size", RATES)
@pytest.mark.parametrize("attempts", [1, 2])
def test_a_slow_stretch_does_not_change_the_answer_of_a_grid(tmp_path: Path, size: int, attempts: int) -> None:
    """Without the speed, a stretch over both steps of a size makes the grid answer 8 (7 to 8) for size 4, 4 for 2."""
    run, _ = swept(SlowMachine(size, attempts), tmp_path / "slow.jsonl")
    assert recommend(run).pool_size == 2
    slow = [step for step in run.steps if step.failed_checks]
    assert [step.pool_size for step in slow] == [size] * attempts
    assert {result.check for step in slow for result in step.failed_checks} == {Check.SPEED}
    assert load_run(tmp_path / "slow.jsonl") == run


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_search_measures_a_size_again_that_had_another_speed(tmp_path: Path, size: int) -> None:
    run, _ = swept(SlowMachine(size, 2), tmp_path / "slow.jsonl", SEARCH)
    answer = recommend(run)
    assert answer.pool_size == 2
    slow = [step for step in run.steps if step.had_other_speed]
    assert [step.pool_size for step in slow] == [size] * 2
    assert not set(map(id, slow)) & set(map(id, curve_of(run)))


def test_a_search_on_a_machine_that_stays_slow_ends(tmp_path: Path) -> None:
    run, _ = swept(SlowMachine(4, 99), tmp_path / "slow.jsonl", SEARCH)
    assert run.ended
    assert 4 in {step.pool_size for step in curve_of(run)}


def test_the_sweep_waits_for_the_usual_speed_before_another_attempt(tmp_path: Path) -> None:
    _, events = swept(SlowMachine(2, 1, readings=5), tmp_path / "slow.jsonl")
    assert [event for event in events if isinstance(event, SpeedAwaited)] == [SpeedAwaited(2, SLOW)] * 5


def test_a_machine_that_stays_slow_is_named_and_the_run_ends(tmp_path: Path) -> None:
    run, events = swept(SlowMachine(8, 99, readings=10**6), tmp_path / "slow.jsonl")
    assert sum(step.pool_size == 8 for step in run.steps) == run.plan.attempts
    assert sum(isinstance(event, SpeedAwaited) for event in events) == 60 * (run.plan.attempts - 1)
    answer = recommend(run)
    assert answer.range is not None
    assert answer.range[0] <= 2 <= answer.range[1]
    assert "speed" in {finding.values.get("check") for finding in answer.findings}


def speeds(*figures: float, busy: float | None = None, ripple: float = 0.0) -> list[bool]:
    """Whether the steps of a run at these speeds pass. ripple: share by which every second differs from the mean."""
    run = a_run(dict.fromkeys(range(1, len(figures) + 1), 100))
    steps = tuple(
        at_speed(step, figure * (1 - ripple), figure * (1 + ripple), busy=busy)
        for step, figure in zip(run.steps, figures, strict=True)
    )
    run = with_speed_checks(replace(run, steps=steps))
    return [not any(result.check is Check.SPEED for result in step.failed_checks) for step in run.steps]


def test_the_usual_speed_is_that_of_most_steps_and_a_step_may_differ_by_3_percent() -> None:
    assert speeds(100, 102.5, 97.5) == [True, True, True]
    assert speeds(100, 96, 100) == [True, False, True]
    assert speeds(100, 100, 104) == [True, True, False]
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
    assert speeds(100, 100, 90, 100, busy=0.3) == [True] * 4
    assert speeds(100, 100, 90, 100) == [True, True, False, True]


def test_a_speed_within_its_own_noise_is_no_other_speed() -> None:
    assert speeds(100, 100, 95, 100, ripple=0.2) == [True] * 4
    assert speeds(100, 100, 75, 100, ripple=0.2) == [True, True, False, True]


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
    """Three busy loops take three quarters of the probed core; the clock on the wall would show a quarter."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        for process in busy:
            os.sched_setaffinity(process.pid, {core})
        crowded = [measured(core, 1.0) for _ in range(3)]
        for process in busy:
            process.send_signal(signal.SIGSTOP)
        alone = [measured(core, 1.0) for _ in range(3)]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert median(crowded) > 0.75 * median(alone)


def test_the_probe_takes_less_than_a_percent_of_one_core(core: int) -> None:
    before = time.process_time()
    measured(core, 2.0)
    assert time.process_time() - before < 2.0 * 0.02  # start and end of the thread included


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
