"""SweepOptions -> SweepPlan, and back: the bounds of the options, the plan of options, and the options of a plan."""

from dataclasses import fields, replace
from math import ceil
from typing import Annotated, Any, get_type_hints

from pydantic import Field

from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput
from poolsize.facts.machine import this_machine
from poolsize.formula import starting_point
from poolsize.record import Cores, Disks
from poolsize.runs.plan import SEARCH_STEP_SECONDS, SEARCH_WARM_UP_SECONDS, Search, SearchEnd, SweepPlan
from poolsize.runs.run import Run
from poolsize.sweep.options import EXTENDING_SEARCH, OPTIONS, SweepOptions
from poolsize.sweep.readers import write_seconds
from poolsize.units import count

FURTHEST = 8
"""The largest size of a search, as a multiple of the size that it starts from."""
SEARCH_DEFAULTS = {"warm_up_seconds": SEARCH_WARM_UP_SECONDS, "step_seconds": SEARCH_STEP_SECONDS}
"""Fields of the plan that have another default in a search."""
SEARCH_VERIFY = (70,)
"""The default of `verify` in a search of poolsize's own pool: the load at which the price table has the latency.

A replay has no open loop, and in an application's sweep the arrivals would be the user's own Locust file's. A grid
measures what was named, and nothing else.
"""
APPLICATION_DEFAULTS = {"warm_up_seconds": 10, "step_seconds": 15, "longest_warm_up_seconds": 60}
"""Fields of the plan that have another default in an application's sweep: an application that has just started is slow,
a JVM until it has compiled its code, and each change of size costs time, so that fewer and longer steps tell more.
"""

TYPES: dict[str, Any] = {
    "cores": Cores,
    "disks": Disks,
    "wait_for_server_seconds": Annotated[int, Field(ge=0, le=86_400)],
    **{
        name: hint
        for record in (SweepPlan, Search)
        for name, hint in get_type_hints(record, include_extras=True).items()
    },
}
"""Name of an option -> its type, which declares the bounds; other options have none."""


def plan_for(
    options: SweepOptions, workload: str, recorded: tuple[int, int] | None = None, pools: int | None = None
) -> SweepPlan:
    """Return the plan that follows from the options; the server's limits are not considered.

    workload: its name. recorded: smallest and largest pool size of the recording in a replay, else None.
    pools: number of pools of an application, which share the formula's connections; None for poolsize's own pool.
    Raises BadInput for options that contradict each other or that no sweep can have.
    """
    start = starting_point(cores_of(options), disks=disks_of(options))
    sizes, search = options.sizes or (), None
    if options.sizes is None and options.rate is not None:
        sizes = start.sizes
    elif options.sizes is None:
        search = _search(options, ceil(start.pool_size / (pools or 1)), recorded, pools or 1)
    refused, why = {"repeats"}, "a search chooses its repeats itself: leave it out, or name `sizes`"
    if search is None:
        refused = {"budget_seconds", "interval"}
        why = "it is for a search, and `sizes` or `rate` make a grid: leave one out"
    for name in options.chosen:
        if name in refused:
            raise BadInput(f"{options.named(name)}: {why}")
    largest = (search.largest if search else max(sizes, default=1)) * (pools or 1)
    users = enough_users(options, largest) if options.users is None else options.users
    if options.verify and options.no_verify:
        raise BadInput(f"{options.named('verify')} and `no_verify` contradict each other: leave one out")
    defaults = (SEARCH_DEFAULTS if search else {}) if pools is None else APPLICATION_DEFAULTS
    verify = SEARCH_VERIFY if search and pools is None and recorded is None and not options.no_verify else ()
    values = {"verify": verify, **defaults, **_values(options, SweepPlan)}
    plan = SweepPlan(**values | {"sizes": sizes, "users": users, "workload": workload, "search": search})
    a_step = plan.planned_seconds
    if search and search.budget_seconds < (1 + len(plan.verify)) * a_step:
        beside = f" beside {count(len(plan.verify), 'step')} in an open loop (`no_verify`: none)" if plan.verify else ""
        typed = options if options.budget_seconds else options.having(budget_seconds=search.budget_seconds)
        raise BadInput(
            f"{typed.named('budget_seconds')}: no step fits in it{beside}; a step takes {write_seconds(a_step)} "
            f"(`warm_up_seconds` {plan.warm_up_seconds}s, `step_seconds` {plan.step_seconds}s), and an answer takes "
            "several steps"
        )
    return plan


def extended_plan(options: SweepOptions, run: Run) -> SweepPlan:
    """Return the plan of a run, extended by the options: a search's budget and interval, a grid's sizes and repeats.

    Raises BadInput for an option of the other kind of sweep, for a value that extends nothing, and for a larger budget
    alone where it was not the budget that ended the search.
    """
    plan = run.plan
    own, others = ("grid", "search") if plan.search is None else ("search", "grid")
    for name in options.extending:
        if (name in EXTENDING_SEARCH) == (plan.search is None):
            raise BadInput(f"{options.named(name)}: it is for a {others}, and the run is a {own}: leave it out")
    if plan.search is None:
        return _larger_grid(options, plan)
    return replace(plan, search=_longer_search(options, plan.search, run.ended))


def _longer_search(options: SweepOptions, search: Search, ended: SearchEnd | None) -> Search:
    longer = replace(search, **_values(options, Search))
    if longer.budget_seconds < search.budget_seconds:
        had = write_seconds(search.budget_seconds)
        raise BadInput(f"{options.named('budget_seconds')}: the search had {had}, which are a part of it: give more")
    if longer.interval > search.interval:
        raise BadInput(f"{options.named('interval')}: the search had {search.interval:g}: give less")
    if longer != search and longer.interval == search.interval and ended not in {None, SearchEnd.BUDGET}:
        why, way_out = "no step could be used", "start a new run"
        if ended is SearchEnd.CERTAIN:
            why, way_out = "its answer was certain", "a smaller `interval` extends it"
        raise BadInput(f"{options.named('budget_seconds')}: the search ended because {why}: {way_out}")
    return longer


def _larger_grid(options: SweepOptions, plan: SweepPlan) -> SweepPlan:
    smallest, largest, repeats = min(plan.sizes), max(plan.sizes), options.repeats or plan.repeats
    for size in options.sizes or ():
        if not smallest <= size <= largest:  # beyond them, users may be too few, and a recording has no such size
            raise BadInput(
                f"`sizes` {size}: the run is extended by sizes between its own, {smallest} to {largest}: leave {size} "
                "out, or start a new run"
            )
    if repeats < plan.repeats:
        raise BadInput(f"{options.named('repeats')}: the run has {plan.repeats} already: give more")
    return replace(plan, sizes=tuple(sorted({*plan.sizes, *(options.sizes or ())})), repeats=repeats)


def options_of(plan: SweepPlan) -> dict[str, Any]:
    """Return the options, without defaults but sizes or search and users, that lead to the same plan."""
    defaults = {field.name: field.default for field in fields(plan)} | {"workload": plan.workload}
    search: dict[str, Any] = {}
    if plan.search is not None:
        search = {field.name: getattr(plan.search, field.name) for field in fields(plan.search)}
        search |= {} if plan.verify else {"no_verify": True}
        defaults |= {"sizes": (), **SEARCH_DEFAULTS, "verify": plan.verify and SEARCH_VERIFY}
    changed = {name: getattr(plan, name) for name, default in defaults.items() if getattr(plan, name) != default}
    return {name: value for name, value in (search | changed).items() if name in OPTIONS}


def enough_users(options: SweepOptions, largest: int) -> int:
    """Return twice as many users as the largest pool has connections, rounded up to the same number for each worker."""
    processes = options.processes or options.expect_workers or 1
    return 2 * processes * ceil(largest / processes)


def cores_of(options: SweepOptions) -> int:
    """Return the physical cores of the database's host, by default those that this process may use."""
    return this_machine().usable_cores if options.cores is None else options.cores


def disks_of(options: SweepOptions) -> int:
    """Return the number of disks of the database's host, by default 1."""
    return 1 if options.disks is None else options.disks


def _values(options: SweepOptions, record: type) -> dict[str, Any]:
    """Return the options with a value that are fields of a record: name -> value."""
    names = {field.name for field in fields(record)}
    return {name: getattr(options, name) for name in options.chosen if name in names}


def _search(options: SweepOptions, start: int, recorded: tuple[int, int] | None, pools: int) -> Search:
    """Return a search around a size, within those of the recording, or else those that the users can fill."""
    furthest = min(FURTHEST * start, LARGEST_POOL)
    largest = furthest if options.users is None else min(furthest, max(1, options.users // (2 * pools)))
    smallest, largest = recorded or (1, largest)
    start = min(max(start, smallest), largest)
    return Search(start=start, smallest=smallest, largest=largest, **_values(options, Search))
