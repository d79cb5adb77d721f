"""Why each setting of a pool has its value, as sentences."""

import re
from collections.abc import Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING

from poolsize.answer.finding import Caution, Finding, Severity
from poolsize.answer.fleet_plan import FleetThreads
from poolsize.answer.verdict import Verdict
from poolsize.pool_config.pool import Worded
from poolsize.pool_config.settings import ASSUMED_USAGE, SURVEY, PoolSettings, seconds_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.units import count, milliseconds, number, per_second, percent

if TYPE_CHECKING:
    from poolsize.pool_config.stacks import Stack


RARE = 0.001
"""A smaller share of requests that reach the wait limit is no caution."""


class WholeRequests(Worded, Caution, code="pool_whole_requests"):
    """The pool size is the number of threads or workers, and each of them serves a whole request."""

    worker: str
    words = (
        "A {0.worker} is busy for the whole request. So --usage-time must be the whole request's time, not only the "
        "time in the database: else the {0.worker}s are too few. Requests wait for a {0.worker}, not for a connection."
    )


class FewWorkers(Worded, Caution, code="pool_few_workers"):
    """The pool size, which only limits the connections, is the number of threads or workers."""

    worker: str
    words = (
        "This number of {0.worker}s only limits the connections, and may be too few for your requests: each is busy "
        "for a whole request. --rate, with the whole request's time as --usage-time, counts those that you need."
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


class RandomOrder(Worded, Caution, code="pool_random_order"):
    """The pool serves waiting requests in random order, and the model in the order of their arrival."""

    words = (
        "database/sql serves waiting requests in random order, and poolsize assumes the order of arrival. So the p99 "
        "wait is longer than the computed one."
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


OF_SIZE = (WholeRequests, FewWorkers, RandomOrder)
"""Findings that stand beside the pool size."""
DECIDING = re.compile("traffic_(need|threads|too_few_threads|floor|limit|waits_elsewhere)|proxy_(floor|limit)")
"""Codes of the findings that say why a pool has its size."""


def traffic_findings(settings: PoolSettings, stack: "Stack | None") -> Iterator[Finding]:
    """Yield what this stack makes of the traffic: its workers, and how many requests reach the wait limit."""
    answer, share = settings.traffic, settings.share_timed_out
    if stack and stack.worker:
        yield (WholeRequests if answer else FewWorkers)(stack.worker)
    if answer and stack and stack.random_order:
        yield RandomOrder()
    if answer and share is not None and (stack is None or stack.has_wait_limit):
        finding, one_away = RarelyTimesOut if share < RARE else TimesOut, answer.traffic.service.instances > 1
        yield finding(share, settings.wait_limit_seconds, one_away, answer.decides == "limit")


def sources(settings: PoolSettings, stack: "Stack") -> dict[str, str]:
    """Return the sentences that the templates of a stack use: name -> sentence.

    size, minimum, wait_limit, lifetime, idle_limit, idle_check, longest_queue: as the fields of PoolSettings.
    lifetime_unchecked: of a pool that checks no idle connection. lifetime_text: the lifetime itself, e.g. "30 min".
    total: of a proxy, which all processes share. no_borrow_check: why borrowed connections are not tested.
    server_connections, wait_timeout: of the server's own settings. server_ends_idle: what is known of its wait_timeout.
    """
    lifetime, idle_limit = seconds_text(settings.lifetime_seconds), seconds_text(settings.idle_limit_seconds)
    wait_timeout = seconds_text(settings.wait_timeout_seconds)
    server_ends_idle = f"This assumes the server's default wait_timeout, {wait_timeout}; --url reads the server's."
    if settings.server.wait_timeout_seconds is not None:
        server_ends_idle = f"The server ends a connection that is idle for {wait_timeout} (its wait_timeout)."
    of_traffic = {type(finding): sentence(finding) for finding in traffic_findings(settings, stack)}
    of_size = (_size(settings, stack), *(of_traffic.pop(kind, "") for kind in OF_SIZE))
    replaced = f"A connection is replaced after {lifetime}. {server_ends_idle}"
    return {
        "size": " ".join(filter(None, of_size)),
        "total": _recommended(settings),
        "minimum": f"Connections that the pool keeps open without load. Source: {SURVEY}.",
        "wait_limit": " ".join((_wait_limit(settings), *of_traffic.values())),
        "lifetime": replaced,
        "lifetime_unchecked": (
            f"{replaced} Choose less if a firewall or a load balancer ends idle connections sooner: nothing "
            "checks them."
        ),
        "lifetime_text": lifetime,
        "idle_limit": f"A connection ends when it was not used for {idle_limit}. Source: {SURVEY}.",
        "idle_check": (
            f"Idle connections are pinged every {seconds_text(settings.idle_check_seconds)}, in the background. "
            "So neither the server nor a firewall ends them."
        ),
        "no_borrow_check": (
            "A check of every borrowed connection costs a round trip to the database for every transaction."
        ),
        "longest_queue": (
            f"Requests that may wait: as many as {count(settings.size, 'connection')} serve within the wait limit of "
            f"{seconds_text(settings.wait_limit_seconds)}, with a usage time of "
            f"{milliseconds(settings.usage.mean_ms)}. The next gets an error at once."
        ),
        "server_connections": _server_connections(settings),
        "wait_timeout": (
            f"The server ends a connection that is idle for {wait_timeout}. The pools replace a connection sooner, "
            f"after {lifetime}."
        ),
        "server_ends_idle": server_ends_idle,
    }


def _size(settings: PoolSettings, stack: "Stack") -> str:
    size, reason = count(settings.size, "connection"), _recommended(settings)
    if settings.is_reduced and not settings.traffic:
        reason = f"{reason} {_why_other(settings)}"
    if settings.size == 1 and not stack.worker:
        reason += " With 1 connection, a thread that needs a second connection at the same time never gets it."
        if not settings.traffic:
            reason += " Each process serves one transaction at a time: give --rate to see what your traffic needs."
    if stack.worker and (settings.service.threads or settings.size) != settings.size:
        reason += (
            f" --app-threads is not used: each {stack.worker} keeps a connection, so their number is the pool size."
        )
    before = f"{size}. " if settings.is_reduced or settings.traffic else ""
    after = " If more than one process has such a pool, divide the connections: give --instances and --processes."
    if settings.traffic:
        after = (
            " If more than one process has such a pool, give --instances and --processes: each then needs a pool for "
            "its part of the rate."
        )
    if settings.of_run and settings.of_run.verdict is Verdict.NOT_THE_LIMIT:
        after = ""  # there is no number for all processes together
    if settings.fleet_known:
        pools, after = settings.service.pools, ""
        together = f" in each of {pools:,} processes: together {settings.plan.connections:,}" if pools > 1 else ""
        before = f"{size}{together}. {_within_limit(settings)}"
    return f"{stack.words(before)}{reason if settings.of_run else stack.words(reason)}{stack.words(after)}"


def _within_limit(settings: PoolSettings) -> str:
    """Return what the pools open in a deploy, and that a known limit of the server allows it; else nothing."""
    limit = settings.plan.limit
    if limit.max_connections is None or settings.needed_connections > limit.max_connections:
        return ""
    return (
        f"In a rolling deploy up to {settings.plan.connections_in_deploy:,}: max_connections, "
        f"{limit.max_connections:,}, allows them and {limit.reserve:,} in reserve. "
    )


def _why_other(settings: PoolSettings) -> str:
    if settings.plan.connections <= settings.plan.size:
        by_threads = any(isinstance(finding, FleetThreads) for finding in settings.plan.findings)
        return "The threads of the processes use fewer." if by_threads else "The server's limit allows fewer."
    floor = settings.service.floor
    return f"The deadlock floor is {floor:,}." if floor > 1 else "But each process needs at least 1."


def _recommended(settings: PoolSettings) -> str:
    """Return where the size comes from; with traffic, also what decides it."""
    deciding = [sentence(finding) for finding in settings.plan.findings if DECIDING.fullmatch(finding.code)]
    if settings.traffic:
        traffic = settings.traffic.traffic.loaded(settings.traffic.load)
        in_use = (
            f"At {per_second(traffic.rate)} with a usage time of {milliseconds(traffic.usage.mean_ms)}, "
            f"{number(traffic.in_use)} connections are in use on average."
        )
        return " ".join((in_use, *deciding))
    run = settings.of_run
    if run and run.verdict is Verdict.NOT_THE_LIMIT:
        never_full = count(settings.plan.size // settings.service.pools, "connection")
        return (
            f"By the measurement in {run.path}, the pool is not the limit: {never_full} is the smallest pool that was "
            "never full."
        )
    size, pools = count(settings.plan.size, "connection"), settings.service.pools
    if run is None:
        given = f"Given by --size: {size}" + (f", for {pools:,} processes together." if pools > 1 else ".")
        return " ".join((given, *deciding))
    verdict = "" if run.verdict is Verdict.MEASURED else f", verdict {run.verdict}"
    doubt = f" (in doubt{verdict})" if run.in_doubt else ""
    for_usage = "" if run.usage_time_ms is None else f" for a usage time of {milliseconds(run.usage_time_ms)}"
    source = f"Recommended by the measurement in {run.path}{for_usage}{doubt}"
    return " ".join((f"{source}: {size}, for all clients of the database together.", *deciding))


def _wait_limit(settings: PoolSettings) -> str:
    is_measured = settings.of_run and settings.of_run.usage_time_ms is None
    named = "measured p99 usage time" if is_measured else "p99 usage time"
    named = "assumed usage time" if settings.usage is ASSUMED_USAGE else named
    caller, usage = seconds_text(settings.caller_timeout_seconds), milliseconds(settings.usage.p99_ms)
    third = f"({caller} caller timeout - {usage} {named}) / 3"
    if settings.third_seconds < 1:
        short = milliseconds(1000 * settings.third_seconds)
        return f"Wait limit: 1 s, the least that poolsize writes: {third} is {short} (--caller-timeout)."
    limit = f"{seconds_text(settings.wait_limit_seconds)} = {third}, in whole seconds (--caller-timeout)"
    return f"Wait limit: {limit}. So the error and a retry fit into the caller timeout."


def _server_connections(settings: PoolSettings) -> str:
    limit, needed = settings.plan.limit, settings.plan.connections_in_deploy
    text = (
        f"All pools open up to {count(needed, 'connection')} in a rolling deploy; {limit.reserve:,} more are for "
        f"administrators, monitoring and other programs: together {settings.needed_connections:,}."
    )
    if settings.server_connections > settings.needed_connections:
        if settings.server.max_connections:
            return f"{text} The server's limit, {settings.server_connections:,}, is enough."
        default = f"The server's default, {settings.server_connections:,}, is enough."
        return f"{text} {default} Keep your value, if it is larger."
    return f"{text} The server lowers max_connections if its open_files_limit is too small."
