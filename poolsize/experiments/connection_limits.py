"""Limits of connections: the ports of the client that run out, and the connections that the server refuses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from math import inf, isfinite
from typing import ClassVar

from poolsize.analysis.attempts import curve_steps
from poolsize.answer.fleet import ServerLimit, Service, share_out
from poolsize.facts.ports import TIME_WAIT_SECONDS
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Run, Setting, Step
from poolsize.units import FloatOrNull, count, number, per_second, percent

PORT_COLUMNS = ("pool", "connections", "in TIME_WAIT", "made", "after a minute", "ports", "ports run out after")
PORT_NOTES = (
    (
        f"Who closes a connection first keeps its port for {TIME_WAIT_SECONDS} s in TIME_WAIT: the client on a "
        "loopback, often the server on a network. In TIME_WAIT: at the end of the step, by the client's counter, with "
        "the sockets of other programs. Made: the connections of the minute before."
    ),
    (
        "Ports: those that the system gives to outgoing connections to one address of a server. Where ports run out, "
        "new connections fail."
    ),
)
WITHIN_MACHINE = (
    "Within a machine, as here, Linux uses ports in TIME_WAIT again after a second, so no port is missing. The last "
    "columns are for a client on another machine that closes its connections first."
)


@dataclass(frozen=True)
class PortUse:
    """The ports at one pool size of a run without a pool.

    connections_per_second: each transaction makes a connection. time_wait: sockets in TIME_WAIT at the step's end, by
    the system's counter. made: connections of the last minute. limit: sockets that the system keeps in TIME_WAIT.
    ports: that the system gives to outgoing connections. Both are infinite, null in JSON, where they are not known.
    within_machine: whether the server is on the same machine, where Linux uses ports in TIME_WAIT again after a second.
    All counters are of the master's machine, and count the sockets of all programs.
    """

    ALSO_PRINTED: ClassVar = ("steady", "seconds_left")
    pool_size: int
    connections_per_second: float
    time_wait: float
    made: float
    limit: FloatOrNull
    ports: FloatOrNull
    within_machine: bool

    @property
    def ports_per_second(self) -> float:
        """The connections per second that keep their port: in the others the server closed first, and keeps its own.

        All of them where the counter does not show it: the system keeps no more sockets, or uses their ports again.
        """
        if self.within_machine or not self.made or self.time_wait >= self.limit:
            return self.connections_per_second
        return self.connections_per_second * min(1.0, self.time_wait / self.made)

    @property
    def steady(self) -> float:
        """The sockets in TIME_WAIT after a minute at this rate."""
        return min(self.limit, self.ports_per_second * TIME_WAIT_SECONDS)

    @property
    def seconds_left(self) -> float | None:
        """The seconds at this rate until no port is left; None where ports become free as fast as they are used."""
        return self.ports / self.ports_per_second if self.steady > self.ports else None


def port_uses(run: Run) -> tuple[PortUse, ...]:
    """Return the use of ports by the last step of each pool size; empty with a pool, and without the counters."""
    if run.plan.pool is not PoolKind.NONE:
        return ()
    within_machine = _is_within_machine(run.setting)
    latest = {step.pool_size: step for step in run.steps}
    return tuple(
        PortUse(
            pool_size,
            step.mean_throughput,
            time_wait,
            float(_transactions_of_last_minute(step, run.steps)),
            _last(step, "machine_time_wait_limit") or inf,
            _last(step, "machine_ports") or inf,
            within_machine,
        )
        for pool_size, step in sorted(latest.items())
        if (time_wait := _last(step, "machine_time_wait")) is not None
    )


def _is_within_machine(setting: Setting) -> bool:
    host = (setting.given_host or "").rpartition(":")[0].strip("[]")
    try:
        return setting.private or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _transactions_of_last_minute(last: Step, steps: Sequence[Step]) -> float:
    """Return the transactions, warm-up included, of all steps in the last minute of a step."""
    end = _began(last) + len(last.throughput)
    return sum(
        transactions
        for step in steps
        for second, transactions in enumerate(step.throughput, start=1)
        if end - TIME_WAIT_SECONDS < _began(step) + second <= end
    )


def _began(step: Step) -> float:
    return datetime.fromisoformat(step.started).timestamp()


def _last(step: Step, counter: str) -> float | None:
    values = [value for value in step.server.get(counter, ()) if value is not None]
    return values[-1] if values else None


def ports_text(uses: Sequence[PortUse]) -> str:
    """Return a table of the ports by pool size, and how to read it."""
    rows = tuple(
        (
            f"{use.pool_size:,}",
            per_second(use.connections_per_second),
            f"{use.time_wait:,.0f}",
            f"{use.made:,.0f}",
            f"{use.steady:,.0f}",
            f"{use.ports:,.0f}" if isfinite(use.ports) else UNKNOWN,
            "never" if use.seconds_left is None else f"{number(use.seconds_left)} s",
        )
        for use in uses
    )
    notes = [*PORT_NOTES, *([WITHIN_MACHINE] if uses[0].within_machine else [])]
    return f"{Table(PORT_COLUMNS, rows).as_text()}\n\n{bullets(notes)}"


@dataclass(frozen=True)
class Refused:
    """The failed transactions at a total size of the pools, over all repeats but failed attempts.

    connections: of all pools together. pools: their number. limit: of the server. failed: share of the transactions
    that failed, by errors: the names under which they did. fleet_pool: size of each pool with which all pools stay
    within the limit, a rolling deploy included; None where no pool does.
    """

    connections: int
    pools: int
    limit: int
    failed: float
    errors: tuple[str, ...]
    fleet_pool: int | None


def refusals(run: Run) -> tuple[Refused, ...]:
    """Return the failed transactions of a run whose pools are lazy, by size; empty for other pools.

    Each user class has a pool of its own where there are several.
    """
    server = run.setting.server
    if run.plan.pool is not PoolKind.LAZY or server is None:
        return ()
    _, limit = server.limit
    steps = curve_steps(run.plan, run.steps)
    sizes = sorted({step.pool_size for step in steps})
    return tuple(_refused(size, limit, [step for step in steps if step.pool_size == size]) for size in sizes)


def _refused(connections: int, limit: int, steps: Sequence[Step]) -> Refused:
    failed, succeeded = sum(step.error_count for step in steps), sum(sum(step.counted) for step in steps)
    errors = {name for step in steps for name, series in step.errors.items() if any(series[step.warm_up_seconds :])}
    pools = max([1, *(len(step.kinds) for step in steps)])
    share = failed / max(1, failed + succeeded)
    return Refused(connections, pools, limit, share, tuple(sorted(errors)), _fleet_pool(pools, limit))


def _fleet_pool(pools: int, limit: int) -> int | None:
    """Return the size that `poolsize fleet` gives each of the pools at a limit; None where it gives none."""
    if limit <= ServerLimit().reserve:
        return None
    server = ServerLimit(limit)
    shared = share_out(limit - server.reserve, [Service("application", pools)], server)
    return shared[0].pool_size if shared else None


def refused_text(refusals: Sequence[Refused]) -> str:
    """Return a table of the failed transactions by size, and the pools within the limit. refusals: not empty."""
    rows = tuple(
        (f"{refused.connections:,}", percent(refused.failed), ", ".join(refused.errors) or "none")
        for refused in refusals
    )
    table = Table(("all pools", "failed transactions", "errors"), rows)
    return f"{table.as_text()}\n\n{bullets([_fleet(refusals[0])])}"


def _fleet(refused: Refused) -> str:
    reserve, surge = ServerLimit().reserve, ServerLimit().surge
    server, pools = f"The server admits {count(refused.limit, 'connection')}", count(refused.pools, "pool")
    if refused.fleet_pool is None:
        return f"{server}: too few for {pools} and {reserve} for others."
    return (
        f"{server}. `poolsize fleet` gives each of {pools} {count(refused.fleet_pool, 'connection')}: "
        f"{refused.pools * refused.fleet_pool:,} together, and {reserve} stay free for others in a rolling deploy with "
        f"{surge:.0%} more pools."
    )
