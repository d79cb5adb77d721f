"""The findings on a pool or a proxy that `poolsize config --for` writes."""

from collections.abc import Mapping
from math import isnan

from poolsize.answer.finding import Caution, Severity
from poolsize.pool_config.findings.worded import Worded
from poolsize.units import percent

RARE = 0.001
"""A smaller share of requests that reach the wait limit is no caution."""


class WholeRequests(Worded, Caution, code="pool_whole_requests"):
    """The pool size is the number of threads or workers, and each of them serves a whole request."""

    worker: str
    words = (
        "A {0.worker} is busy for the whole request. So --usage-time must be the whole request's time, not only the "
        "time in the database: else the {0.worker}s are too few. Requests wait for a {0.worker}, not for a connection."
    )


class TimesOut(Worded, Caution, code="pool_times_out"):
    """A share of the requests, NaN if not known, reaches the wait limit. one_away: while an instance is away.

    bounded: whether the server's limit decides the pool size.
    """

    share: float
    seconds: int
    one_away: bool
    bounded: bool
    words = (
        "{0.part} of the requests time out at the wait limit of {0.seconds:,} s{0.away}. {0.larger}, or give a longer "
        "--caller-timeout."
    )
    part = property(lambda self: "Some" if isnan(self.share) else percent(self.share))
    away = property(lambda self: " while an instance is away" if self.one_away else "")
    larger = property(
        lambda self: "Raise the server's limit" if self.bounded else "Use a larger pool (a shorter --max-wait-p99)"
    )


class RarelyTimesOut(TimesOut):
    """Hardly a request reaches the wait limit."""

    severity = Severity.REASON
    words = f"Fewer than {percent(RARE)} of the requests time out{{0.away}}."


class ProxyFloor(Worded, Caution, code="proxy_floor"):
    """The deadlock floor of a proxy is above the connections that are needed, or recommended."""

    floor: int
    needed: int
    words = (
        "The threads of all processes share the proxy, and its deadlock floor is {0.floor:,}: with fewer connections, "
        "threads that hold several can deadlock. Otherwise {0.needed:,} would do."
    )


class ProxyLimit(Worded, Caution, code="proxy_limit"):
    """The server's limit allows a proxy fewer connections than recommended. variables: as in LimitBound."""

    allowed: int
    recommended: int
    variables: Mapping[str, int]
    words = (
        "The server's limit allows the proxy {0.allowed:,} of the recommended {0.recommended:,} connections. For more, "
        "raise {0.raised}."
    )
    raised = property(lambda self: " and ".join(f"{name} to {value:,}" for name, value in self.variables.items()))
