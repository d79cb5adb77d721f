"""`poolsize sweep --against-url`, `--against-option` and `--against-mysqld`: two servers measured in turn (A B B A).

So a change of the machine meets both alike. Each sweep is a Locust process with a server, a load generator and a run of
its own. While one of them measures, the other waits for its turn, without load.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from poolsize.command_line.locust_sweep import LocustSweep, end_all, first_interrupt
from poolsize.command_line.signals import terminable
from poolsize.errors import BadInput, Interrupted, WorkFailed
from poolsize.formula import starting_point
from poolsize.present.text.progress import ProgressBar
from poolsize.runs.compared_field import compared_field
from poolsize.runs.store import load_run, load_setting, other_path, resume_command
from poolsize.sweep.events import EndAsked, Event, SweepStarted, TurnAwaited
from poolsize.sweep.options import NAMES_ANOTHER, SweepOptions
from poolsize.sweep.planning import cores_of, disks_of, plan_for

SIDES = ("first", "other")


def measure_in_turn(locustfile: Path, options: SweepOptions, not_for_two: Sequence[str]) -> tuple[Path, Path]:
    """Measure two servers in turn at the same pool sizes, and return the paths of both runs.

    not_for_two: given parameters that only one run's answer can heed. Raises BadInput, also for runs that can't be
    compared.
    """
    _refuse_mixture(options, not_for_two)
    first = options.having(against_url=None, against_options=None, against_mysqld=None)
    variables = {**(options.server_options or {}), **(options.against_options or {})}
    mysqld = None if options.against_url else options.against_mysqld or options.mysqld
    if options.resume:
        sides = first, first.having(**_resumed(options, options.resume, variables), mysqld=mysqld)
    else:
        first = first.having(sizes=options.sizes or starting_point(cores_of(options), disks=disks_of(options)).sizes)
        changed = {"url": options.against_url} if options.against_url else {}
        sides = first, first.having(**changed, mysqld=mysqld, server_options=None if changed else variables)
    if options.resume is None:
        plan_for(sides[0], locustfile.stem)  # refuses bad input before anything is started
    with ProgressBar() as bar:
        return _run_in_turn(locustfile, sides, bar.show)


def _refuse_mixture(options: SweepOptions, not_for_two: Sequence[str]) -> None:
    for name in not_for_two:
        raise BadInput(f"`{name}` is for the answer of one run: leave it out, and give it to poolsize recommend `run`")
    private = [name for name in ("against_options", "against_mysqld") if getattr(options, name)]
    if options.against_url and private:
        raise BadInput(f"`against_url` names a server, and `{private[0]}` starts a private one: leave one out")
    if options.against_url and options.against_url == options.url:
        raise BadInput("`against_url` and `url` name the same server: name two servers")
    if private and options.url:
        raise BadInput(f"`{private[0]}` is for two private servers: leave `url` and POOLSIZE_URL out")
    for name, why in (
        ("replay", "a recording is measured already: replay both, and compare the runs"),
        ("expect_workers", "workers elsewhere belong to one sweep: leave it out"),
        ("verify", "it measures one run's answer: leave it out"),
        ("budget_seconds", "it is for a search, and two servers are measured at the same sizes: leave it out"),
        ("interval", "it is for a search, and two servers are measured at the same sizes: leave it out"),
    ):
        if getattr(options, name) is not None:
            raise BadInput(f"{options.named(name)}: {why}")
    for name in options.extending:
        raise BadInput(f"{options.named(name)}: two runs in turn keep their plan: leave it out")


def _resumed(options: SweepOptions, run: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that the other run has of its own. run: the first. variables: of its private server.

    Raises BadInput where the other run is missing, and for its server's variables where they are not given again.
    """
    other = other_path(run)
    if not other.exists():
        given = next(name for name in NAMES_ANOTHER if getattr(options, name))
        raise BadInput(f"{options.named('resume')}: it has no other run, {other}: leave `{given}` out")
    setting = load_setting(other)
    if not setting.private and not options.against_url:
        raise BadInput(
            f"{options.named('resume')}: the other run began on a server given by its URL: give its `against_url` again"
        )
    if setting.private and variables != setting.server_options:
        raise BadInput(
            f"{options.named('resume')}: the variables of the other private server are not those of `server_options` "
            f"and `against_options`: give them again: {resume_command(run)}"
        )
    server_options = variables if setting.private and variables else None
    return {"resume": other, "url": options.against_url, "server_options": server_options}


def _run_in_turn(
    locustfile: Path, options: tuple[SweepOptions, SweepOptions], show: Callable[[Event, str], None]
) -> tuple[Path, Path]:
    """Run two sweeps in turn, and return the paths of their runs.

    options: of each sweep. Where it resumes no run, the other sweep writes its run beside the first's (see other_path).
    show: called with an event and its side; of neither side, "", the beginning of both.
    Raises what run_locust raises, and BadInput for runs that can't be compared. New runs that are refused or
    interrupted before the first step are removed.
    """
    asked: list[EndAsked] = []

    def end_after_step() -> bool:
        asked.append(EndAsked())
        show(asked[0], "")
        return True

    with terminable(), ExitStack() as stack:
        sweeps: list[LocustSweep] = []
        try:
            awaited = _begin(stack, sweeps, locustfile, options, show)
        except (BadInput, WorkFailed, KeyboardInterrupt) as error:
            stopped = end_all(sweeps, error)
            if options[0].resume is None:
                for path in filter(None, (sweep.run_path for sweep in sweeps)):
                    Path(path).unlink(missing_ok=True)
            if not isinstance(error, KeyboardInterrupt):
                raise
            stopped = stopped.replace("interrupted", "interrupted before the first step", 1)
            raise Interrupted(stopped, *error.args) from None
        try:
            with first_interrupt(end_after_step):
                _measure_all(sweeps, awaited, asked)
        except KeyboardInterrupt as error:
            raise Interrupted(sweeps[0].with_hint(end_all(sweeps, error)), *error.args) from None
    return Path(sweeps[0].run_path), Path(sweeps[1].run_path)


def _begin(
    stack: ExitStack,
    sweeps: list[LocustSweep],
    locustfile: Path,
    options: tuple[SweepOptions, SweepOptions],
    show: Callable[[Event, str], None],
) -> list[TurnAwaited]:
    """Start both sweeps, add them to `sweeps`, and return the first wait of each. Leaving the stack ends the sweeps."""
    begun: list[SweepStarted] = []

    def show_of(side: str, event: Event) -> None:
        if isinstance(event, SweepStarted):
            begun.append(event)
            if len(begun) < len(SIDES):
                return
            one, other = begun
            side = ""
            event = replace(
                one,
                run=f"{one.run} and {other.run}",
                steps=one.steps + other.steps,
                steps_done=one.steps_done + other.steps_done,
                complete=one.complete and other.complete,
                notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
            )
        show(event, side)

    awaited = []
    for side, own in zip(SIDES, options, strict=True):
        first = sweeps[0].run_path if sweeps else None
        chosen = own.having(output=other_path(Path(first))) if first and own.resume is None else own
        sweep = stack.enter_context(closing(LocustSweep(locustfile, chosen, partial(show_of, side), in_turn=True)))
        sweep.resumed_by = first
        sweeps.append(sweep)
        awaited.append(_next_wait(sweep))
    runs = {sweep.run_path: load_run(Path(sweep.run_path), torn_end=True) for sweep in sweeps}
    compared_field(runs)  # raises BadInput for runs that differ in more than one field
    return awaited


def _measure_all(sweeps: list[LocustSweep], awaited: list[TurnAwaited], asked: Collection[EndAsked]) -> None:
    """Give turns until both sweeps are complete, and only then let them end, which is work, too.

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
