"""Ways out of a finding as text, with the options of the command line."""

from functools import singledispatch

from poolsize.answer.failed_attempts import CorrectWorkload, EndPrograms, MeasureAgain
from poolsize.answer.finding import WayOut
from poolsize.answer.way_out import (
    FillGap,
    MeasureLonger,
    MoreUsers,
    MoreWorkers,
    MoreWorkersByDemands,
    SearchLonger,
    SweepBeyond,
    SweepRecordingBeyond,
)
from poolsize.units import count, milliseconds

SHORTER_PAUSES = "with shorter pauses of the users: they want a connection too rarely to fill the pool"
MORE_CPU = "Give the load generator a core or a machine of its own."


@singledispatch
def way_out_text(way_out: WayOut) -> str:
    """Return the way out of a finding, as part of a sentence."""
    raise NotImplementedError(way_out.code)


@way_out_text.register
def _(way_out: MeasureLonger) -> str:
    return f"measure longer, with --step-time {way_out.step_seconds}s or --repeats {way_out.repeats}"


@way_out_text.register
def _(way_out: SearchLonger) -> str:
    return f"search again with --budget {way_out.budget_minutes}m"


@way_out_text.register
def _(way_out: FillGap) -> str:
    return f"measure more pool sizes between {way_out.below} and {way_out.above}"


@way_out_text.register
def _(way_out: SweepBeyond) -> str:
    sizes = f"measure --pool-sizes {','.join(map(str, way_out.pool_sizes))}"
    if way_out.shorter_pauses:
        return f"{sizes} {SHORTER_PAUSES}"
    return sizes if way_out.users is None else f"{sizes} --users {way_out.users}"


@way_out_text.register
def _(_way_out: SweepRecordingBeyond) -> str:
    return "replay other --pool-sizes, if the recording contains them"


@way_out_text.register
def _(way_out: MoreUsers) -> str:
    if way_out.shorter_pauses:
        return f"measure {SHORTER_PAUSES}"
    users = [] if way_out.users is None else [f"--users {way_out.users}"]
    smaller = ["smaller --pool-sizes"] if way_out.smaller_sizes else []
    return f"use {' or '.join([*users, *smaller])}"


@way_out_text.register
def _(_way_out: MoreWorkers) -> str:
    return f"{MORE_CPU} Or divide the load among workers with --processes 2 or more."


@way_out_text.register
def _(way_out: MoreWorkersByDemands) -> str:
    demands = (
        f"At {count(way_out.pool_size, 'connection')}, a transaction takes {milliseconds(way_out.client_ms)} of CPU "
        f"time in the load generator and {milliseconds(way_out.server_ms)} of CPU time on the server, which has "
        f"{count(way_out.server_cores, 'core')}."
    )
    if way_out.workers is None:
        return f"{demands} {MORE_CPU}"
    return (
        f"{demands} Use --processes {way_out.workers} on a machine with cores that the server does not need, or "
        "workers on other machines (--expect-workers)."
    )


@way_out_text.register
def _(way_out: EndPrograms) -> str:
    if quiet := way_out.quiet_steps:
        return f"The last {count(quiet, 'step')} passed, so the machine may be quiet now: measure again"
    return "The other programs ran until the end of the sweep: end them, or wait until they end, and measure again"


@way_out_text.register
def _(_way_out: MeasureAgain) -> str:
    return "Measure again; `poolsize analyze` shows the checks"


@way_out_text.register
def _(_way_out: CorrectWorkload) -> str:
    return "Find out why transactions fail, correct the workload or the server, and measure again"
