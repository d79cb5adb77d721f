"""The progress of a long replay, in lines."""

from collections.abc import Callable
from time import monotonic

from poolsize.sweep.events import Event, StepDone, SweepDone, SweepStarted
from poolsize.units import count

EVERY_SECONDS = 10.0
"""Time between two lines; most replays are over before the first."""


class ReplayProgress:
    """Prints how many steps a replay has replayed, every ten seconds."""

    def __init__(self, print_line: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        """clock: seconds, from any beginning."""
        self._print_line = print_line
        self._clock = clock
        self._printed = clock()
        self._steps = self._steps_done = 0
        self._is_long = False

    def show(self, event: Event) -> None:
        """Count a step, and print a line where it is time; events of other kinds change nothing."""
        match event:
            case SweepStarted(steps=steps, steps_done=steps_done, budget_seconds=budget):
                self._steps, self._steps_done = steps if budget is None else 0, steps_done
            case StepDone():
                self._steps_done += not event.again
                if self._clock() - self._printed >= EVERY_SECONDS:
                    self._printed, self._is_long = self._clock(), True
                    self._print_line(self._words)
            case SweepDone() if self._is_long:
                self._print_line(f"{count(self._steps_done, 'step')} replayed; analyzing them")
            case _:
                pass

    @property
    def _words(self) -> str:
        """How far the replay is. A search plans no steps, and a grid no confirmations."""
        if not self._steps or self._steps_done > self._steps:
            return f"{count(self._steps_done, 'step')} replayed"
        return f"{self._steps_done:,} of {count(self._steps, 'step')} replayed"
