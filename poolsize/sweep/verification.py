"""Measuring the answer at the load that people run at: a fraction of its own capacity, arriving by the clock."""

from collections import Counter

from poolsize.analysis.analysis import analyze
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run


def steps_to_verify(run: Run) -> tuple[PlannedStep, ...]:
    """What the plan's verify asks for and the run does not have yet.

    The answer, and the measured sizes below and above it, each at those percentages of its own throughput.
    """
    if not run.plan.verify:
        return ()
    found = analyze(run)
    if found.plateau is None:
        return ()
    sizes = sorted({found.plateau.pool_size, *(size.pool_size for size in found.telling)})
    place = sizes.index(found.plateau.pool_size)
    attempts = Counter((step.pool_size, step.rate) for step in run.steps)
    done = {(step.pool_size, step.rate) for step in run.verification if not step.void}
    rates = [
        (size, found.throughput_at(size) * percentage / 100)
        for size in sizes[max(0, place - 1) : place + 2]
        for percentage in run.plan.verify
    ]
    first = len(run.curve)
    return tuple(
        PlannedStep(first + order, size, 0, rate)
        for order, (size, rate) in enumerate(rates)
        if rate and (size, rate) not in done and attempts[size, rate] < run.plan.attempts
    )
