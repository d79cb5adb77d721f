"""The sweep: measure each step that a run still misses, check it, store it."""

from collections.abc import Callable
from dataclasses import replace

from poolsize.analysis.checks import check_step
from poolsize.measure.generator import LoadGenerator
from poolsize.progress import Message, StepDone, StepStarted, SweepDone, SweepStarted
from poolsize.run import Run
from poolsize.store import RunWriter


def sweep(
    run: Run, notes: tuple[str, ...], generator: LoadGenerator, writer: RunWriter, tell: Callable[[Message], None]
) -> None:
    """Measure what the run misses; every finished step is on disk before the next one starts.

    notes: what the user should know before it begins. tell: takes the messages of its progress.
    """
    plan = run.plan
    tell(
        SweepStarted(
            run=str(writer.path),
            steps=len(plan.steps()),
            steps_done=len(run.steps),
            step_seconds=plan.warm_up_seconds + plan.step_seconds,
            notes=notes,
        )
    )
    for planned in run.missing:
        tell(StepStarted(pool_size=planned.pool_size))
        measured = generator.measure(planned)
        step = replace(measured, checks=check_step(measured))
        writer.append(step)
        tell(StepDone.of(step))
    tell(SweepDone())
