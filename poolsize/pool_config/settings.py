"""The settings of a pool that every library has under a name of its own: size, wait limit, lifetimes, checks."""

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Self

from poolsize.answer.fleet import Service
from poolsize.answer.fleet_plan import FleetPlan
from poolsize.answer.verdict import Verdict
from poolsize.errors import BadInput

if TYPE_CHECKING:  # numpy stays out of `poolsize config --size 33`
    from poolsize.analysis.analysis import Analysis
    from poolsize.answer.recommendation import Recommendation, TransactionPool

SURVEY = 'the survey "Connection pool survey: dbcp, druid, c3p0, tomcat-jdbc, HikariCP"'
PUBLISHED_WAIT_LIMIT_SECONDS = 5
"""Source: the survey (data/published), as the next three."""
PUBLISHED_IDLE_CHECK_SECONDS = 90
PUBLISHED_IDLE_LIMIT_SECONDS = 1800
PUBLISHED_MINIMUM = 3
IDLE_CHECK_SHARE = 0.75
"""Of the server's wait_timeout. The survey advises 90 s for a wait_timeout of 120 s."""
LIFETIME_SECONDS = 1800
"""HikariCP's default. It ends a connection before a network device or a failover makes it useless unnoticed."""
LARGEST_MARGIN_SECONDS = 30
"""A connection ends so long before the server's wait_timeout, or a tenth of it if that is less."""
WAIT_LIMIT_OVER_P99 = 2
SHORTEST_WAIT_LIMIT_SECONDS = 1
"""A pause of the server or the network that is shorter than this should not fail a transaction.

A wait limit has whole seconds, because Flask-SQLAlchemy cuts off a fraction.
"""
ASSUMED_USAGE_MS = 50.0
"""Mean usage time without a measurement, for the longest queue."""
DEFAULT_WAIT_TIMEOUT_SECONDS = 28_800
"""Of MySQL and MariaDB."""
DEFAULT_MAX_CONNECTIONS = 151
SHORTEST_WAIT_TIMEOUT_SECONDS = 4
"""With less, no pool can check or replace its connections in time."""


@dataclass(frozen=True)
class MeasuredTimes:
    """What a run tells of a pool's times at the recommended pool size.

    wait_p99_ms, usage_p99_ms, usage_mean_ms: at measured_size, the measured pool size that is
    nearest to the recommended one. two_pools: for short and for long transactions, where the run proposes them.
    """

    measured_size: int
    wait_p99_ms: float
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

    @classmethod
    def of(cls, path: str, answer: "Recommendation") -> Self:
        """Return the origin of a measured answer's pool size."""
        assert answer.verdict
        return cls(path, answer.verdict, bool(answer.doubts))


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
    lifetime_seconds: after which a connection is replaced. idle_limit_seconds: after which a surplus connection ends.
    idle_check_seconds: interval at which idle connections are pinged in the background.
    wait_timeout_seconds: the server's, or the default where `server` does not know it.
    plan: the fleet; of one process where the fleet is not known. fleet_known: whether it is.
    measured: what a run tells, or None without a run that knows latencies.
    of_run: where a measured size comes from; None for a size that was given.
    """

    size: int
    minimum: int
    wait_limit_seconds: int
    longest_queue: int
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
) -> PoolSettings:
    """Return the settings for each process of a fleet of one application.

    plan: with pools. measured, of_run: as in PoolSettings. Raises BadInput for a server that ends idle connections
    sooner than a pool can check them.
    """
    (pool,) = plan.pools
    wait_timeout = server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS
    if wait_timeout < SHORTEST_WAIT_TIMEOUT_SECONDS:
        raise BadInput(
            f"the server's wait_timeout is {wait_timeout} s: no pool can replace its connections that often; set it to "
            "60 s or more"
        )
    wait_limit = wait_limit_seconds(measured)
    usage_ms = measured.usage_mean_ms if measured else ASSUMED_USAGE_MS
    lifetime = min(LIFETIME_SECONDS, wait_timeout - min(LARGEST_MARGIN_SECONDS, ceil(wait_timeout / 10)))
    return PoolSettings(
        size=pool.pool_size,
        minimum=min(PUBLISHED_MINIMUM, pool.pool_size),
        wait_limit_seconds=wait_limit,
        longest_queue=ceil(pool.pool_size * 1000 * wait_limit / usage_ms),
        lifetime_seconds=lifetime,
        idle_limit_seconds=min(PUBLISHED_IDLE_LIMIT_SECONDS, lifetime),
        idle_check_seconds=min(PUBLISHED_IDLE_CHECK_SECONDS, int(IDLE_CHECK_SHARE * wait_timeout)),
        wait_timeout_seconds=wait_timeout,
        plan=plan,
        fleet_known=fleet_known,
        measured=measured,
        server=server,
        of_run=of_run,
    )


def wait_limit_seconds(measured: MeasuredTimes | None) -> int:
    """Return the wait limit: twice the measured p99 wait time, at least 1 s; 5 s without a measurement."""
    if measured is None:
        return PUBLISHED_WAIT_LIMIT_SECONDS
    return max(SHORTEST_WAIT_LIMIT_SECONDS, ceil(WAIT_LIMIT_OVER_P99 * measured.wait_p99_ms / 1000))


def measured_times(analysis: "Analysis", answer: "Recommendation") -> MeasuredTimes | None:
    """Return what a run tells of a pool's times at its answer's size; None for a run without them.

    A replay knows no latencies. An application's metrics give means of wait and usage time, and no percentiles.
    """
    assert answer.pool_size
    nearest = analysis.by_size.nearest(answer.pool_size)
    if not (nearest.usage.mean > 0 and nearest.wait.p99 >= 0):
        return None
    return MeasuredTimes(nearest.pool_size, nearest.wait.p99, nearest.usage.p99, nearest.usage.mean, answer.two_pools)
