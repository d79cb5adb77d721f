"""The lines of a long replay's progress."""

from dataclasses import replace

from poolsize.present.text.replay_progress import ReplayProgress
from poolsize.sweep.events import StepDone, SweepDone, SweepStarted
from tests.conftest import a_step

STARTED = SweepStarted("a.jsonl", steps=30_000, steps_done=20_000, step_seconds=1.0)
DONE = StepDone.of(a_step(2, [100] * 10), again=False)


def lines(seconds_a_step: float, steps: int) -> list[str]:
    """Return what is printed for so many steps, each of which is replayed twice."""
    printed: list[str] = []
    now = 0.0
    progress = ReplayProgress(printed.append, lambda: now)
    progress.show(STARTED)
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
