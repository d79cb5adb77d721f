"""The next steps of a verification: the answer at parts of its own throughput, in an open loop."""

from poolsize.analysis.analysis import analyze
from poolsize.analysis.attempts import needed_steps, verification_steps
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run

VERIFIED_SIZES = 3
"""Sizes that a verification measures at most: the answer, the size below, and the size above."""


def steps_to_verify(run: Run) -> tuple[PlannedStep, ...]:
    """Return the steps of the plan's `verify` that the run still needs.

    They measure the answer and the valid sizes next below and above, each at every percentage of its own throughput.
    """
    if not run.plan.verify:
        return ()
    analysis = analyze(run)
    if analysis.plateau is None:
        return ()
    answer = analysis.plateau.pool_size
    sizes = sorted({answer, *(size.pool_size for size in analysis.valid_sizes)})
    position = sizes.index(answer)
    rates = [
        (size, analysis.throughput_at(size) * percentage / 100)
        for size in sizes[max(0, position - 1) : position + 2]
        for percentage in run.plan.verify
    ]
    planned = [
        PlannedStep(order, size, repeat=0, rate=rate)
        for order, (size, rate) in enumerate(rates, start=len(analysis.steps))
        if rate
    ]
    return needed_steps(run.plan, planned, run.steps, verification_steps(run))
