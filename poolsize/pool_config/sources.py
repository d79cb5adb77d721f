"""Why each setting has its value, and where the value comes from, as sentences for the comments of a configuration."""

from poolsize.answer.fleet_plan import FleetThreads
from poolsize.answer.verdict import Verdict
from poolsize.pool_config.settings import ASSUMED_USAGE_MS, DEFAULT_WAIT_TIMEOUT_SECONDS, SURVEY, PoolSettings
from poolsize.units import count, milliseconds


def sources(settings: PoolSettings) -> dict[str, str]:
    """Return the sentences that the templates use: name -> sentence.

    size, minimum, wait_limit, lifetime, idle_limit, idle_check, longest_queue: as the fields of PoolSettings.
    lifetime_unchecked: of a pool that checks no idle connection. lifetime_text: the lifetime itself, e.g. "30 min".
    total: of what all processes share. no_borrow_check: why borrowed connections are not tested.
    server_connections, wait_timeout: of the server's own settings. server_ends_idle: what is known of its wait_timeout.
    """
    lifetime, idle_limit = seconds_text(settings.lifetime_seconds), seconds_text(settings.idle_limit_seconds)
    server_ends_idle = _server_ends_idle(settings)
    replaced = f"A connection is replaced after {lifetime}. {server_ends_idle}"
    return {
        "size": _size(settings),
        "total": _recommended(settings),
        "minimum": f"Connections that the pool keeps open without load. Source: {SURVEY}.",
        "wait_limit": _wait_limit(settings),
        "lifetime": replaced,
        "lifetime_unchecked": (
            f"{replaced} Choose less if a firewall or a load balancer between ends idle connections sooner: nothing "
            "checks them."
        ),
        "lifetime_text": lifetime,
        "idle_limit": f"A connection ends when it was not used for {idle_limit}. Source: {SURVEY}.",
        "idle_check": (
            f"Idle connections are pinged every {seconds_text(settings.idle_check_seconds)}, in the background: "
            "neither the server nor a firewall then ends them unnoticed."
        ),
        "no_borrow_check": (
            "A check of every borrowed connection costs a round trip to the database for every transaction."
        ),
        "longest_queue": _longest_queue(settings),
        "server_connections": _server_connections(settings),
        "wait_timeout": (
            f"The server ends a connection that is idle for {seconds_text(settings.wait_timeout_seconds)}. The pools "
            f"replace a connection sooner, after {lifetime}."
        ),
        "server_ends_idle": server_ends_idle,
    }


def _size(settings: PoolSettings) -> str:
    recommended = _recommended(settings)
    if settings.is_reduced:
        recommended = f"{recommended} {_why_other(settings)}"
    if settings.size == 1:
        recommended += " With 1 connection, a thread that needs a second one at the same time never gets it."
    if not settings.fleet_known:
        size = f"{count(settings.size, 'connection')}. " if settings.is_reduced else ""
        return (
            f"{size}{recommended} If more than one process has such a pool, divide the connections: give --instances "
            "and --processes."
        )
    each = f"{count(settings.size, 'connection')} in each of {count(settings.service.pools, 'process', 'processes')}"
    return f"{each}: together {settings.plan.connections:,}. {recommended}"


def _why_other(settings: PoolSettings) -> str:
    """Return why all pools together have more or fewer connections than recommended."""
    if settings.plan.connections <= settings.plan.size:
        by_threads = any(isinstance(finding, FleetThreads) for finding in settings.plan.findings)
        return "The threads of the processes use fewer." if by_threads else "The server's limit allows fewer."
    floor = settings.service.floor
    return f"The deadlock floor is {floor:,}." if floor > 1 else "But each process needs at least 1."


def _recommended(settings: PoolSettings) -> str:
    source, run = "(--size)", settings.of_run
    if run:
        verdict = "" if run.verdict is Verdict.MEASURED else f", verdict {run.verdict}"
        doubt = f" (in doubt{verdict})" if run.in_doubt else ""
        source = f"by the measurement in {run.path}{doubt}"
    return f"Recommended {source}: {count(settings.plan.size, 'connection')}, for all clients of the database together."


def _wait_limit(settings: PoolSettings) -> str:
    limit = seconds_text(settings.wait_limit_seconds)
    measured = settings.measured
    if measured is None:
        return (
            f"A borrower gets an error after {limit}. Source: {SURVEY}. With a measured --run, the limit follows from "
            "the measured wait times."
        )
    return (
        f"A borrower gets an error after {limit}: twice the p99 wait time, rounded up to whole seconds. The p99 "
        f"wait time was {milliseconds(measured.wait_p99_ms)} with {count(measured.measured_size, 'connection')}."
    )


def _longest_queue(settings: PoolSettings) -> str:
    usage = milliseconds(settings.measured.usage_mean_ms if settings.measured else ASSUMED_USAGE_MS)
    return (
        f"Borrowers that may wait: as many as {count(settings.size, 'connection')} serve within the wait limit of "
        f"{seconds_text(settings.wait_limit_seconds)}, with a usage time of {usage}. The next gets an error at once."
    )


def _server_connections(settings: PoolSettings) -> str:
    limit, needed = settings.plan.limit, settings.plan.connections_in_deploy
    text = (
        f"All pools open up to {count(needed, 'connection')} in a rolling deploy; {limit.reserve:,} more are for "
        "administrators, monitoring and other programs."
    )
    if settings.server_connections > settings.needed_connections:
        present = "The server's limit" if settings.server.max_connections else "The server's default"
        return f"{text} {present} is enough."
    return f"{text} The server lowers max_connections if its open_files_limit is too small."


def _server_ends_idle(settings: PoolSettings) -> str:
    value = seconds_text(settings.wait_timeout_seconds)
    if settings.server.wait_timeout_seconds is not None:
        return f"The server ends a connection that is idle for {value} (its wait_timeout)."
    assert settings.wait_timeout_seconds == DEFAULT_WAIT_TIMEOUT_SECONDS
    return f"The server's wait_timeout is taken as the default, {value}; --url reads it."


def seconds_text(value: float) -> str:
    """Return a duration in its largest whole unit: 8 h, 30 min, 90 s, 1.5 s."""
    for seconds, unit in ((3600, "h"), (60, "min")):
        if value > seconds and value % seconds == 0:
            return f"{value / seconds:g} {unit}"
    return f"{value:g} s"
