"""Why each setting of a pool has its value, as sentences."""

from math import isinf

from poolsize.answer.fleet_plan import FleetThreads
from poolsize.answer.verdict import Verdict
from poolsize.pool_config.settings import ASSUMED_USAGE, SURVEY, PoolSettings, seconds_text
from poolsize.present.text.sentences.findings import sentence
from poolsize.units import count, milliseconds, number, per_second


def sources(settings: PoolSettings) -> dict[str, str]:
    """Return the sentences that the templates use: name -> sentence.

    size, minimum, wait_limit, lifetime, idle_limit, idle_check, longest_queue: as the fields of PoolSettings.
    lifetime_unchecked: of a pool that checks no idle connection. lifetime_text: the lifetime itself, e.g. "30 min".
    total: of a proxy, which all processes share. no_borrow_check: why borrowed connections are not tested.
    server_connections, wait_timeout: of the server's own settings. server_ends_idle: what is known of its wait_timeout.
    """
    lifetime, idle_limit = seconds_text(settings.lifetime_seconds), seconds_text(settings.idle_limit_seconds)
    wait_timeout = seconds_text(settings.wait_timeout_seconds)
    server_ends_idle = f"The server's wait_timeout is taken as the default, {wait_timeout}; --url reads it."
    if settings.server.wait_timeout_seconds is not None:
        server_ends_idle = f"The server ends a connection that is idle for {wait_timeout} (its wait_timeout)."
    replaced = f"A connection is replaced after {lifetime}. {server_ends_idle}"
    return {
        "size": _size(settings),
        "total": f"{_recommended(settings)} {at_server_limit(settings)}".rstrip(),
        "minimum": f"Connections that the pool keeps open without load. Source: {SURVEY}.",
        "wait_limit": _wait_limit(settings),
        "lifetime": replaced,
        "lifetime_unchecked": (
            f"{replaced} Choose less if a firewall or a load balancer between ends idle connections sooner: nothing "
            "checks them."
        ),
        "lifetime_text": lifetime,
        "idle_limit": f"A connection ends when it was not used for {idle_limit}. Source: {SURVEY}.",
        "idle_check": (
            f"Idle connections are pinged every {seconds_text(settings.idle_check_seconds)}, in the background: "
            "neither the server nor a firewall then ends them unnoticed."
        ),
        "no_borrow_check": (
            "A check of every borrowed connection costs a round trip to the database for every transaction."
        ),
        "longest_queue": (
            f"Borrowers that may wait: as many as {count(settings.size, 'connection')} serve within the wait limit of "
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


def _size(settings: PoolSettings) -> str:
    reason = _recommended(settings)
    if settings.is_reduced and not settings.traffic:
        reason = f"{reason} {_why_other(settings)}"
    if settings.size == 1:
        reason += " With 1 connection, a thread that needs a second one at the same time never gets it."
    size = count(settings.size, "connection")
    if settings.fleet_known:
        each = f"{size} in each of {count(settings.service.pools, 'process', 'processes')}"
        return f"{each}: together {settings.plan.connections:,}. {reason}"
    if settings.traffic:
        return (
            f"{size}. {reason} If more than one process has such a pool, give --instances and --processes: each then "
            "needs a pool for its part of the rate."
        )
    return (
        f"{f'{size}. ' if settings.is_reduced else ''}{reason} If more than one process has such a pool, divide the "
        "connections: give --instances and --processes."
    )


def _why_other(settings: PoolSettings) -> str:
    """Return why all pools together have more or fewer connections than recommended."""
    if settings.plan.connections <= settings.plan.size:
        by_threads = any(isinstance(finding, FleetThreads) for finding in settings.plan.findings)
        return "The threads of the processes use fewer." if by_threads else "The server's limit allows fewer."
    floor = settings.service.floor
    return f"The deadlock floor is {floor:,}." if floor > 1 else "But each process needs at least 1."


def _recommended(settings: PoolSettings) -> str:
    """Return where the size comes from; with traffic, also what decides it."""
    if settings.traffic:
        from poolsize.answer import from_traffic as of  # only a traffic needs numpy

        deciding = (of.KeepsWait, of.ThreadsBound, of.TooFewThreads, of.FloorBound, of.LimitBound)
        findings = (finding for finding in settings.traffic.findings if isinstance(finding, deciding))
        traffic = settings.traffic.traffic.loaded(settings.traffic.load)
        in_use = (
            f"At {per_second(traffic.rate)} with a usage time of {milliseconds(traffic.usage.mean_ms)}, "
            f"{number(traffic.in_use)} connections are in use on average."
        )
        return " ".join((in_use, *map(sentence, findings)))
    source, run = "(--size)", settings.of_run
    if run:
        verdict = "" if run.verdict is Verdict.MEASURED else f", verdict {run.verdict}"
        doubt = f" (in doubt{verdict})" if run.in_doubt else ""
        source = f"by the measurement in {run.path}{doubt}"
    return f"Recommended {source}: {count(settings.plan.size, 'connection')}, for all clients of the database together."


def at_server_limit(settings: PoolSettings) -> str:
    """Return the caution that the server admits fewer connections of a proxy than recommended; "" for enough."""
    shared, recommended = settings.shared_connections, settings.plan.size
    limited = f"The server's limit allows the proxy {shared:,} of the recommended {count(recommended, 'connection')}."
    return f"{limited} For more, raise the limit." if shared < recommended else ""


def _wait_limit(settings: PoolSettings) -> str:
    named = "the p99 usage time" if settings.traffic else "the measured p99 usage time"
    named = "an assumed usage time" if settings.usage is ASSUMED_USAGE else named
    reason = (
        f"A borrower gets an error after {seconds_text(settings.wait_limit_seconds)}: a third of what {named} of "
        f"{milliseconds(settings.usage.p99_ms)} leaves of the {seconds_text(settings.caller_timeout_seconds)} that "
        "callers wait (--caller-timeout), in whole seconds, at least 1 s. So the error still reaches them."
    )
    return f"{reason} {waits_at_limit(settings)[0]}".rstrip()


def waits_at_limit(settings: PoolSettings) -> tuple[str, bool]:
    """Return how the wait limit compares with the waits at the traffic, and whether this is a caution; "" without one.

    A queue that grows without end has a caution of the traffic's answer.
    """
    answer, limit = settings.traffic, settings.wait_limit_seconds
    if answer is None:
        return "", False
    row = answer.at_size
    wait_ms, away = (row.one_away or row.usual).wait_p99_9_ms, " with an instance away" if row.one_away else ""
    longer = f"1 of 1,000 requests waits longer than {milliseconds(wait_ms)}"
    if isinf(wait_ms):
        return f"The queue of this pool grows without end{away}, and requests reach the limit.", False
    if wait_ms <= 1000 * limit:
        waits = longer if wait_ms else "fewer than 1 of 1,000 requests wait"
        return f"In this pool {waits}{away}: a borrower who reaches the limit shows a fault, not a busy moment.", False
    larger = "Raise the server's limit" if answer.decides == "limit" else "Use a larger pool (a shorter --max-wait-p99)"
    busy = (
        f"Busy moments reach the wait limit of {limit} s: with {count(answer.pool_size, 'connection')}, {longer}{away}."
    )
    return f"{busy} {larger}, or give a longer --caller-timeout.", True


def _server_connections(settings: PoolSettings) -> str:
    limit, needed = settings.plan.limit, settings.plan.connections_in_deploy
    text = (
        f"All pools open up to {count(needed, 'connection')} in a rolling deploy; {limit.reserve:,} more are for "
        "administrators, monitoring and other programs."
    )
    if settings.server_connections > settings.needed_connections:
        present = "The server's limit" if settings.server.max_connections else "The server's default"
        return f"{text} {present} is enough."
    return f"{text} The server lowers max_connections if its open_files_limit is too small."
