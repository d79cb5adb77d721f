"""A run that a command was given, with its name in whatever is wrong with it."""

from typing import TYPE_CHECKING

from poolsize.errors import WorkFailed

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis


def complete_run(path: str) -> "Analysis":
    """Load and analyze a run that is finished. Raises WorkFailed for another, and BadInput for what is no run."""
    from poolsize.analysis.analysis import analyze
    from poolsize.runs.store import load_run
    from poolsize.sweep.next_step import remaining

    run = load_run(path)
    if left := remaining(run):
        raise WorkFailed(f"{path} is incomplete: {left}; finish it with: poolsize sweep --resume {path}")
    return analyze(run)
