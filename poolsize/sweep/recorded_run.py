"""Recording -> Run: other tools' measurements as a run, for `poolsize import` and the notebooks."""

from dataclasses import replace
from pathlib import Path

from poolsize.analysis.checks import check_step
from poolsize.analysis.stats.steady_state import warm_up_seconds
from poolsize.recordings.recording import Recording
from poolsize.runs.plan import MOST_STEP_SECONDS
from poolsize.runs.run import Run
from poolsize.sweep.grid import grid_steps
from poolsize.sweep.opening import new_setting
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.sweep.replay import ReplayGenerator
from poolsize.sweep.workload import workload_of


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
