"""A recorded curve as a run: swept by `poolsize sweep --replay`, or as it is by `poolsize import`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from poolsize.analysis.checks import check_step
from poolsize.analysis.stats.steady_state import warm_up_seconds
from poolsize.errors import BadInput, Interrupted, did_you_mean
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording, read_recording
from poolsize.runs.plan import MOST_STEP_SECONDS, PlannedStep, SweepPlan
from poolsize.runs.run import Calibration, Run, Setting, Step
from poolsize.runs.store import RunWriter, resume_command
from poolsize.sweep.events import Event
from poolsize.sweep.loop import sweep
from poolsize.sweep.next_step import grid_steps
from poolsize.sweep.opening import Workload, new_file, new_setting, resumed_run, workload_of
from poolsize.sweep.options import OPTIONS, SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.units import count


def replay(options: SweepOptions, on_event: Callable[[Event], None]) -> Path:
    """Sweep the recording that options.replay names, and return the run's path.

    on_event: called with each event of the sweep. Raises BadInput for an option that needs a server, for a size beyond
    the recorded sizes, for a latency limit of which the recording shows too little, and for a recording that can't be
    read. Raises Interrupted for Ctrl-C.
    """
    assert options.replay is not None
    for name in options.chosen:
        if not OPTIONS[name].replayed:
            raise BadInput(f"{options.named(name)}: a replay does not support this option; leave it out")
    workload = workload_of(options.replay)
    run, path = resumed_run(options, workload), options.resume
    recording = recording_of(options.replay)
    if run is None or path is None:
        smallest, largest = recording.sizes[0], recording.sizes[-1]
        plan = plan_for(options, workload.name, (smallest, largest))
        for size in plan.sizes:
            if not smallest <= size <= largest:
                raise BadInput(
                    f"`sizes` {size}: {options.replay} was recorded with {smallest} to "
                    f"{count(largest, 'connection')}: name sizes in this range"
                )
        for quantile in plan.limits_ms:
            limit = options.named(f"max_{quantile}_ms")
            if recording.means_only:
                raise BadInput(
                    f"{limit}: {options.replay} has too few figures of a pool size to show how probably a size keeps "
                    "the limit; leave it out"
                )
            if not recording.has(quantile):
                raise BadInput(f"{limit}: {options.replay} has no {quantile}: leave it out")
        plan = replace(plan, users=recording.users or plan.users)
        run = Run(_setting(options, plan, workload, options.replay, recording), ())
        path = new_file(options.output, workload.name)
    generator = ReplayGenerator(recording, run)
    with RunWriter(path, run.setting, resume=options.resume is not None) as writer:
        try:
            sweep(run, (), generator, writer, on_event)
        except KeyboardInterrupt:
            resume = resume_command(path, options.extending)
            raise Interrupted(f"interrupted; the measured steps are kept: {resume}") from None
    return path


def recording_of(path: Path) -> Recording:
    """Return the recorded curve in a file, or the published curve of that name. Raises BadInput for neither."""
    if path.exists() and not path.is_dir():
        return read_recording(path)
    known = published_curves()
    if str(path) not in known:
        raise BadInput(
            f"`replay` {path}: neither a file nor a published curve: {', '.join(known)}{did_you_mean(str(path), known)}"
        )
    return known[str(path)].recording


def recorded_run(recording: Recording, name: str, cores: int | None = None, disks: int | None = None) -> Run:
    """Return a recording as a run with a step for each size; a step has all recorded seconds of its size.

    MSER determines the warm-up. name: the recording's file or published name. cores, disks: of the database's
    host; None for this machine's cores, and 1 disk.
    """
    length = min(MOST_STEP_SECONDS, *(len(seconds.throughput) for seconds in recording.by_size.values()))
    options = SweepOptions(sizes=recording.sizes, step_seconds=length, warm_up_seconds=0, cores=cores, disks=disks)
    workload = workload_of(Path(name))
    users = recording.users or recording.sizes[-1]
    plan = replace(plan_for(options, workload.name), users=users, attempts=1)  # nothing can be measured again
    run = Run(_setting(options, plan, workload, Path(name), recording), ())
    generator = ReplayGenerator(recording, run)
    steps = []
    for planned in grid_steps(plan):
        seconds = recording.by_size[planned.pool_size].mean_of_few()
        step = replace(
            generator.measure(planned),
            throughput=seconds.throughput,
            **_latencies(recording, seconds.latency_ms),
            warm_up_seconds=warm_up_seconds(seconds.throughput, 0),
        )
        steps.append(replace(step, checks=check_step(step, plan.error_budget)))
    return replace(run, steps=tuple(steps))


def _setting(options: SweepOptions, plan: SweepPlan, workload: Workload, named: Path, recording: Recording) -> Setting:
    """Return the setting of a replay of a recording. named: the recording, as typed."""
    return replace(
        new_setting(options, plan, workload, recording=str(named)),
        interval_seconds=recording.interval_seconds,
        means_only=recording.means_only,
    )


def _latencies(recording: Recording, latency_ms: tuple[float, ...]) -> dict[str, Any]:
    """Return the fields of a step that have the recorded percentile under its own name."""
    if recording.quantile == "p95":
        return {"p95_ms": latency_ms}
    return {"p95_ms": (), "percentiles_ms": {recording.quantile: latency_ms}}


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

    def speed(self) -> float | None:
        """Return None: a recording is as it is."""

    def measure(self, planned: PlannedStep) -> Step:
        """Return a window of the recording as a step. The plan's seed and the step's order determine the window.

        At its end, the recording continues with its beginning. No time passes but in the steps' start times. A
        recording of means alone has a single second, their mean.
        """
        means_only = self._recording.means_only
        length = 1 if means_only else self._plan.planned_seconds
        random = np.random.default_rng([self._plan.seed, planned.order])
        window = np.zeros((2, length))
        for size, weight in _weights(self._recording.sizes, planned.pool_size):
            seconds = self._recording.by_size[size]
            recorded = len(seconds.throughput)
            places = (random.integers(recorded) + np.arange(length)) % recorded
            values = np.array([seconds.throughput, seconds.latency_ms])
            window += weight * (values.mean(axis=1, keepdims=True) if means_only else values[:, places])
        rates, latency_ms = window.round(3).tolist()
        started, self._now = self._now, self._now + timedelta(seconds=length)
        return Step(
            pool_size=planned.pool_size,
            repeat=planned.repeat,
            order=planned.order,
            started=started.isoformat(timespec="seconds"),
            users=self._recording.users or 0,
            rate=None,
            warm_up_seconds=0 if means_only else self._plan.warm_up_seconds,
            throughput=tuple(rates),
            errors={},
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
            **_latencies(self._recording, tuple(latency_ms)),
        )


def _weights(sizes: tuple[int, ...], size: int) -> list[tuple[int, float]]:
    """Return the recorded sizes from which a size is interpolated, each with its weight; the weights add up to 1."""
    if size in sizes:
        return [(size, 1.0)]
    below, above = next((low, high) for low, high in pairwise(sizes) if low < size < high)
    part = log2(size / below) / log2(above / below)
    return [(below, 1 - part), (above, part)]
