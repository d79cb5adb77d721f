"""A recorded curve in place of a server: the same planner and recommender, in virtual time."""

import importlib.metadata
import platform
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log2
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poolsize.analysis.checks import check_step
from poolsize.analysis.stats.steady_state import warm_up_seconds
from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording, Seconds, read_recording
from poolsize.runs.plan import PlannedStep, SweepPlan
from poolsize.runs.run import Calibration, Run, Setting, Step
from poolsize.runs.store import RunWriter, load_run
from poolsize.sweep.events import Event
from poolsize.sweep.grid import grid_steps
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import EXPECT_WORKERS, OPTIONS, PROCESSES, USERS
from poolsize.sweep.request import SweepRequest, cores_of, disks_of, output_of, refuse_settled, wished
from poolsize.units import count

UNDERSTOOD = {"pool_sizes", "budget", "interval", "warm_up", "step_time", "repeats", "seed", "cores", "disks", "output",
              "resume"}  # fmt: skip


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


def replay(request: SweepRequest) -> Path:
    """Sweep the recording that request.locustfile is, and return the run's path. Raises BadInput."""
    _refuse_what_needs_a_server(request)
    recording = recording_of(request.locustfile)
    if request.resume:
        run, output = _resumed(request), Path(request.resume)
    else:
        run, output = Run(_setting(request, _plan(request, recording)), ()), output_of(request)
    generator = ReplayGenerator(recording, run)
    with RunWriter(output, run.setting, resume=request.resume is not None) as writer:
        sweep(run, (), generator, writer, _silent)
    return output


def recording_of(path: Path) -> Recording:
    """The recorded curve in a file, or the published one of that name. Raises BadInput."""
    if path.is_file():
        return read_recording(path)
    known = published_curves()
    if str(path) not in known:
        raise BadInput(f"--replay {path}: neither a file nor a published curve: {', '.join(known)}")
    return known[str(path)].recording


def recorded_run(recording: Recording, name: str, cores: int | None = None, disks: int | None = None) -> Run:
    """The whole recording as a run, one step a size: all of its seconds, with the warm-up cut by rule."""
    length = min(len(seconds.throughput) for seconds in recording.by_size.values())
    request = SweepRequest(locustfile=Path(name), pool_sizes=",".join(map(str, recording.sizes)), cores=cores,
                           disks=disks, step_time=f"{length}s", warm_up="0s")  # fmt: skip
    run = Run(_setting(request, replace(wished(request), users=recording.users or recording.sizes[-1])), ())
    generator = ReplayGenerator(recording, run)
    steps = []
    for planned in grid_steps(run.plan):
        seconds = recording.by_size[planned.pool_size]
        step = replace(
            generator.measure(planned),
            throughput=seconds.throughput,
            p95_ms=seconds.p95_ms,
            warm_up_seconds=warm_up_seconds(seconds.throughput, 0),
        )
        steps.append(replace(step, checks=check_step(step, run.plan.error_budget)))
    return replace(run, steps=tuple(steps))


def _plan(request: SweepRequest, recording: Recording) -> SweepPlan:
    smallest, largest = recording.sizes[0], recording.sizes[-1]
    plan = wished(request, (smallest, largest))
    plan = replace(plan, users=recording.users or plan.users)
    for size in plan.sizes:
        if not smallest <= size <= largest:
            raise BadInput(
                f"--pool-sizes {size}: {request.locustfile} was recorded with {smallest} to "
                f"{count(largest, 'connection')}, and nothing is known beyond"
            )
    return plan


def _refuse_what_needs_a_server(request: SweepRequest) -> None:
    for option in (USERS, PROCESSES, EXPECT_WORKERS, *OPTIONS):
        value = getattr(request, option.name)
        if value not in (None, ()) and option.name not in UNDERSTOOD:
            raise BadInput(f"{option.flag} {value}: a recording can't be asked for that; leave it out with --replay")


def _setting(request: SweepRequest, plan: SweepPlan) -> Setting:
    return Setting(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        own_workload=None,
        workload_sha256=request.workload_sha256,
        cores=cores_of(request),
        disks=disks_of(request),
        cores_from="given" if request.cores is not None else "assumed",
        client=this_machine(),
        server=None,
        private=False,
        server_options={},
        versions={"poolsize": importlib.metadata.version("poolsize"), "python": platform.python_version()},
        recording=str(request.locustfile),
    )


def _resumed(request: SweepRequest) -> Run:
    assert request.resume is not None
    refuse_settled(request)
    run = load_run(request.resume, torn_end=True)
    if run.setting.workload_sha256 != request.workload_sha256:
        raise BadInput(f"--resume {request.resume}: that run is not of {request.locustfile}: name its own recording")
    return run


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


def _silent(_: Event) -> None:
    """It is over before a line of progress could be read."""
