"""The ports that connections without a pool use up: how many wait to be free again, and when none is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from math import inf, isfinite

from poolsize.facts.machine import TIME_WAIT_SECONDS
from poolsize.present.text.layout import UNKNOWN, Table, bullets
from poolsize.runs.plan import PoolKind
from poolsize.runs.run import Run, Setting, Step
from poolsize.units import number, per_second


@dataclass(frozen=True)
class PortUse:
    """The ports at one pool size of a run without a pool.

    connections_per_second: each transaction makes a connection. time_wait: sockets in TIME_WAIT at the step's end, by
    the system's counter. made: connections of the last minute. limit: that the system keeps in TIME_WAIT; infinite
    where it is not known. ports: that the system gives to outgoing connections; infinite where it is not known.
    within_machine: whether the server is on the same machine, where Linux uses ports in TIME_WAIT again after a second.
    All counters are of the master's machine, and count the sockets of all programs.
    """

    pool_size: int
    connections_per_second: float
    time_wait: float
    made: float
    limit: float
    ports: float
    within_machine: bool

    @property
    def waiting_share(self) -> float:
        """The share of the connections that keep their port: in the others the server closed first, and keeps its own.

        1 where the counter does not show the share: the system keeps no more sockets, or uses their ports again.
        """
        if self.within_machine or not self.made or self.time_wait >= self.limit:
            return 1.0
        return min(1.0, self.time_wait / self.made)

    @property
    def steady(self) -> float:
        """The sockets in TIME_WAIT after a minute at this rate."""
        return min(self.limit, self.waiting_share * self.connections_per_second * TIME_WAIT_SECONDS)

    @property
    def seconds_left(self) -> float | None:
        """The seconds at this rate until no port is left; None where ports become free as fast as they are used."""
        if self.steady <= self.ports:
            return None
        return self.ports / (self.waiting_share * self.connections_per_second)


def port_uses(run: Run) -> tuple[PortUse, ...]:
    """Return the use of ports by the last step of each pool size; empty with a pool, and without the counters."""
    if run.plan.pool is not PoolKind.NONE:
        return ()
    latest = {step.pool_size: step for step in run.steps}
    known = [step for _, step in sorted(latest.items()) if _last(step, "machine_time_wait") is not None]
    within_machine = _is_within_machine(run.setting)
    return tuple(_use(step, run.steps, within_machine=within_machine) for step in known)


def _is_within_machine(setting: Setting) -> bool:
    host = (setting.given_host or "").rpartition(":")[0].strip("[]")
    try:
        return setting.private or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _use(step: Step, steps: Sequence[Step], *, within_machine: bool) -> PortUse:
    ended = _began(step) + len(step.throughput)
    made = sum(
        count
        for other in steps
        for second, count in enumerate(other.throughput)
        if ended - TIME_WAIT_SECONDS < _began(other) + second + 1 <= ended
    )
    limit = _last(step, "machine_time_wait_limit") or inf
    return PortUse(
        step.pool_size,
        step.mean_throughput,
        _last(step, "machine_time_wait") or 0.0,
        float(made),
        limit,
        _last(step, "machine_ports") or inf,
        within_machine,
    )


def _began(step: Step) -> float:
    return datetime.fromisoformat(step.started).timestamp()


def _last(step: Step, counter: str) -> float | None:
    values = [value for value in step.server.get(counter, ()) if value is not None]
    return values[-1] if values else None


COLUMNS = ("pool", "connections", "in TIME_WAIT", "made", "after a minute", "ports", "ports run out after")
TIME_WAIT = (
    f"Who closes a connection first keeps its port for {TIME_WAIT_SECONDS} s in TIME_WAIT: the client on a loopback, "
    "often the server on a network. In TIME_WAIT: at the end of the step, by the client's counter, with the sockets of "
    "other programs. Made: the connections of the minute before."
)
PORTS = (
    "Ports: those that the system gives to outgoing connections to one address of a server. Where ports run out, new "
    "connections fail."
)
WITHIN_MACHINE = (
    "Within a machine, as here, Linux uses ports in TIME_WAIT again after a second, so no port is missing. The last "
    "columns are for a client on another machine that closes its connections first."
)


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
    notes = [TIME_WAIT, PORTS, *([WITHIN_MACHINE] if any(use.within_machine for use in uses) else [])]
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets(notes)}"
