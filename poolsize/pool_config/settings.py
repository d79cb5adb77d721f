"""The settings of a pool that every library has under a name of its own."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from poolsize.answer.fleet import Service
from poolsize.answer.fleet_plan import FleetPlan
from poolsize.answer.verdict import Verdict
from poolsize.errors import BadInput
from poolsize.units import milliseconds

if TYPE_CHECKING:  # numpy stays out of `poolsize config --size 33`
    from poolsize.analysis.analysis import Analysis
    from poolsize.analysis.bimodal import TransactionPool
    from poolsize.answer.from_traffic import TrafficAnswer
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
DEFAULT_WAIT_TIMEOUT_SECONDS = 28_800
"""Of MySQL and MariaDB."""
DEFAULT_MAX_CONNECTIONS = 151


@dataclass(frozen=True)
class UsageInPool:
    """The usage times in a pool.

    two_pools: for short and for long transactions, where a run proposes them.
    """

    p99_ms: float
    mean_ms: float
    two_pools: "tuple[TransactionPool, ...]" = ()


ASSUMED_USAGE = UsageInPool(50.0, 50.0)
"""The usage times where neither a run nor an option has them."""


@dataclass(frozen=True)
class SizeOfRun:
    """Where a measured pool size comes from. path: of the run's file. verdict: on the size.

    in_doubt: whether a finding puts the size in doubt. usage_time_ms: of the application that the size is for; None for
    the load generator.
    """

    path: str
    verdict: Verdict
    in_doubt: bool
    usage_time_ms: float | None = None


@dataclass(frozen=True)
class ServerFacts:
    """The facts of the server that will be used; None where they are not known.

    A run does not show the limits of that server: it may have measured a private server, with limits of poolsize's own.
    thread_pool_cores: cores of the database's host, if the run measured a server with a thread pool.
    """

    max_connections: int | None = None
    wait_timeout_seconds: int | None = None
    thread_pool_cores: int | None = None

    def measured_in(self, analysis: "Analysis") -> "ServerFacts":
        """Return the facts with what a run shows of the server."""
        measured = analysis.setting.server
        has_thread_pool = measured is not None and measured.thread_pool
        return replace(self, thread_pool_cores=analysis.setting.cores) if has_thread_pool else self


@dataclass(frozen=True)
class PoolSettings:
    """The settings of the pool in each process, in the terms of no library.

    size: connections that the pool may open, overflow included.
    minimum: connections that an idle pool keeps, for libraries that advise no fixed size.
    wait_limit_seconds: after which a request gets an error. longest_queue: requests that it serves by then.
    caller_timeout_seconds: how long the callers of the application wait.
    lifetime_seconds: after which a connection is replaced. idle_limit_seconds: after which a surplus connection ends.
    idle_check_seconds: interval at which idle connections are pinged in the background.
    wait_timeout_seconds: the server's, or the default where `server` does not know it.
    plan: the fleet; of one process where the fleet is not known. fleet_known: whether it is.
    usage: the usage times, or ASSUMED_USAGE. of_run: where a measured size comes from, or None.
    traffic: the answer for the traffic that needs the pool, or None; for a proxy, with one pool for all processes.
    shared_connections: of a proxy, which all processes share; None for pools of processes.
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
    usage: UsageInPool
    server: ServerFacts
    of_run: SizeOfRun | None = None
    traffic: "TrafficAnswer | None" = None
    shared_connections: int | None = None

    @property
    def service(self) -> Service:
        """The application whose pools these are."""
        return self.plan.pools[0].service

    @property
    def third_seconds(self) -> float:
        """The part of the callers' time that is the wait limit, before it is rounded."""
        return _third(self.caller_timeout_seconds, self.usage)

    @property
    def is_reduced(self) -> bool:
        """Whether the server's limit or the deadlock floor makes the pools other than recommended."""
        size = self.plan.size
        return self.plan.connections > size or size - self.plan.connections >= self.service.pools

    @cached_property
    def share_timed_out(self) -> float | None:
        """The share of the traffic's requests that reach the wait limit while an instance is away.

        0 for fewer than 1 of 1,000; NaN where the model fails at so long a limit. None without traffic, and where the
        database can't keep up with it, which the traffic's answer says.
        """
        answer, limit_ms = self.traffic, 1000.0 * self.wait_limit_seconds
        if answer is None or answer.load is None:
            return None
        if (answer.at_size.one_away or answer.at_size.usual).wait_p99_9_ms <= limit_ms:
            return 0.0
        import numpy as np

        from poolsize.traffic.pool_use import pool_use

        of_process = answer.traffic.loaded(answer.load).of_process(one_away=True)
        with np.errstate(all="ignore"):
            return pool_use(replace(of_process, wait_limit_ms=limit_ms), answer.pool_size).share_timed_out

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
    usage: UsageInPool | None,
    server: ServerFacts,
    caller_timeout_seconds: float = CALLER_TIMEOUT_SECONDS,
    *,
    fleet_known: bool,
) -> PoolSettings:
    """Return the settings for each process of a fleet of one application.

    The wait limit is a third of what the callers' time has left after the p99 usage time, in whole seconds, at least
    1 s. plan: with pools. usage: None where it is not known. caller_timeout_seconds, fleet_known: as in
    PoolSettings. Raises BadInput for a server that ends idle connections sooner than a pool can check them, and for
    callers who wait no longer than a usage time.
    """
    (pool,) = plan.pools
    wait_timeout = server.wait_timeout_seconds or DEFAULT_WAIT_TIMEOUT_SECONDS
    if wait_timeout < 4:
        raise BadInput(
            f"the server's wait_timeout is {wait_timeout} s: no pool can replace its connections that often; set it to "
            "60 s or more"
        )
    usage = usage or ASSUMED_USAGE
    if caller_timeout_seconds - usage.p99_ms / 1000 <= 1:
        raise BadInput(
            f"`caller_timeout_seconds` {seconds_text(caller_timeout_seconds)}: a usage time takes up to "
            f"{milliseconds(usage.p99_ms)}, and poolsize writes wait limits of 1 s and more; callers must wait longer"
        )
    wait_limit = max(1, round(_third(caller_timeout_seconds, usage)))  # Flask-SQLAlchemy cuts off fractions
    margin = min(30, ceil(wait_timeout / 10))  # so long before the server ends it, a connection ends
    lifetime = min(LIFETIME_SECONDS, wait_timeout - margin)
    return PoolSettings(
        size=pool.pool_size,
        minimum=min(PUBLISHED_MINIMUM, pool.pool_size),
        wait_limit_seconds=wait_limit,
        longest_queue=ceil(pool.pool_size * 1000 * wait_limit / usage.mean_ms),
        caller_timeout_seconds=caller_timeout_seconds,
        lifetime_seconds=lifetime,
        idle_limit_seconds=min(PUBLISHED_IDLE_LIMIT_SECONDS, lifetime),
        idle_check_seconds=min(PUBLISHED_IDLE_CHECK_SECONDS, int(0.75 * wait_timeout)),  # as 90 s of 120 s
        wait_timeout_seconds=wait_timeout,
        plan=plan,
        fleet_known=fleet_known,
        usage=usage,
        server=server,
    )


def _third(caller_timeout_seconds: float, usage: UsageInPool) -> float:
    """Return the part of what the callers' time has left after the p99 usage time."""
    return (caller_timeout_seconds - usage.p99_ms / 1000) * WAIT_PART


def measured_usage(analysis: "Analysis", answer: "Recommendation") -> UsageInPool | None:
    """Return the usage times at the measured pool size that is nearest to a run's answer; None for a run without them.

    A replay knows no latencies. An application's metrics give means of wait and usage time, and no percentiles. For
    another usage time, the times have the application's own part added.
    """
    assert answer.pool_size
    nearest = analysis.by_size.nearest(answer.pool_size)
    if not (nearest.usage.mean > 0 and nearest.usage.p99 >= 0):
        return None
    added_ms = answer.application.added_ms if answer.application else 0.0
    return UsageInPool(nearest.usage.p99 + added_ms, nearest.usage.mean + added_ms, answer.two_pools)


def seconds_text(value: float) -> str:
    """Return a duration in its largest whole unit: 8 h, 30 min, 90 s, 1.5 s."""
    for seconds, unit in ((3600, "h"), (60, "min")):
        if value > seconds and value % seconds == 0:
            return f"{value / seconds:g} {unit}"
    return f"{value:g} s"
