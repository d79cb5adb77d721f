"""The ports that connections without a pool use up, as text for a terminal."""

from collections.abc import Sequence
from math import isfinite

from poolsize.answer.ports import PortUse
from poolsize.facts.sockets import TIME_WAIT_SECONDS
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import UNKNOWN, Table
from poolsize.units import number, per_second

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
