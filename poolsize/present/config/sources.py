"""Why each setting has its value, and where the value comes from, as sentences for the comments of a configuration."""

from dataclasses import dataclass

from poolsize.answer.pool_settings import ASSUMED_USAGE_MS, DEFAULT_WAIT_TIMEOUT_SECONDS, PoolSettings
from poolsize.units import count, milliseconds

SURVEY = "a survey of five JDBC pools"


@dataclass(frozen=True)
class Sources:
    """The sentences, one for each setting.

    size, minimum, wait_limit, lifetime, idle_limit, idle_check: as the fields of PoolSettings. no_borrow_check: why
    connections are not tested when they are borrowed. total: why a proxy has the connections of all clients.
    server_connections, wait_timeout: of the server. lifetime_text: the lifetime itself. wait_timeout_known: whether the
    server's wait_timeout is known.
    """

    size: str
    total: str
    minimum: str
    wait_limit: str
    lifetime: str
    idle_limit: str
    idle_check: str
    no_borrow_check: str
    longest_queue: str
    server_connections: str
    wait_timeout: str
    lifetime_text: str
    wait_timeout_known: str


def sources(settings: PoolSettings) -> Sources:
    """Return the sentences for the settings of a pool."""
    return Sources(
        size=_size(settings),
        total=_total(settings),
        minimum=f"Connections that an idle pool keeps open. Source: {SURVEY}.",
        wait_limit=_wait_limit(settings),
        lifetime=(
            f"A connection is replaced after {seconds_text(settings.lifetime_seconds)}. {_wait_timeout(settings)} "
            "A limit of a firewall or a load balancer must be longer, too."
        ),
        lifetime_text=seconds_text(settings.lifetime_seconds),
        wait_timeout_known=_wait_timeout(settings),
        idle_limit=f"A surplus connection ends after so long without use. Source: {SURVEY}.",
        idle_check=(
            f"Idle connections are pinged every {seconds_text(settings.idle_check_seconds)}, in the background: "
            "neither the server nor a firewall then ends them unnoticed."
        ),
        no_borrow_check=(
            "A check of every borrowed connection costs a round trip to the database for every transaction."
        ),
        longest_queue=_longest_queue(settings),
        server_connections=_server_connections(settings),
        wait_timeout=(
            f"An idle connection ends after so long. The pools replace a connection after "
            f"{seconds_text(settings.lifetime_seconds)}, which must be less."
        ),
    )


def _size(settings: PoolSettings) -> str:
    if not settings.fleet_known:
        return (
            f"{_recommended(settings)}, for all clients of the database together. If more than one process has such a "
            "pool, divide the connections: give --instances and --processes."
        )
    plan = settings.plan
    each = f"{count(settings.size, 'connection')} in each of {count(settings.service.pools, 'process', 'processes')}"
    return f"{each}: together {plan.connections:,}. {_recommended(settings)}, for all clients of the database together."


def _total(settings: PoolSettings) -> str:
    return f"{_recommended(settings)}, for all clients of the database together."


def _recommended(settings: PoolSettings) -> str:
    size = count(settings.plan.size, "connection")
    if settings.measured is None:
        return f"Recommended: {size}"
    return f"Recommended by the measurement in {settings.measured.path}: {size}"


def _wait_limit(settings: PoolSettings) -> str:
    limit = seconds_text(settings.wait_limit_seconds)
    measured = settings.measured
    if measured is None:
        return (
            f"A borrower gets an error after {limit}. Source: {SURVEY}. With a measured --run, the limit follows from "
            "the measured wait times."
        )
    return (
        f"A borrower gets an error after {limit}: twice the p99 wait time, which was "
        f"{milliseconds(measured.wait_p99_ms)} with {count(measured.measured_size, 'connection')}, in whole seconds."
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
    if settings.server_connections > needed + limit.reserve:
        present = "The server's limit" if limit.max_connections else "The server's default"
        return f"{text} {present} is enough."
    return text


def _wait_timeout(settings: PoolSettings) -> str:
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
