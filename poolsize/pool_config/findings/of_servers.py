"""The findings on the settings and counters of a server or a proxy."""

from collections.abc import Mapping

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.findings.worded import MayBeDefault, Worded
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


class ServerTooSmall(Worded, Caution, code="server_too_small"):
    """The server's limit is too small for the recommended pools."""

    max_connections: int
    needed: int
    about = "max_connections"
    words = (
        "max_connections {0.max_connections:,} is too small: in a rolling deploy, the recommended pools and the "
        "reserve need {0.needed:,}."
    )
