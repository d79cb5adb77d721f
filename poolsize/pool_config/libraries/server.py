"""The server, and proxies: their settings, defaults and limits, and what is wrong with them."""

from collections.abc import Iterator

from poolsize.pool_config.findings import of_pools, of_servers
from poolsize.pool_config.pool import FilePool, Library, Worded
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_WAIT_TIMEOUT_SECONDS, LIFETIME_SECONDS


def _server(pool: FilePool, _: int) -> Iterator[Worded]:
    cached, most, wait_timeout = map(pool.number, ("thread_cache_size", "max_connections", "wait_timeout"))
    if cached > most:
        yield of_servers.ThreadCache(int(cached), int(most))
    if wait_timeout < LIFETIME_SECONDS:
        yield of_servers.ShortWaitTimeout(int(wait_timeout))


SERVER = Library(
    "the server",
    {
        "max_connections": DEFAULT_MAX_CONNECTIONS, "max_user_connections": 0, "thread_cache_size": None,
        "back_log": None, "wait_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS,
        "interactive_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS, "thread_handling": "one-thread-per-connection",
        "thread_pool_size": None,
    },
    stack="my.cnf",
    find=_server,
)  # fmt: skip


def _status(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.number("Connection_errors_max_connections") > 0:
        yield of_servers.ServerRefused(int(pool.number("Connection_errors_max_connections")))
    yield of_servers.ServerCounters({name: int(pool.number(name)) for name in pool.settings})


STATUS = Library(
    "the server's counters",
    dict.fromkeys(
        ("Threads_connected", "Threads_running", "Max_used_connections", "Connection_errors_max_connections",
         "Aborted_connects", "Aborted_clients", "Connections", "Uptime")
    ),
    find=_status,
)  # fmt: skip


def _proxysql(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.value("multiplexing") is False:
        yield of_servers.NoMultiplexing()


def _maxscale(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    if pool.number("max_routing_connections") == 0:
        yield of_servers.ProxyPasses("max_routing_connections", not pool.has("max_routing_connections"))
    kept = pool.number("persistmaxtime")
    if pool.number("persistpoolmax") > 0 and kept >= wait_timeout:
        yield of_pools.OutlivesServer("persistmaxtime", is_default=False, value=kept, wait_timeout_seconds=wait_timeout)


_VARIABLES = {
    "multiplexing": True, "free_connections_pct": 10, "connection_max_age_ms": 0, "connect_timeout_server_max": 10_000,
    "ping_interval_server_msec": 10_000,
}  # fmt: skip
PROXYSQL = Library(
    "ProxySQL",
    {"max_connections": 1_000, "mysql-max_connections": 2_048, **_VARIABLES},
    stack="proxysql",
    find=_proxysql,
    aliases={f"mysql-{name}": name for name in _VARIABLES},
    sizes=("max_connections",),
)
"""max_connections is a server's. mysql-max_connections limits the clients."""
MAXSCALE = Library(
    "MaxScale",
    {
        "max_routing_connections": 0, "persistpoolmax": 0, "persistmaxtime": 0, "idle_session_pool_time": -1,
        "multiplex_timeout": 60, "max_connections": 0,
    },
    stack="maxscale",
    find=_maxscale,
    sizes=("max_routing_connections",),
)  # fmt: skip
"""The last three are a service's; its max_connections limits the clients."""
