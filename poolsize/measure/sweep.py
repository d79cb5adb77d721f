"""The sweep: measure each step that a run still misses, check it, store it."""

from dataclasses import replace

from poolsize.analysis.checks import check_step
from poolsize.measure.generator import LoadGenerator
from poolsize.progress import Progress, StepDone, StepStarted, SweepDone, SweepStarted
from poolsize.run import Run
from poolsize.store import RunWriter


def sweep(run: Run, generator: LoadGenerator, writer: RunWriter, progress: Progress) -> None:
    """Measure what the run misses; every finished step is on disk before the next one starts."""
    missing = run.missing
    plan = run.plan
    progress.tell(
        SweepStarted(
            run=str(writer.path),
            steps=len(plan.steps()),
            steps_done=len(run.steps),
            step_seconds=plan.warm_up_seconds + plan.step_seconds,
        )
    )
    for planned in missing:
        progress.tell(StepStarted(order=planned.order, pool_size=planned.pool_size))
        measured = generator.measure(planned)
        step = replace(measured, checks=check_step(measured))
        writer.append(step)
        progress.tell(StepDone.of(step))
    progress.tell(SweepDone())
