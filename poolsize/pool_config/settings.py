"""The settings of a pool that every library has under a name of its own, and why each has its value, as sentences."""

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from poolsize.answer.fleet import Service
from poolsize.answer.fleet_plan import FleetPlan, FleetThreads
from poolsize.answer.verdict import Verdict
from poolsize.errors import BadInput
from poolsize.units import count, milliseconds

if TYPE_CHECKING:  # numpy stays out of `poolsize config --size 33`
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.from_run import TransactionPool
    from poolsize.answer.recommendation import Recommendation

SURVEY = 'the survey "Connection pool survey: dbcp, druid, c3p0, tomcat-jdbc, HikariCP"'
CALLER_TIMEOUT_SECONDS = 30.0
"""How long callers of an application wait where nothing else is known: a usual limit of proxies and HTTP clients."""
WAIT_PART = 1 / 3
"""The part of the callers' time that is the wait limit, so that an error, and another attempt, still reach them."""
PUBLISHED_IDLE_CHECK_SECONDS = 90
"""Source: the survey (data/published), as the next two."""
PUBLISHED_IDLE_LIMIT_SECONDS = 1800
PUBLISHED_MINIMUM = 3
LIFETIME_SECONDS = 1800
"""HikariCP's default. It ends a connection before a network device or a failover makes it useless unnoticed."""
ASSUMED_USAGE_MS = 50.0
"""Mean usage time without a measurement, for the longest queue and the wait limit."""
DEFAULT_WAIT_TIMEOUT_SECONDS = 28_800
"""Of MySQL and MariaDB."""
DEFAULT_MAX_CONNECTIONS = 151


@dataclass(frozen=True)
class MeasuredTimes:
    """What a run shows of a pool's times at the recommended pool size.

    usage_p99_ms, usage_mean_ms: at measured_size, the measured pool size that is nearest to the
    recommended one. two_pools: for short and for long transactions, where the run proposes them.
    """

    measured_size: int
    usage_p99_ms: float
    usage_mean_ms: float
    two_pools: "tuple[TransactionPool, ...]" = ()


@dataclass(frozen=True)
class SizeOfRun:
    """Where a measured pool size comes from. path: of the run's file. verdict: on the size.

    in_doubt: whether a finding puts the size in doubt.
    """

    path: str
    verdict: Verdict
    in_doubt: bool


@dataclass(frozen=True)
class ServerFacts:
    """The facts of the server that will be used; None where they are not known.

    A run does not show the limits of that server: it may have measured a private server, with limits of poolsize's own.
    thread_pool_cores: cores of the database's host, if the run measured a server with a thread pool.
    """

    max_connections: int | None = None
    wait_timeout_seconds: int | None = None
    thread_pool_cores: int | None = None


@dataclass(frozen=True)
class PoolSettings:
    """The settings of the pool in each process, in the terms of no library.

    size: connections that the pool may open, overflow included.
    minimum: connections that an idle pool keeps, for libraries that advise no fixed size.
    wait_limit_seconds: after which a borrower gets an error. longest_queue: borrowers that it serves by then.
    caller_timeout_seconds: how long the callers of the application wait.
    lifetime_seconds: after which a connection is replaced. idle_limit_seconds: after which a surplus connection ends.
    idle_check_seconds: interval at which idle connections are pinged in the background.
    wait_timeout_seconds: the server's, or the default where `server` does not know it.
    plan: the fleet; of one process where the fleet is not known. fleet_known: whether it is.
    measured: what a run shows, or None without a run that knows latencies.
    of_run: where a measured size comes from; None for a size that was given.
    """

    size: int
    minimum: int
    wait_limit_seconds: int
    longest_queue: int
    caller_timeout_seconds: float
    lifetime_seconds: int
    idle_limit_seconds: int
    idle_check_seconds: int
    wait_timeout_seconds: int
    plan: FleetPlan
    fleet_known: bool
    measured: MeasuredTimes | None
    server: ServerFacts
    of_run: SizeOfRun | None = None

    @property
    def service(self) -> Service:
        """The application whose pools these are."""
        return self.plan.pools[0].service

    @property
    def is_reduced(self) -> bool:
        """Whether the server's limit or the deadlock floor makes the pools other than recommended."""
        size = self.plan.size
        return self.plan.connections > size or size - self.plan.connections >= self.service.pools

    @property
    def needed_connections(self) -> int:
        """The max_connections that the pools and the reserve need."""
        return self.plan.connections_in_deploy + self.plan.limit.reserve

    @property
    def server_connections(self) -> int:
        """The max_connections that the server needs; its present or the default value where this is enough."""
        return max(self.needed_connections, self.server.max_connections or DEFAULT_MAX_CONNECTIONS)


def pool_settings(
    plan: FleetPlan,
    measured: MeasuredTimes | None,
    server: ServerFacts,
    *,
    fleet_known: bool,
    of_run: SizeOfRun | None = None,
    caller_timeout_seconds: float = CALLER_TIMEOUT_SECONDS,
) -> PoolSettings:
    """Return the settings for each process of a fleet of one application.

    The wait limit is a third of what the callers' time has left after the p99 usage time, in whole seconds, at least
    1 s. plan: with pools. measured, of_run, caller_timeout_seconds: as in PoolSettings. Raises BadInput for a server
    that ends idle connections sooner than a pool can check them, and for callers who wait no longer than a usage time.
    """
    (pool,) = plan.pools
    wait_timeout = server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS
    if wait_timeout < 4:
        raise BadInput(
            f"the server's wait_timeout is {wait_timeout} s: no pool can replace its connections that often; set it to "
            "60 s or more"
        )
    left_seconds = caller_timeout_seconds - _longest_usage_ms(measured) / 1000
    if left_seconds <= 1:
        raise BadInput(
            f"`caller_timeout` {seconds_text(caller_timeout_seconds)}: a usage time takes up to "
            f"{milliseconds(_longest_usage_ms(measured))}, and a pool waits for 1 s at least; callers must wait longer"
        )
    wait_limit = max(1, round(left_seconds * WAIT_PART))  # Flask-SQLAlchemy cuts off fractions
    usage_ms = measured.usage_mean_ms if measured else ASSUMED_USAGE_MS
    margin = min(30, ceil(wait_timeout / 10))  # so long before the server ends it, a connection ends
    lifetime = min(LIFETIME_SECONDS, wait_timeout - margin)
    return PoolSettings(
        size=pool.pool_size,
        minimum=min(PUBLISHED_MINIMUM, pool.pool_size),
        wait_limit_seconds=wait_limit,
        longest_queue=ceil(pool.pool_size * 1000 * wait_limit / usage_ms),
        caller_timeout_seconds=caller_timeout_seconds,
        lifetime_seconds=lifetime,
        idle_limit_seconds=min(PUBLISHED_IDLE_LIMIT_SECONDS, lifetime),
        idle_check_seconds=min(PUBLISHED_IDLE_CHECK_SECONDS, int(0.75 * wait_timeout)),  # as 90 s of 120 s
        wait_timeout_seconds=wait_timeout,
        plan=plan,
        fleet_known=fleet_known,
        measured=measured,
        server=server,
        of_run=of_run,
    )


def measured_times(analysis: "Analysis", answer: "Recommendation") -> MeasuredTimes | None:
    """Return what a run shows of a pool's times at its answer's size; None for a run without them.

    A replay knows no latencies. An application's metrics give means of wait and usage time, and no percentiles.
    """
    assert answer.pool_size
    nearest = analysis.by_size.nearest(answer.pool_size)
    if not (nearest.usage.mean > 0 and nearest.usage.p99 >= 0):
        return None
    return MeasuredTimes(nearest.pool_size, nearest.usage.p99, nearest.usage.mean, answer.two_pools)


def sources(settings: PoolSettings) -> dict[str, str]:
    """Return the sentences that the templates use: name -> sentence.

    size, minimum, wait_limit, lifetime, idle_limit, idle_check, longest_queue: as the fields of PoolSettings.
    lifetime_unchecked: of a pool that checks no idle connection. lifetime_text: the lifetime itself, e.g. "30 min".
    total: of what all processes share. no_borrow_check: why borrowed connections are not tested.
    server_connections, wait_timeout: of the server's own settings. server_ends_idle: what is known of its wait_timeout.
    """
    lifetime, idle_limit = seconds_text(settings.lifetime_seconds), seconds_text(settings.idle_limit_seconds)
    wait_timeout = seconds_text(settings.wait_timeout_seconds)
    server_ends_idle = f"The server's wait_timeout is taken as the default, {wait_timeout}; --url reads it."
    if settings.server.wait_timeout_seconds is not None:
        server_ends_idle = f"The server ends a connection that is idle for {wait_timeout} (its wait_timeout)."
    usage_ms = settings.measured.usage_mean_ms if settings.measured else ASSUMED_USAGE_MS
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
        "longest_queue": (
            f"Borrowers that may wait: as many as {count(settings.size, 'connection')} serve within the wait limit of "
            f"{seconds_text(settings.wait_limit_seconds)}, with a usage time of {milliseconds(usage_ms)}. The next "
            "gets an error at once."
        ),
        "server_connections": _server_connections(settings),
        "wait_timeout": (
            f"The server ends a connection that is idle for {wait_timeout}. The pools replace a connection sooner, "
            f"after {lifetime}."
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
    usage_ms, callers = _longest_usage_ms(settings.measured), seconds_text(settings.caller_timeout_seconds)
    usage = f"{'the measured p99' if settings.measured else 'an assumed'} usage time of {milliseconds(usage_ms)}"
    return (
        f"A borrower gets an error after {seconds_text(settings.wait_limit_seconds)}: a third of what {usage} leaves "
        f"of the {callers} that callers wait (--caller-timeout), at least 1 s. So the error still reaches them."
    )


def _longest_usage_ms(measured: MeasuredTimes | None) -> float:
    return measured.usage_p99_ms if measured else ASSUMED_USAGE_MS


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


def seconds_text(value: float) -> str:
    """Return a duration in its largest whole unit: 8 h, 30 min, 90 s, 1.5 s."""
    for seconds, unit in ((3600, "h"), (60, "min")):
        if value > seconds and value % seconds == 0:
            return f"{value / seconds:g} {unit}"
    return f"{value:g} s"
