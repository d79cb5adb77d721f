"""What a user asked of a sweep, and the plan that it amounts to."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from math import ceil
from pathlib import Path

from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.formula import starting_point
from poolsize.runs.plan import (
    SEARCH_STEP_SECONDS,
    SEARCH_WARM_UP_SECONDS,
    Search,
    SweepPlan,
    parse_percentages,
    parse_share,
    parse_sizes,
)
from poolsize.sweep.options import OPTIONS, USERS
from poolsize.units import seconds_of

FURTHEST = 8
"""A search goes no further up than so many times the size that it starts from."""


@dataclass(frozen=True)
class SweepRequest:
    """The options of a sweep as they were typed; None where the user left the choice to poolsize.

    locustfile: the workload's file. own_workload: the path as typed, or None for one that comes with poolsize.
    """

    locustfile: Path
    own_workload: str | None = None
    url: str | None = None
    pool_sizes: str | None = None
    budget: str | None = None
    interval: str | None = None
    users: int | None = None
    processes: int | None = None
    expect_workers: int | None = None
    think_time: str | None = None
    warm_up: str | None = None
    step_time: str | None = None
    precision: str | None = None
    rate: str | None = None
    pool_timeout: str | None = None
    error_budget: str | None = None
    verify: str | None = None
    repeats: int | None = None
    seed: int | None = None
    cores: int | None = None
    disks: int | None = None
    output: str | None = None
    resume: str | None = None
    mysqld: str | None = None
    server_option: tuple[str, ...] | None = None

    @property
    def workload(self) -> str:
        """The workload's name."""
        return self.locustfile.stem

    @property
    def workload_sha256(self) -> str:
        """Of the locustfile's text."""
        known = self.locustfile.is_file()  # a published curve has a name and no file of its own
        return hashlib.sha256(self.locustfile.read_bytes() if known else self.locustfile.name.encode()).hexdigest()


def wished(request: SweepRequest, recorded: tuple[int, int] | None = None) -> SweepPlan:
    """The plan as asked for, before the server has a say. recorded: smallest and largest size, of a replay."""
    start = starting_point(cores_of(request), disks=disks_of(request))
    search = None
    sizes: tuple[int, ...] = ()
    if request.pool_sizes is not None:
        sizes = parse_sizes(request.pool_sizes)
    elif request.rate is not None:
        sizes = start.sizes
    else:
        search = _search(request, start.pool_size, recorded)
    _refuse_of_the_other_kind(request, search)
    given = {
        "think_time_ms": None if request.think_time is None else 1000 * seconds_of(request.think_time, "--think-time"),
        "warm_up_seconds": _whole_seconds(request.warm_up, "--warm-up"),
        "step_seconds": _whole_seconds(request.step_time, "--step-time"),
        "precision": None if request.precision is None else parse_share(request.precision, "--precision"),
        "rate": None if request.rate is None else _number(request.rate, "--rate"),
        "pool_timeout_seconds": _seconds(request.pool_timeout, "--pool-timeout"),
        "error_budget": None if request.error_budget is None else parse_share(request.error_budget, "--error-budget"),
        "verify": None if request.verify is None else parse_percentages(request.verify, "--verify"),
        "repeats": request.repeats,
        "seed": request.seed,
    }
    usual = {"warm_up_seconds": SEARCH_WARM_UP_SECONDS, "step_seconds": SEARCH_STEP_SECONDS} if search else {}
    chosen = usual | {name: value for name, value in given.items() if value is not None}
    largest = search.largest if search else max(sizes)
    return SweepPlan(
        sizes=sizes,
        users=enough_users(request, largest) if request.users is None else request.users,
        workload=request.workload,
        search=search,
        **chosen,  # type: ignore[arg-type]  # by name
    )


def _search(request: SweepRequest, start: int, recorded: tuple[int, int] | None) -> Search:
    """Around the formula, as far as callers can fill a pool, or the recording reaches."""
    largest = FURTHEST * start if request.users is None else min(FURTHEST * start, max(1, request.users // 2))
    smallest, largest = recorded or (1, largest)
    given = {
        "budget_seconds": _whole_seconds(request.budget, "--budget"),
        "interval": None if request.interval is None else _number(request.interval, "--interval"),
    }
    return Search(
        start=min(max(start, smallest), largest),
        smallest=smallest,
        largest=largest,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]  # by name
    )


def _refuse_of_the_other_kind(request: SweepRequest, search: Search | None) -> None:
    """A grid has repeats, and a search has a budget."""
    if search is not None and request.repeats is not None:
        raise BadInput(
            f"--repeats {request.repeats}: without --pool-sizes it is the search that repeats, where that tells most: "
            "name --pool-sizes, or give a --budget"
        )
    for flag, value in (("--budget", request.budget), ("--interval", request.interval)):
        if search is None and value is not None:
            raise BadInput(f"{flag} {value}: it is for a search, and --pool-sizes or --rate make a grid: leave one out")


def enough_users(request: SweepRequest, largest: int) -> int:
    """Twice the largest pool, in every load process: each has to fill its own share."""
    processes = request.processes or request.expect_workers or 1
    return 2 * processes * ceil(largest / processes)


def _seconds(text: str | None, option: str) -> float | None:
    return None if text is None else seconds_of(text, option)


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{option} {text}: give a number, such as 500") from None


def _whole_seconds(text: str | None, option: str) -> int | None:
    """Steps are recorded by the second, so their lengths are whole seconds."""
    if text is None:
        return None
    seconds = seconds_of(text, option)
    if seconds != int(seconds):
        raise BadInput(f"{option} {text}: give whole seconds, such as {round(seconds) or 1}s")
    return int(seconds)


def cores_of(request: SweepRequest) -> int:
    """Of the database's host; this machine's where none were given."""
    return this_machine().usable_cores if request.cores is None else request.cores


def disks_of(request: SweepRequest) -> int:
    """Of the database's host."""
    return 1 if request.disks is None else request.disks


def output_of(request: SweepRequest) -> Path:
    """The run's file, which is not there yet. Raises BadInput."""
    if request.output is None:
        name = f"{datetime.now():%Y-%m-%dT%H%M%S}-{request.workload}"
        numbers = (f"-{number}" for number in count(2))
        return next(
            path for end in chain([""], numbers) if not (path := Path("data/runs") / f"{name}{end}.jsonl").exists()
        )
    path = Path(request.output)
    if path.exists():
        raise BadInput(
            f"--output {path} is there already: name another file, or go on with that run by --resume {path}"
        )
    if not path.parent.is_dir():
        raise BadInput(f"--output {path}: there is no folder {path.parent}; make it, or name a file elsewhere")
    return path


def refuse_settled(request: SweepRequest) -> None:
    """Raise BadInput for what a resumed run has in its header already."""
    for option in (USERS, *OPTIONS):
        value = getattr(request, option.name)
        if option.settled and value not in (None, ()):
            raise BadInput(f"{option.flag} {value}: a resumed run keeps its plan; leave {option.flag} out")
