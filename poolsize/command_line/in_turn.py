"""`poolsize sweep --against-url`, `--against-option` and `--against-mysqld`: two servers measured in turn, compared."""

from collections.abc import Sequence
from pathlib import Path

from poolsize.errors import BadInput
from poolsize.formula import starting_point
from poolsize.locust.in_turn import run_in_turn
from poolsize.present.text.progress import ProgressBar
from poolsize.runs.compared_field import compared_field
from poolsize.runs.store import load_run, load_setting, other_path, resume_command
from poolsize.sweep.options import NAMES_ANOTHER, SweepOptions
from poolsize.sweep.planning import cores_of, disks_of, plan_for


def measure_in_turn(locustfile: Path, options: SweepOptions, not_for_two: Sequence[str]) -> tuple[Path, Path]:
    """Measure two servers in turn at the same pool sizes, and return the paths of both runs.

    not_for_two: parameters of the command that were given and that only the answer of one run can heed.
    Raises BadInput for options that contradict each other, and for runs that compare would refuse.
    """
    _refuse_mixture(options, not_for_two)
    sides = _resumed(options, options.resume) if options.resume else _new(options)
    if options.resume is None:
        plan_for(sides[0], locustfile.stem)  # refuses bad input before anything is started
    with ProgressBar() as bar:
        return run_in_turn(locustfile, sides, bar.show, _require_comparable)


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


def _new(options: SweepOptions) -> tuple[SweepOptions, SweepOptions]:
    """Return the options of both sweeps, with the same pool sizes; by default those around the formula's result."""
    sizes = options.sizes or starting_point(cores_of(options), disks=disks_of(options)).sizes
    first = options.having(against_url=None, against_options=None, against_mysqld=None, sizes=sizes)
    if options.against_url:
        return first, first.having(url=options.against_url, mysqld=None, server_options=None)
    return first, first.having(
        mysqld=options.against_mysqld or options.mysqld,
        server_options={**(options.server_options or {}), **(options.against_options or {})},
    )


def _resumed(options: SweepOptions, run: Path) -> tuple[SweepOptions, SweepOptions]:
    """Return the options that resume both runs. run: the first.

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
    variables = {**(options.server_options or {}), **(options.against_options or {})}
    if setting.private and variables != setting.server_options:
        raise BadInput(
            f"{options.named('resume')}: the variables of the other private server are not those of `server_options` "
            f"and `against_options`: give them again: {resume_command(run)}"
        )
    first = options.having(against_url=None, against_options=None, against_mysqld=None)
    mysqld = None if options.against_url else options.against_mysqld or options.mysqld
    server_options = variables if setting.private and variables else None
    return first, first.having(resume=other, url=options.against_url, mysqld=mysqld, server_options=server_options)


def _require_comparable(first: Path, other: Path) -> None:
    """Raise BadInput for runs that differ in more than one field."""
    compared_field({str(path): load_run(path, torn_end=True) for path in (first, other)})
