"""The server: its settings and defaults, and what is wrong with them."""

from collections.abc import Iterator

from poolsize.pool_config.findings import of_servers
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
    "my.cnf",
    _server,
    {
        "max_connections": DEFAULT_MAX_CONNECTIONS, "max_user_connections": 0, "thread_cache_size": None,
        "back_log": None, "wait_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS,
        "interactive_timeout": DEFAULT_WAIT_TIMEOUT_SECONDS, "thread_handling": "one-thread-per-connection",
        "thread_pool_size": None,
    },
)  # fmt: skip


def _status(pool: FilePool, _: int) -> Iterator[Worded]:
    if pool.number("Connection_errors_max_connections") > 0:
        yield of_servers.ServerRefused(int(pool.number("Connection_errors_max_connections")))
    yield of_servers.ServerCounters({name: int(pool.number(name)) for name in pool.settings})


STATUS = Library(
    "the server's counters",
    "",
    _status,
    dict.fromkeys(
        ("Threads_connected", "Threads_running", "Max_used_connections", "Connection_errors_max_connections",
         "Aborted_connects", "Aborted_clients", "Connections", "Uptime")
    ),
)  # fmt: skip
