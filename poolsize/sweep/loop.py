"""The sweep loop: measure, check and store the next step, until the run is complete."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Protocol

from poolsize.analysis.attempts import curve_places, step_key, verification_steps
from poolsize.analysis.checks import check_step
from poolsize.analysis.speed import with_step
from poolsize.errors import WorkFailed
from poolsize.runs.check import Check
from poolsize.runs.plan import PlannedStep, SearchEnd
from poolsize.runs.run import Calibration, Run, Step
from poolsize.runs.store import RunWriter
from poolsize.sweep import events
from poolsize.sweep.events import Event, TurnAwaited
from poolsize.sweep.next_step import is_retried, missing_steps, next_step
from poolsize.sweep.search import seconds_left
from poolsize.units import count

MOST_SPEED_READINGS = 60
"""Seconds to wait, at most, while the machine is slow before a step is measured again."""
MOST_KINDS = 3
"""Kinds of errors, the commonest first, that a message names."""
SLOWER = 0.2
"""The machine is slow if it lost this share of its idle speed; an idle machine's speed varies by half as much."""


class LoadGenerator(Protocol):
    """Measures steps, one at a time."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a step may add to them."""

    def calibrate(self) -> Calibration | None:
        """Return the cost of a worker, or None where it is not known or there is no worker."""

    def speed(self) -> float | None:
        """Return the machine's present speed, which takes a second, or None where it is not known."""

    def measure(self, planned: PlannedStep) -> Step:
        """Measure one pool size once, and return the step, without checks. Raises WorkFailed when that fails."""


def sweep(
    run: Run,
    notes: tuple[str, ...],
    generator: LoadGenerator,
    writer: RunWriter,
    on_event: Callable[[Event], None],
    await_turn: Callable[[TurnAwaited], None] = lambda _: None,
) -> Run:
    """Measure the missing steps of a run, and return the complete run. Each step is on disk before the next begins.

    notes: sentences for the user, before the first step. on_event: called with each event of the sweep.
    await_turn: called before each step and after the last; returns when the sweep may go on.
    Raises WorkFailed where a step can't be measured.
    """
    decision = next_step(run)
    notes = (*notes, *generator.notes)
    on_event(_started(run, str(writer.path), notes, complete=decision is None))
    if run.calibration is None and (calibration := generator.calibrate()):
        writer.append_calibration(calibration)
        run = replace(run, calibration=calibration)
    while decision is not None:
        if isinstance(decision, SearchEnd):
            writer.append_end(decision)
            run = replace(run, ended=decision)
            decision = next_step(run)
        else:
            await_turn(TurnAwaited(len(run.steps), complete=False))
            _wait_while_slow(run, decision, generator, on_event)
            on_event(events.StepStarted(decision.pool_size, decision.rate))
            step, opens_all = generator.measure(decision), run.plan.pool.opens_all
            checks = check_step(step, run.plan.error_budget, run.setting.pools, opens_all=opens_all)
            run = with_step(run, replace(step, checks=checks))
            writer.append(run.steps[-1])
            _require_success(run)
            decision = next_step(run)
            for note in (*generator.notes, *_of_other_programs(run)):
                if note not in notes:
                    notes = (*notes, note)
                    on_event(events.Noted(note))
            on_event(events.StepDone.of(run.steps[-1], again=is_retried(run, decision)))
    await_turn(TurnAwaited(len(run.steps), complete=True))
    on_event(events.SweepDone())
    return run


def events_of(run: Run, path: str) -> Iterator[Event]:
    """Yield the events of a complete run again, as its sweep sent them. path: where the run's file is."""
    yield _started(replace(run, steps=(), ended=None), path, (), complete=False)
    for step, following in zip_longest(run.steps, run.steps[1:]):
        yield events.StepStarted(step.pool_size, step.rate)
        for transactions, p95_ms in zip(step.throughput, step.p95_ms, strict=True):
            yield events.SecondPassed(round(transactions), p95_ms)
        yield events.StepDone.of(step, again=following is not None and step_key(following) == step_key(step))
    yield events.SweepDone()


def _require_success(run: Run) -> None:
    """Raise WorkFailed where each transaction so far failed: those of the other pool sizes would fail, too."""
    step = run.steps[-1]
    if step.error_count and not any(sum(each.counted) for each in run.steps):
        kinds = Counter({kind: sum(series) for kind, series in step.errors.items()}).most_common(MOST_KINDS)
        named = ", ".join(f"{kind} {count(number, 'time')}" for kind, number in kinds)
        raise WorkFailed(f"no transaction succeeded ({named}): correct the workload, the application or the server")


def _of_other_programs(run: Run) -> tuple[str, ...]:
    """Return the note that names other programs, if the last step is the first that they spoiled."""
    spoiled = [(step, result) for step in run.steps for result in step.failed_checks if result.check is Check.QUIET]
    if len(spoiled) != 1 or spoiled[0][0] is not run.steps[-1]:
        return ()
    step, result = spoiled[0]
    used = f"other programs use {result.values['other_cores']:.1f} of this machine's {result.values['cores']:g} cores"
    named = f", most of all {', '.join(step.programs)}" if step.programs else ""
    return (f"{used}{named}: end them, because the sweep measures such steps again",)


def _wait_while_slow(
    run: Run, planned: PlannedStep, generator: LoadGenerator, on_event: Callable[[Event], None]
) -> None:
    """Wait while the machine is slow, before another attempt at a step that had another speed."""
    attempts = [step for step in run.steps if step_key(step) == step_key(planned)]
    if not attempts or not attempts[-1].had_other_speed:
        return
    before = run.calibration and run.calibration.speed
    for _ in range(MOST_SPEED_READINGS):
        speed = generator.speed()
        if not before or speed is None or speed >= (1 - SLOWER) * before:
            return
        on_event(events.SpeedAwaited(planned.pool_size, speed / before))


def _started(run: Run, path: str, notes: tuple[str, ...], *, complete: bool) -> events.SweepStarted:
    plan = run.plan
    planned = 0 if plan.search else len(plan.sizes) * plan.repeats
    done = len(curve_places(plan, run.steps)) if plan.search else planned - len(missing_steps(run))
    to_verify, verified = len(plan.verify), len(verification_steps(run))
    return events.SweepStarted(
        run=path,
        steps=planned + to_verify,
        steps_done=done + verified,
        step_seconds=plan.planned_seconds,
        budget_seconds=seconds_left(plan, run.steps),
        notes=notes,
        to_verify=max(0, to_verify - verified),
        counted_seconds=plan.step_seconds,
        complete=complete,
        of_application=run.setting.application is not None,
        users=plan.users,
        largest=plan.largest,
    )
