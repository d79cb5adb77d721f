"""The lines of a long replay's progress."""

from dataclasses import replace

from poolsize.present.text.progress import ReplayProgress
from poolsize.sweep.events import StepDone, SweepDone, SweepStarted
from tests.conftest import a_step

STARTED = SweepStarted("a.jsonl", steps=30_000, steps_done=20_000, step_seconds=1.0)
SEARCH = SweepStarted("a.jsonl", steps=6, steps_done=0, step_seconds=1.0, budget_seconds=3600)
CONFIRMING = SweepStarted("a.jsonl", steps=30, steps_done=0, step_seconds=1.0)
DONE = StepDone.of(a_step(2, [100] * 10), again=False)


def lines(seconds_a_step: float, steps: int, started: SweepStarted = STARTED) -> list[str]:
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
    assert lines(0.5, 50) == [
        "20,019 of 30,000 steps replayed",
        "20,039 of 30,000 steps replayed",
        "20,050 steps replayed; analyzing them",
    ]


def test_a_short_replay_prints_nothing() -> None:
    assert lines(0.1, 50) == []


def test_a_search_has_no_number_of_steps() -> None:
    assert lines(6.0, 2, SEARCH) == ["1 step replayed", "2 steps replayed; analyzing them"]


def test_the_confirmations_of_a_grid_are_more_steps_than_planned() -> None:
    assert lines(0.5, 40, CONFIRMING) == [
        "19 of 30 steps replayed",
        "39 steps replayed",
        "40 steps replayed; analyzing them",
    ]
