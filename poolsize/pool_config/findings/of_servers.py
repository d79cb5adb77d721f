"""The findings on servers, on proxies, and on the connections of pools in all processes, beside the limit."""

from collections.abc import Mapping

from poolsize.answer.finding import Caution, Reason
from poolsize.answer.fleet_plan import MoreInstances
from poolsize.pool_config.pool import MayBeDefault, Worded
from poolsize.pool_config.settings import DEFAULT_MAX_CONNECTIONS
from poolsize.present.text.sentences.fleet import in_deploy
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


class AboveServer(Worded, Caution, code="pool_above_server"):
    """A pool may open as many connections as the server admits, or more. is_default: the limit is MySQL's default."""

    gravity = 1
    connections: int
    max_connections: int
    is_default: bool
    words = (
        "This pool alone may open {0.open}. {0.server} admits {0.max_connections:,} for all clients. "
        "Source: MySQL's manual, max_connections."
    )
    open = property(lambda self: count(self.connections, "connection"))
    server = property(lambda self: "A server with the default max_connections" if self.is_default else "The server")


class AboveLimit(Worded, Caution, code="pools_above_limit"):
    """All pools of the files, in all processes, may open more connections than the server's limit leaves to them.

    of_process: connections that the pools of a process may open, and the number of these pools. usual, most: number of
    processes usually and in a rolling deploy, with the instances that it adds. usable: connections that the limit
    leaves. is_default: the limit is MySQL's default.
    """

    of_process: int
    pools: int
    usual: int
    most: int
    usable: int
    is_default: bool
    instances: MoreInstances
    words = "{0.together} {0.server} leaves {0.usable:,} for them. {0.fits}"
    server = property(lambda self: server_limit(is_default=self.is_default))

    @property
    def together(self) -> str:
        """The connections in words, in a deploy and usually."""
        each = count(self.of_process, "connection")
        if self.most == 1:
            return f"{'The pool' if self.pools == 1 else 'All pools together'} may open {each}."
        subject = "the pools of all processes together" if self.pools == 1 else "all pools together"
        opened = count(self.of_process * self.most, "connection")
        usual = count(self.usual, "process", "processes")
        usually = f" Usually they may open {self.of_process * self.usual:,}, in {usual}."
        return (
            f"{in_deploy(self.instances)}, {subject} may open {opened}: {self.of_process:,} in each of {self.most:,} "
            f"processes.{usually if self.usual < self.most else ''}"
        )

    @property
    def fits(self) -> str:
        """The largest pool that fits, in words."""
        largest = self.usable // self.most
        if not self.usable:
            return "No pool fits: the reserve (--reserve) uses up the limit."
        if largest < self.pools:
            return f"Not even 1 connection in each pool fits: there are {self.pools * self.most:,} pools."
        subject = "The largest pool that fits has" if self.pools == 1 else "The pools of each process may together have"
        return f"{subject} {count(largest, 'connection')}."


class WorkloadsAboveLimit(Worded, Caution, code="workloads_above_limit"):
    """The pools of workloads with different numbers of instances may open more connections than the limit leaves.

    connections, in_deploy: of all pools, usually and in a rolling deploy. usable, is_default: as in AboveLimit.
    """

    connections: int
    in_deploy: int
    usable: int
    is_default: bool
    words = "All pools together may open {0.most}. {0.server} leaves {0.usable:,} for them."
    server = property(lambda self: server_limit(is_default=self.is_default))

    @property
    def most(self) -> str:
        """The connections in words, usually and in a deploy."""
        return connections_in_words(self.connections, self.in_deploy)


def connections_in_words(connections: int, in_deploy: int) -> str:
    """Return the connections of several workloads, usually and in a rolling deploy."""
    most = f", and {in_deploy:,} in a rolling deploy" if in_deploy > connections else ""
    return count(connections, "connection") + most


def server_limit(*, is_default: bool) -> str:
    """Return the server's limit in words, as the subject of a sentence. is_default: whether it is MySQL's default."""
    return f"MySQL's default limit, {DEFAULT_MAX_CONNECTIONS}, less --reserve," if is_default else "The server's limit"
