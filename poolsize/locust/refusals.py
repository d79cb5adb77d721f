"""Refusals of what Locust offers and a sweep can't honour, each with what to use instead."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from locust.env import Environment

from poolsize.errors import BadInput
from poolsize.load.pool import divided_shares
from poolsize.locust.user import PoolUser, Tasks, pool_shares_of, sets_wait_time
from poolsize.runs.plan import SweepPlan
from poolsize.server.connection import database_url, encrypted_url, schema_in
from poolsize.sweep.options import SweepOptions


def with_host(options: SweepOptions, environment: Environment) -> SweepOptions:
    """Return the options; without a URL, Locust's option for the host becomes the database's URL.

    Locust forgets the host, whose password its reports would show. Raises BadInput for a host that is not a database.
    """
    host = environment.host
    if not host:
        return options
    try:
        url = database_url(host)
    except BadInput:
        way_out = "leave it out" if options.url else "name one by `url` mysql://USER:PASSWORD@HOST:3306/"
        raise BadInput(f"`host` is not a MySQL database: {way_out}") from None
    if options.url and (database_url(options.url) != url or schema_in(host) not in {None, schema_in(options.url)}):
        raise BadInput("`host` and `url` (or POOLSIZE_URL) name two databases: leave `host` out")
    environment.host = None
    if environment.parsed_options:
        environment.parsed_options.host = None
    return replace(options, url=options.url or host)


def encrypted(options: SweepOptions) -> SweepOptions:
    """Return the options with their encryption in the database's URL. Raises BadInput for encryption without a URL."""
    if options.ssl_mode is None and options.ssl_ca is None:
        return options
    if not options.url:
        name = "ssl_mode" if options.ssl_mode else "ssl_ca"
        raise BadInput(f"{options.named(name)}: it is for the connections to a server of yours: it also needs `url`")
    return replace(options, url=encrypted_url(options.url, options.ssl_mode, options.ssl_ca))


def refuse_ignored(environment: Environment) -> None:
    """Raise BadInput for options and classes of Locust that would have no effect on a sweep."""
    parsed: Any = environment.parsed_options
    if not parsed.headless:
        raise BadInput("add `headless`: a sweep runs by itself, from the first step to the last")
    if parsed.run_time:
        raise BadInput(
            f"`run_time` {parsed.run_time}s: leave it out, a sweep ends with its last step; see `step_seconds`"
        )
    if parsed.spawn_rate is not None:
        raise BadInput(
            f"`spawn_rate` {parsed.spawn_rate:g}: leave it out, all users start before the first step; see `users`"
        )
    if environment.shape_class:
        name = type(environment.shape_class).__name__
        raise BadInput(f"{name} is a LoadTestShape, and a sweep keeps its users: remove it, and give `users`")


def refuse_two_pauses(options: SweepOptions, user_classes: Iterable[type[PoolUser]]) -> None:
    """Raise BadInput for a wait_time of a class beside a think time, or in an open loop."""
    for name in (user_class.__name__ for user_class in user_classes if sets_wait_time(user_class)):
        if options.think_time_ms is not None:
            raise BadInput(f"{options.named('think_time_ms')} and the wait_time of {name} are both pauses: drop one")
        if options.rate is not None:
            raise BadInput(
                f"{options.named('rate')} makes an open loop, in which users do not pause, and {name} has a "
                "wait_time: leave one out"
            )


def refuse_undivided(plan: SweepPlan, options: SweepOptions, tasks: Tasks) -> None:
    """Raise BadInput where the plan can't be divided among the user classes.

    That is where their fixed counts exceed the users, and where they have pools of their own and a pool size is too
    small, or the loop is open: there, any user takes the next arrival.
    """
    pool_shares, fixed = pool_shares_of(tasks), sum(user_class.fixed_count for user_class in tasks)
    if fixed > plan.users:
        raise BadInput(
            f"`users` {plan.users}: the fixed_count of the user classes adds up to {fixed}; give at least that"
        )
    if not pool_shares:
        return
    least = len(divided_shares(pool_shares)) * (options.processes or options.expect_workers or 1)
    smallest = plan.search.smallest if plan.search else min(plan.sizes)
    if smallest < least:
        raise BadInput(
            f"{smallest} can't be divided among the pools of this workload and its workers: give `sizes` of {least} "
            "and more"
        )
    if plan.rate is not None or plan.verify:
        raise BadInput(
            f"`{'rate' if plan.rate is not None else 'verify'}` makes an open loop, in which any user takes the next "
            f"arrival, and the workload has a pool_share: leave one out{' (`no_verify`)' if plan.verify else ''}"
        )
