"""Which steps of a run count: of the attempts at one planned step, the best."""

from collections import Counter
from collections.abc import Sequence

from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run, Step

Place = tuple[int, int, float | None]


def place(step: Step) -> Place:
    """Return what the attempts at one planned step have in common: pool size, repeat, and rate."""
    return step.pool_size, step.repeat, step.rate


def attempt_counts(steps: Sequence[Step]) -> Counter[Place]:
    """Return how often each planned step was measured, failed attempts included."""
    return Counter(map(place, steps))


def curve_steps(plan: SweepPlan, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that make the throughput curve, in the order they were measured.

    Of each planned step that is the first attempt that need not be retried, else the last one. In a search, which
    plans no repeats, a retried step counts only where its pool size has no other.
    """
    best: dict[Place, Step] = {}
    for step in steps:
        if step.rate == plan.rate and (place(step) not in best or best[place(step)].retryable):
            best[place(step)] = step
    chosen = tuple(step for step in steps if best.get(place(step)) is step)
    if plan.search is None:
        return chosen
    good_sizes = {step.pool_size for step in chosen if not step.retryable}
    return tuple(step for step in chosen if not step.retryable or step.pool_size not in good_sizes)


def verification_steps(run: Run) -> tuple[Step, ...]:
    """Return the steps that measured the answer at a part of its capacity: the last attempt at each."""
    last = {place(step): step for step in run.steps if step.rate != run.plan.rate}
    return tuple(last.values())


def valid_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that may enter an estimate."""
    return tuple(step for step in steps if step.valid)


def retried_steps(run: Run) -> tuple[Step, ...]:
    """Return the failed attempts that were measured again; they are kept in the run, and counted nowhere."""
    counted = {id(step) for step in (*curve_steps(run.plan, run.steps), *verification_steps(run))}
    return tuple(step for step in run.steps if id(step) not in counted)
