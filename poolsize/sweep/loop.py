"""The sweep: measure what the planner wants next, check it, store it; then verify the answer."""

from collections.abc import Callable
from dataclasses import replace

from poolsize.analysis.checks import check_step
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run, missing_steps
from poolsize.runs.store import RunWriter
from poolsize.sweep.events import Message, StepDone, StepStarted, SweepDone, SweepStarted
from poolsize.sweep.generator import LoadGenerator
from poolsize.sweep.search import ending, next_step, seconds_left
from poolsize.sweep.verification import steps_to_verify

VERIFIED_SIZES = 3
"""The answer, one below and one above; the last two may be missing."""


def sweep(
    run: Run, notes: tuple[str, ...], generator: LoadGenerator, writer: RunWriter, tell: Callable[[Message], None]
) -> None:
    """Measure what the run misses; every finished step is on disk before the next one starts.

    A step that chance has spoiled stays in the run, and is measured again. notes: what the user should know before
    it begins. tell: takes the messages of its progress.
    """
    plan = run.plan
    tell(_started(run, str(writer.path), (*notes, *generator.notes)))
    if run.calibration is None and (calibration := generator.calibrate()):
        writer.calibrate(calibration)

    def measure(run: Run, planned: PlannedStep) -> Run:
        tell(StepStarted(planned.pool_size, planned.rate))
        measured = generator.measure(planned)
        step = replace(measured, checks=check_step(measured, plan.error_budget))
        writer.append(step)
        run = replace(run, steps=(*run.steps, step))
        tell(StepDone.of(step, again=step.void and _again(run, planned)))
        return run

    while not run.ended and (planned := next_step(plan, run.steps)):
        run = measure(run, planned)
    if not run.ended and (reason := ending(plan, run.steps)):
        writer.end(reason)
        run = replace(run, ended=reason)
    while verifying := steps_to_verify(run):
        run = measure(run, verifying[0])
    tell(SweepDone())


def _again(run: Run, planned: PlannedStep) -> bool:
    """Whether a void step will be measured again."""
    if planned.rate != run.plan.rate:
        return planned in steps_to_verify(run)
    following = next_step(run.plan, run.steps)
    return planned in missing_steps(run.plan, run.steps) or (
        following is not None and following.pool_size == planned.pool_size
    )


def _started(run: Run, path: str, notes: tuple[str, ...]) -> SweepStarted:
    plan = run.plan
    steps = len(plan.steps())
    return SweepStarted(
        run=path,
        steps=steps + VERIFIED_SIZES * len(plan.verify),
        steps_done=(len(run.curve) if plan.search else steps - len(missing_steps(plan, run.steps)))
        + len(run.verification),
        step_seconds=plan.warm_up_seconds + plan.step_seconds,
        budget_seconds=seconds_left(plan, run.steps),
        notes=notes,
    )
