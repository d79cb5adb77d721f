"""The next step of a verification: the answer at a part of its own capacity, in an open loop."""

from poolsize.analysis.analysis import analyze
from poolsize.analysis.attempts import attempt_counts, place, verification_steps
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run


def steps_to_verify(run: Run) -> tuple[PlannedStep, ...]:
    """Return what the plan's `verify` asks for and the run does not have yet.

    The answer and the measured sizes below and above it, each at those percentages of its own throughput.
    """
    if not run.plan.verify:
        return ()
    analysis = analyze(run)
    if analysis.plateau is None:
        return ()
    answer = analysis.plateau.pool_size
    sizes = sorted({answer, *(size.pool_size for size in analysis.valid_sizes)})
    position = sizes.index(answer)
    attempts = attempt_counts(run.steps)
    done = {place(step) for step in verification_steps(run) if not step.retryable}
    planned = [
        (size, 0, analysis.throughput_at(size) * percentage / 100)
        for size in sizes[max(0, position - 1) : position + 2]
        for percentage in run.plan.verify
    ]
    first = len(analysis.steps)
    return tuple(
        PlannedStep(first + number, size, repeat, rate)
        for number, (size, repeat, rate) in enumerate(planned)
        if rate and (size, repeat, rate) not in done and attempts[size, repeat, rate] < run.plan.attempts
    )
