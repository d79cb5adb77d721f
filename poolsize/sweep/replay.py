"""A recorded curve in place of a server: a LoadGenerator in virtual time."""

from datetime import datetime, timedelta
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray

from poolsize.recordings.recording import Recording, Seconds
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Calibration, Run, Step


class ReplayGenerator:
    """A LoadGenerator whose steps are windows of a recording, each from a random second on.

    Between two recorded sizes, a step is a weighted mean of two windows, linear over log2 of the size.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, recording: Recording, run: Run) -> None:
        self._recording = recording
        self._plan = run.plan
        passed = timedelta(seconds=sum(len(step.throughput) for step in run.steps))
        self._now = datetime.fromisoformat(run.setting.created) + passed

    def calibrate(self) -> Calibration | None:
        """Return None: a replay has no workers."""
        return None

    def speed(self) -> float | None:
        """Return None: a recording is as it is."""
        return None

    def measure(self, planned: PlannedStep) -> Step:
        """Return a window of the recording as a step. The plan's seed and the step's order determine the window.

        No time passes but in the steps' start times.
        """
        length = self._plan.warm_up_seconds + self._plan.step_seconds
        random = np.random.default_rng([self._plan.seed, planned.order])
        window = sum(
            weight * _window(self._recording.by_size[size], length, random)
            for size, weight in _weights(self._recording.sizes, planned.pool_size)
        )
        rates, p95_ms = np.asarray(window).round(3).tolist()
        started, self._now = self._now, self._now + timedelta(seconds=length)
        return Step(
            pool_size=planned.pool_size,
            repeat=planned.repeat,
            order=planned.order,
            started=started.isoformat(timespec="seconds"),
            users=self._recording.users or 0,
            rate=None,
            warm_up_seconds=self._plan.warm_up_seconds,
            throughput=tuple(rates),
            errors={},
            p95_ms=tuple(p95_ms),
            backlog=(),
            busy=(),
            gap_ms=0.0,
            latencies=None,
            sections={},
            kinds={},
            server={},
            server_connections=None,
            workers=(),
            stopped=None,
            checks=(),
        )


def _weights(sizes: tuple[int, ...], size: int) -> list[tuple[int, float]]:
    """Return the recorded sizes from which a size is interpolated, each with its weight; the weights add up to 1."""
    if size in sizes:
        return [(size, 1.0)]
    below, above = next((low, high) for low, high in pairwise(sizes) if low < size < high)
    part = log2(size / below) / log2(above / below)
    return [(below, 1 - part), (above, part)]


def _window(seconds: Seconds, length: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return throughput per second and p95 in ms from a random second on, shape (2, length).

    At its end, the recording continues with its beginning.
    """
    places = (random.integers(len(seconds.throughput)) + np.arange(length)) % len(seconds.throughput)
    return np.array([seconds.throughput, seconds.p95_ms])[:, places]
