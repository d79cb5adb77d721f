"""Two sweeps of the same steps, measured in turn (A B B A), so that a change of the machine meets both alike.

Each sweep is a Locust process with a server, a load generator and a run of its own. While one of them measures, the
other waits for its turn, without load.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import monotonic

from poolsize.errors import BadInput, Interrupted, WorkFailed
from poolsize.locust.launch import END_SECONDS, LocustSweep, ending_seconds, first_interrupt, started
from poolsize.runs.store import other_path
from poolsize.sweep.events import EndAsked, Event, SweepStarted, TurnAwaited
from poolsize.sweep.options import SweepOptions

SIDES = ("first", "other")
Show = Callable[[Event, str], None]
"""Shows an event of the sweep of that side; of neither side, "", the beginning of both."""


def whose_turn(first: TurnAwaited, other: TurnAwaited) -> int | None:
    """Return which sweep measures next, 0 for the first and 1 for the other; None where both are complete.

    The sweep with fewer steps measures next. With equal numbers, they begin in turn: A B B A.
    """
    if first.complete and other.complete:
        return None
    if first.complete or other.complete:
        return int(first.complete)
    if first.steps != other.steps:
        return int(other.steps < first.steps)
    return first.steps % 2


def run_in_turn(
    locustfile: Path, options: tuple[SweepOptions, SweepOptions], show: Show, check: Callable[[Path, Path], None]
) -> tuple[Path, Path]:
    """Run two sweeps in turn, and return the paths of their runs.

    options: of each sweep. Where it resumes no run, the other sweep writes its run beside the first's (see other_path).
    check: called with both paths before the first step; raises BadInput for runs that can't be compared.
    Raises what run_locust raises. New runs that are refused or interrupted before the first step are removed.
    """
    with ExitStack() as stack:
        sweeps: list[LocustSweep] = []
        begin = partial(_begin, stack, sweeps, locustfile, _Shown(show))
        try:
            awaited = [begin(options[0])]
            first = Path(sweeps[0].run_path)
            resumes = options[1].resume is not None
            awaited.append(begin(options[1] if resumes else options[1].having(output=other_path(first))))
            check(first, Path(sweeps[1].run_path))
        except (BadInput, WorkFailed, KeyboardInterrupt) as error:
            seconds = ending_seconds(error) if isinstance(error, KeyboardInterrupt) else END_SECONDS
            stopped = _stopped(sweeps, seconds, remove=options[0].resume is None)
            if not isinstance(error, KeyboardInterrupt):
                raise
            raise Interrupted(
                stopped.replace("interrupted", "interrupted before the first step", 1), *error.args
            ) from None
        asked: list[EndAsked] = []

        def end_after_step() -> bool:
            asked.append(EndAsked())
            show(asked[0], "")
            return True

        try:
            with first_interrupt(end_after_step):
                _measure_all(sweeps, awaited, asked)
        except KeyboardInterrupt as error:
            raise Interrupted(
                sweeps[0].with_hint(_stopped(sweeps, ending_seconds(error), remove=False)), *error.args
            ) from None
    return Path(sweeps[0].run_path), Path(sweeps[1].run_path)


def _begin(
    stack: ExitStack, sweeps: list[LocustSweep], locustfile: Path, shown: "_Shown", options: SweepOptions
) -> TurnAwaited:
    """Start the next sweep, add it to the sweeps, and return its first wait. Leaving the stack ends the sweep."""
    show = partial(shown.show, side=SIDES[len(sweeps)])
    sweep = stack.enter_context(started(locustfile, options, show, in_turn=True))
    sweep.resumed_by = sweeps[0].run_path if sweeps else None
    sweeps.append(sweep)
    return _next_wait(sweep)


def _measure_all(sweeps: list[LocustSweep], awaited: list[TurnAwaited], asked: Collection[EndAsked]) -> None:
    """Give turns until both sweeps are complete, and only then let them end: to end a server is work, too.

    asked: becomes true where the user asks for the end. Raises KeyboardInterrupt then, when a step is stored.
    """
    while (place := whose_turn(*awaited)) is not None:
        sweeps[place].give_turn()
        awaited[place] = _next_wait(sweeps[place])
        if asked and whose_turn(*awaited) is not None:
            raise KeyboardInterrupt
    for sweep in sweeps:
        sweep.give_turn()
        sweep.follow()


def _next_wait(sweep: LocustSweep) -> TurnAwaited:
    awaited = sweep.follow()
    if awaited is None:
        raise WorkFailed(sweep.with_hint("a sweep ended before its last step"))
    return awaited


def _stopped(sweeps: list[LocustSweep], seconds: int, *, remove: bool) -> str:
    """End the sweeps as _end_early does, and return what happened. A further Ctrl-C does not wait for that."""
    try:
        return "; ".join(["interrupted", *_end_early(sweeps, seconds, remove=remove)])
    except KeyboardInterrupt:
        return "interrupted in the clean-up, which may be incomplete"


def _end_early(sweeps: list[LocustSweep], seconds: int, *, remove: bool) -> list[str]:
    """End the sweeps within so many seconds, remove their runs if wanted, and return what failed in the clean-up."""
    failed: list[str] = []
    deadline = monotonic() + seconds
    for sweep in sweeps:
        sweep.end_early()  # both at the same time
    for sweep in sweeps:
        failed += sweep.stop(max(0.0, deadline - monotonic()))
        if remove and sweep.run_path:
            Path(sweep.run_path).unlink(missing_ok=True)
    return failed


class _Shown:
    """Shows the events of both sweeps, and their beginnings as one."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._begun: list[SweepStarted] = []

    def show(self, event: Event, side: str) -> None:
        if not isinstance(event, SweepStarted):
            self._show(event, side)
            return
        self._begun.append(event)
        if len(self._begun) == len(SIDES):
            self._show(_joined(*self._begun), "")


def _joined(first: SweepStarted, other: SweepStarted) -> SweepStarted:
    """Return the beginning of both sweeps."""
    return SweepStarted(
        run=f"{first.run} and {other.run}",
        steps=first.steps + other.steps,
        steps_done=first.steps_done + other.steps_done,
        step_seconds=first.step_seconds,
        counted_seconds=first.counted_seconds,
        complete=first.complete and other.complete,
        notes=tuple(dict.fromkeys((*first.notes, *other.notes))),
    )
