"""What no setting of a pool can do, with the figure that supports it."""

from poolsize.answer.pool_settings import PoolSettings
from poolsize.present.config.sources import SURVEY, seconds_text
from poolsize.present.config.stacks import Stack
from poolsize.units import count, milliseconds, percent

EPHEMERAL_PORTS = 60_999 - 32_768 + 1
"""Linux's default, net.ipv4.ip_local_port_range (the kernel's ip-sysctl documentation)."""
TIME_WAIT_SECONDS = 60
"""Of Linux, include/net/tcp.h: TCP_TIMEWAIT_LEN."""


def advice(stack: Stack, settings: PoolSettings) -> tuple[str, ...]:
    """Return the advice for an application with this pool; for a proxy or the server, none."""
    if stack.shared_by_all:
        return ()
    return tuple(
        line
        for line in (
            _callers_timeout(settings) if stack.has_wait_limit else None,
            _two_pools(settings),
            None if stack.workers_are_processes else _job_workers(settings),
            _keep_connections(),
            _prepared_statements(stack),
        )
        if line
    )


def _callers_timeout(settings: PoolSettings) -> str:
    limit = seconds_text(settings.wait_limit_seconds)
    if settings.measured is None:
        return f"Timeout of the application's callers: longer than the wait limit of {limit}."
    usage = milliseconds(settings.measured.usage_p99_ms)
    total_ms = 1000 * settings.wait_limit_seconds + settings.measured.usage_p99_ms
    return (
        f"Timeout of the application's callers: longer than {milliseconds(total_ms)}, the wait limit of {limit} and "
        f"the p99 usage time of {usage}. With a shorter one, callers give up while their transaction still runs."
    )


def _two_pools(settings: PoolSettings) -> str | None:
    if settings.measured is None or not settings.measured.two_pools:
        return None
    short, long = settings.measured.two_pools
    return (
        f"Two pools: {percent(short.kind.share)} of transactions take {milliseconds(short.kind.usage_ms)}, the others "
        f"{milliseconds(long.kind.usage_ms)}. With {short.pool_size} connections for the short and {long.pool_size} "
        "for the long ones, short transactions don't wait behind long ones."
    )


def _job_workers(settings: PoolSettings) -> str:
    return (
        f"Workers that take jobs from a queue: at most {settings.size} in a process with this pool. Each holds a "
        "connection while it works; further workers only wait for a connection."
    )


def _keep_connections() -> str:
    rate = EPHEMERAL_PORTS // TIME_WAIT_SECONDS
    return (
        f"Keep connections open. A connection that the client closes holds its port for {TIME_WAIT_SECONDS} s "
        f"(TIME_WAIT): with Linux's {count(EPHEMERAL_PORTS, 'port')}, at most {rate} connections a second are possible "
        "from one address to one server."
    )


def _prepared_statements(stack: Stack) -> str | None:
    if not stack.file.endswith((".properties", ".yml")):
        return None
    return (
        "Prepared statements: cachePrepStmts=true and useServerPrepStmts=true in the JDBC URL. About 20 % more "
        f"throughput was measured with such a cache, says {SURVEY}; measure it with your own statements."
    )
