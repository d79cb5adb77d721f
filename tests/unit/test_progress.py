"""The progress of a sweep, with the time left by what its steps really take; and the lines of a long replay."""

import io
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

from poolsize.present.text.progress import ProgressBar, ReplayProgress, TimeLeft
from poolsize.runs.check import Check
from poolsize.runs.run import CheckResult
from poolsize.sweep.events import Event, SecondPassed, StepDone, StepStarted, SweepDone, SweepStarted
from tests.conftest import a_step


@dataclass
class Clock:
    """Seconds that pass when the test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def steps(
    left: TimeLeft, clock: Clock, number: int, seconds: int, *, again: bool = False, verifies: bool = False
) -> None:
    for _ in range(number):
        left.begin_step(verifies=verifies)
        for _ in range(seconds):
            clock.now += 1
            left.pass_second()
        left.end_step(again=again)


def shown(*events: Event) -> list[str]:
    """The lines that a progress bar prints for these events."""
    written = io.StringIO()
    with ProgressBar(Console(file=written, width=200)) as bar:
        for event in events:
            bar.show(event)
    return written.getvalue().splitlines()


def test_a_sweep_that_goes_as_planned_keeps_its_time() -> None:
    clock = Clock()
    left = TimeLeft(SweepStarted("a.jsonl", 10, 0, 18.0), clock)
    assert left.seconds == 180
    steps(left, clock, 4, 18)
    assert left.seconds == pytest.approx(108)
    clock.now += 8
    assert left.seconds == pytest.approx(100)


def test_steps_that_run_on_or_are_measured_again_make_it_longer() -> None:
    clock = Clock()
    prolonged, retried = (TimeLeft(SweepStarted("a.jsonl", 10, 0, 18.0), clock) for _ in range(2))
    steps(prolonged, clock, 4, 36)
    assert 1.5 * 108 < prolonged.seconds < 2 * 108
    for _ in range(4):
        steps(retried, clock, 1, 18, again=True)
        steps(retried, clock, 1, 18)
    assert 1.5 * 108 < retried.seconds < 2 * 108


def test_a_search_counts_its_budget_and_then_the_steps_of_its_verification() -> None:
    clock = Clock()
    left = TimeLeft(SweepStarted("a.jsonl", 6, 0, 10.0, budget_seconds=600, to_verify=6), clock)
    assert left.seconds == 600
    steps(left, clock, 30, 10)
    assert left.seconds == pytest.approx(300)
    steps(left, clock, 2, 10, verifies=True)  # the search ended early
    assert left.seconds == pytest.approx(40)


def test_time_between_steps_counts_as_well() -> None:
    clock = Clock()
    left = TimeLeft(SweepStarted("a.jsonl", 0, 0, 10.0, budget_seconds=600), clock)
    for _ in range(30):
        left.begin_step(verifies=False)
        clock.now += 10
        for _ in range(10):
            clock.now += 1
            left.pass_second()
        left.end_step(again=False)
    assert left.seconds == pytest.approx(2 * 300, rel=0.05)


@pytest.mark.parametrize(
    ("event", "announced"),
    [
        (SweepStarted("a.jsonl", 4, 0, 10.0, counted_seconds=8.0),
         "4 steps of 10 s (8 s counted), about 40 s; writing a.jsonl"),
        (SweepStarted("a.jsonl", 4, 0, 10.0, of_application=True),
         "4 steps of 10 s, about 40 s and the changes of size; writing a.jsonl"),
        (SweepStarted("a.jsonl", 0, 0, 10.0, budget_seconds=600, users=80, largest=40),
         "a search of up to 40 connections with 80 users, in steps of 10 s, at most 10 min 00 s; writing a.jsonl"),
        (SweepStarted("a.jsonl", 4, 4, 10.0, complete=True), "a.jsonl is complete: no step is left to measure"),
    ],
)  # fmt: skip
def test_the_announcement_says_what_counts_and_what_is_left(event: SweepStarted, announced: str) -> None:
    assert shown(event) == [announced]


def test_the_announcement_is_corrected_as_it_goes() -> None:
    clock, written = Clock(), io.StringIO()
    with ProgressBar(Console(file=written, width=200), clock) as bar:
        bar.show(SweepStarted("a.jsonl", 4, 0, 10.0))
        for again in (True, True, False):
            bar.show(StepStarted(8))
            for _ in range(20):
                clock.now += 1
                bar.show(SecondPassed(100, 5.0))
            bar.show(StepDone(8, 100.0, 5.0, (CheckResult(Check.QUIET, False, {}),) if again else (), again=again))
    first, *_ = lines = written.getvalue().splitlines()
    assert first == "4 steps of 10 s, about 40 s; writing a.jsonl"
    assert any("takes longer than announced: about" in line for line in lines[2:])
    assert [line[:5] for line in lines if "8 connections" in line] == ["  1/4"] * 3  # the attempts at the first step


@pytest.mark.parametrize(("deviation", "change"), [(0.26, "faster"), (-0.2, "slower")])
def test_a_step_at_another_speed_says_in_which_direction(deviation: float, change: str) -> None:
    failed = (CheckResult(Check.SPEED, False, {"deviation": deviation}),)
    (line,) = shown(StepDone(24, 722.0, 5.0, failed, again=True))
    assert f"failed: speed (the machine was {change} than usual so far); will be retried" in line


def test_a_step_that_counts_has_a_caution_and_none_that_failed() -> None:
    saturated, crowded = (CheckResult(check, False, {}) for check in (Check.GENERATOR, Check.QUIET))
    counts, failed = shown(
        StepDone(24, 722.0, 5.0, (saturated,), again=False),
        StepDone(24, 722.0, 5.0, (saturated, crowded), again=False),
    )
    assert "  caution: generator (" in counts
    assert "  failed: generator (" in failed


STARTED = SweepStarted("a.jsonl", steps=30_000, steps_done=20_000, step_seconds=1.0)
SEARCH = SweepStarted("a.jsonl", steps=6, steps_done=0, step_seconds=1.0, budget_seconds=3600)
CONFIRMING = SweepStarted("a.jsonl", steps=30, steps_done=0, step_seconds=1.0)
DONE = StepDone.of(a_step(2, [100] * 10), again=False)


def lines_of_replay(seconds_a_step: float, steps: int, started: SweepStarted = STARTED) -> list[str]:
    """Return what is printed for so many steps, each of which is replayed twice."""
    printed: list[str] = []
    now = 0.0
    progress = ReplayProgress(printed.append, lambda: now)
    progress.show(started)
    for _ in range(steps):
        now += seconds_a_step
        progress.show(replace(DONE, again=True))
        progress.show(DONE)
    progress.show(SweepDone())
    return printed


def test_a_long_replay_prints_a_line_every_ten_seconds() -> None:
    assert lines_of_replay(0.5, 50) == [
        "20,019 of 30,000 steps replayed",
        "20,039 of 30,000 steps replayed",
        "20,050 steps replayed; analyzing them",
    ]


def test_a_short_replay_prints_nothing() -> None:
    assert lines_of_replay(0.1, 50) == []


def test_a_search_has_no_number_of_steps() -> None:
    assert lines_of_replay(6.0, 2, SEARCH) == ["1 step replayed", "2 steps replayed; analyzing them"]


def test_the_confirmations_of_a_grid_are_more_steps_than_planned() -> None:
    assert lines_of_replay(0.5, 40, CONFIRMING) == [
        "19 of 30 steps replayed",
        "39 steps replayed",
        "40 steps replayed; analyzing them",
    ]
