"""The connections of proxies to a server: their settings, defaults and limits, and what is wrong with them."""

from collections.abc import Iterator

from poolsize.pool_config.findings import of_pools, of_servers
from poolsize.pool_config.pool import FilePool, Library, Worded


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
    "proxysql",
    _proxysql,
    {"max_connections": 1_000, "mysql-max_connections": 2_048, **_VARIABLES},
    aliases={f"mysql-{name}": name for name in _VARIABLES},
    sizes=("max_connections",),
)
"""max_connections is a server's. mysql-max_connections limits the clients."""
MAXSCALE = Library(
    "MaxScale",
    "maxscale",
    _maxscale,
    {
        "max_routing_connections": 0, "persistpoolmax": 0, "persistmaxtime": 0, "idle_session_pool_time": -1,
        "multiplex_timeout": 60, "max_connections": 0,
    },
    sizes=("max_routing_connections",),
)  # fmt: skip
"""The last three are a service's; its max_connections limits the clients."""
