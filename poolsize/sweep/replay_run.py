"""A recorded curve as a run: swept by `poolsize sweep --replay`, or as it is by `poolsize import`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from poolsize.analysis.checks import check_step
from poolsize.analysis.stats.steady_state import warm_up_seconds
from poolsize.errors import BadInput, Interrupted, did_you_mean
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording, read_recording
from poolsize.runs.plan import MOST_STEP_SECONDS, SweepPlan
from poolsize.runs.run import Run
from poolsize.runs.store import RunWriter, resume_command
from poolsize.sweep.events import Event
from poolsize.sweep.grid import grid_steps
from poolsize.sweep.loop import sweep
from poolsize.sweep.opening import new_file, new_setting, resumed_run
from poolsize.sweep.options import OPTIONS, SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.sweep.replay import ReplayGenerator
from poolsize.sweep.workload import workload_of
from poolsize.units import count


def replay(options: SweepOptions, on_event: Callable[[Event], None]) -> Path:
    """Sweep the recording that options.replay names, and return the run's path.

    on_event: called with each event of the sweep. Raises BadInput for an option that needs a server, and for a
    recording that can't be read. Raises Interrupted for Ctrl-C.
    """
    assert options.replay is not None
    _refuse_what_needs_a_server(options)
    workload = workload_of(options.replay)
    run, path = resumed_run(options, workload), options.resume
    recording = recording_of(options.replay)
    if run is None or path is None:
        plan = _plan(options, workload.name, recording)
        run = Run(new_setting(options, plan, workload, recording=str(options.replay)), ())
        path = new_file(options.output, workload.name)
    generator = ReplayGenerator(recording, run)
    with RunWriter(path, run.setting, resume=options.resume is not None) as writer:
        try:
            sweep(run, (), generator, writer, on_event)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; the measured steps are kept: {resume_command(path)}") from None
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


def _plan(options: SweepOptions, workload: str, recording: Recording) -> SweepPlan:
    """Return the plan, with the recording's users. Raises BadInput for a size beyond the recorded sizes."""
    smallest, largest = recording.sizes[0], recording.sizes[-1]
    plan = plan_for(options, workload, (smallest, largest))
    for size in plan.sizes:
        if not smallest <= size <= largest:
            raise BadInput(
                f"`sizes` {size}: {options.replay} was recorded with {smallest} to "
                f"{count(largest, 'connection')}: name sizes in this range"
            )
    return replace(plan, users=recording.users or plan.users)


def _refuse_what_needs_a_server(options: SweepOptions) -> None:
    for name in options.chosen:
        if not OPTIONS[name].replayed:
            raise BadInput(f"{options.named(name)}: a replay does not support this option; leave it out")


def recorded_run(recording: Recording, name: str, cores: int | None = None, disks: int | None = None) -> Run:
    """Return a recording as a run with a step for each size; a step has all recorded seconds of its size.

    MSER determines the warm-up. name: the recording's file or published name. cores, disks: of the database's
    host; None for this machine's cores, and 1 disk.
    """
    length = min(MOST_STEP_SECONDS, *(len(seconds.throughput) for seconds in recording.by_size.values()))
    options = SweepOptions(sizes=recording.sizes, step_seconds=length, warm_up_seconds=0, cores=cores, disks=disks)
    path = Path(name)
    workload = workload_of(path)
    plan = replace(plan_for(options, workload.name), users=recording.users or recording.sizes[-1])
    run = Run(new_setting(options, plan, workload, recording=str(path)), ())
    generator = ReplayGenerator(recording, run)
    steps = []
    for planned in grid_steps(plan):
        seconds = recording.by_size[planned.pool_size]
        step = replace(
            generator.measure(planned),
            throughput=seconds.throughput,
            p95_ms=seconds.p95_ms,
            warm_up_seconds=warm_up_seconds(seconds.throughput, 0),
        )
        steps.append(replace(step, checks=check_step(step, plan.error_budget)))
    return replace(run, steps=tuple(steps))
