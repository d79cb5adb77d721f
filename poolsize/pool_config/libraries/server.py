"""The server, and proxies: their settings, defaults and limits, and what is wrong with them."""

from collections.abc import Iterator, Mapping

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.rules import OutlivesServer
from poolsize.pool_config.pool import FilePool, Library, MayBeDefault, Worded
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_WAIT_TIMEOUT_SECONDS, LIFETIME_SECONDS
from poolsize.units import count, per_second


class NoMultiplexing(Worded, Caution, code="proxy_no_multiplexing"):
    """Clients of ProxySQL do not share its connections."""

    about = "multiplexing"
    words = (
        "multiplexing false: each connection of a client holds a connection to the server, also while it is idle. "
        "Source: ProxySQL's documentation, Multiplexing."
    )


class ProxyPasses(MayBeDefault, Reason, code="proxy_passes"):
    """A proxy opens a connection to the server for each connection of a client."""

    words = (
        "{0.setting} 0{0.default} sets no limit for the connections to the server. MaxScale opens a connection for "
        "each connection of a client. So the pools of the clients are the limit. "
        "Source: MaxScale's documentation, {0.setting}."
    )


class ThreadCache(Worded, Reason, code="server_thread_cache"):
    """The server caches more threads than it can have connections."""

    cached: int
    max_connections: int
    about = "thread_cache_size"
    words = (
        "thread_cache_size {0.cached:,} is more than max_connections {0.max_connections:,}: the server never has so "
        "many threads. Source: MySQL's manual, thread_cache_size."
    )


class ShortWaitTimeout(Worded, Caution, code="server_wait_timeout"):
    """The server soon ends idle connections. value: in seconds."""

    value: int
    about = "wait_timeout"
    words = (
        "The server ends connections that are idle for {0.value:,} s. The pools of all clients must check or replace "
        "idle connections sooner; SQLAlchemy does neither by default. Source: MySQL's manual, wait_timeout."
    )


class ServerRefused(Worded, Caution, code="server_refused"):
    """The server refused connections, because as many as max_connections were open."""

    gravity = 1
    connections: int
    about = "Connection_errors_max_connections"
    words = (
        "The server refused {0.refused} since its start, because max_connections were open. "
        "Source: MySQL's manual, Connection_errors_max_connections."
    )
    refused = property(lambda self: count(self.connections, "connection"))


class ServerCounters(Worded, Reason, code="server_counters"):
    """The server's counters since its start: name of the status variable -> value."""

    counters: Mapping[str, int]
    words = "{0.sentences}"

    @property
    def sentences(self) -> str:
        """The counters in words."""
        texts = {
            "Threads_connected": "Connections open now: {}.", "Threads_running": "Running a statement: {}.",
            "Max_used_connections": "Most open at the same time: {}.", "Aborted_connects": "Failed to connect: {}.",
            "Aborted_clients": "Ended without a close: {}.",
        }  # fmt: skip
        parts = [text.format(f"{self.counters[name]:,}") for name, text in texts.items() if name in self.counters]
        uptime = self.counters.get("Uptime")
        if uptime and "Connections" in self.counters:
            parts.append(f"New connections: {per_second(self.counters['Connections'] / uptime)}.")
        return " ".join(parts or ["The text has no counter of connections."])


def _server(pool: FilePool, _: int) -> Iterator[Worded]:
    cached, most, wait_timeout = map(pool.number, ("thread_cache_size", "max_connections", "wait_timeout"))
    if cached > most:
        yield ThreadCache(int(cached), int(most))
    if wait_timeout < LIFETIME_SECONDS:
        yield ShortWaitTimeout(int(wait_timeout))


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
        yield ServerRefused(int(pool.number("Connection_errors_max_connections")))
    yield ServerCounters({name: int(pool.number(name)) for name in pool.settings})


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
        yield NoMultiplexing()


def _maxscale(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    if pool.number("max_routing_connections") == 0:
        yield ProxyPasses("max_routing_connections", not pool.has("max_routing_connections"))
    kept = pool.number("persistmaxtime")
    if pool.number("persistpoolmax") > 0 and kept >= wait_timeout:
        yield OutlivesServer("persistmaxtime", is_default=False, value=kept, wait_timeout_seconds=wait_timeout)


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
