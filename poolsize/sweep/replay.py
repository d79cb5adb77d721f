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
    """Cuts a window from a random place of the recording for each step; a LoadGenerator.

    Between two recorded sizes it cuts one from each and goes straight from one to the other on log2 of the size.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, recording: Recording, run: Run) -> None:
        self._recording = recording
        self._plan = run.plan
        passed = timedelta(seconds=sum(len(step.throughput) for step in run.steps))
        self._now = datetime.fromisoformat(run.setting.created) + passed

    def calibrate(self) -> Calibration | None:
        """Nothing: a recording costs nothing to replay."""
        return None

    def measure(self, planned: PlannedStep) -> Step:
        """The window as a step; time passes virtually. Its place is fixed by the plan's seed and the step's order."""
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
            gap_ms=0.0,
            latencies=None,
            sections={},
            server={},
            server_connections=None,
            workers=(),
            stopped=None,
            checks=(),
        )


def _weights(sizes: tuple[int, ...], size: int) -> list[tuple[int, float]]:
    """The recorded sizes that make up this one, and how much of it each is."""
    if size in sizes:
        return [(size, 1.0)]
    below, above = next((low, high) for low, high in pairwise(sizes) if low < size < high)
    part = log2(size / below) / log2(above / below)
    return [(below, 1 - part), (above, part)]


def _window(seconds: Seconds, length: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Two rows, throughput and p95, from a random second on; the recording's end is followed by its beginning."""
    places = (random.integers(len(seconds.throughput)) + np.arange(length)) % len(seconds.throughput)
    return np.array([seconds.throughput, seconds.p95_ms])[:, places]
