"""What a server counted, as text and as data: a row for each account and host, and a line for the server itself."""

from collections.abc import Iterator
from typing import TypedDict

from poolsize.observe.observation import Observation, shown
from poolsize.observe.pool_answer import saturated_threads
from poolsize.present.text.layout import UNKNOWN, Table
from poolsize.units import count, minutes, number


def accounts_table(observation: Observation) -> Table:
    """Return a row for each account and host, the most used first; without rows if no server counted them."""
    columns = "account, host, most held, in use on average, most in use, active, in transaction, oldest idle"
    pools = [pool for pool in observation.pools if pool.highest("held_max") is not None]
    pools.sort(key=lambda pool: -(pool.mean("in_use_mean") or 0.0))
    rows = []
    for pool in pools:
        in_use, active, in_transaction = (
            _cell(pool.mean(name)) for name in ("in_use_mean", "active_mean", "in_transaction_mean")
        )
        held, peak, idle_seconds = (pool.highest(name) for name in ("held_max", "in_use_max", "idle_seconds_max"))
        idle = UNKNOWN if idle_seconds is None else minutes(idle_seconds)
        names_of = shown(pool.pool), shown(pool.instance)
        rows.append((*names_of, _cell(held), in_use, _cell(peak), active, in_transaction, idle))
    return Table(columns.split(", "), rows)


def server_lines(observation: Observation) -> Iterator[str]:
    """Yield a sentence for each server: threads that run against its cores, connections against its limit."""
    for values in server_values(observation):
        name = f"Server {shown(values['instance'])}" if values["instance"] else "Server"
        cores = f" on {count(values['cores'], 'core')}" if values["cores"] else ""
        limit = f" of {values['max_connections']:,}" if values["max_connections"] else ""
        figures = [
            (values["running_mean"], f"{{}} running threads on average{cores}"),
            (values["running_max"], "{} at most"),
            (values["busy_cores"], "{} cores busy"),
            (values["connected_max"], f"at most {{}}{limit} connections"),
            (values["refused"], "{} refused"),
            (values["aborted"], "{} aborted"),
        ]
        known = [text.format(number(value)) for value, text in figures if value is not None]
        yield f"{name}{' (saturated)' if values['saturated'] else ''}: {', '.join(known)}."


class ServerValues(TypedDict):
    """The figures of a server; null: not known.

    running_mean, running_max: threads that execute a statement. busy_cores: that the server uses. connected_max:
    connections. refused, aborted: connections. saturated: whether all its cores are busy.
    """

    instance: str
    cores: int | None
    max_connections: int | None
    running_mean: float | None
    running_max: float | None
    busy_cores: float | None
    connected_max: float | None
    refused: float | None
    aborted: float | None
    saturated: bool


def server_values(observation: Observation) -> list[ServerValues]:
    """Return the figures of each server."""
    return [
        {
            "instance": server.instance,
            "cores": server.cores,
            "max_connections": server.max_connections,
            "running_mean": server.mean("running_mean"),
            "running_max": server.highest("running_max"),
            "busy_cores": server.mean("busy_cores"),
            "connected_max": server.highest("connected_max"),
            "refused": server.total("refused"),
            "aborted": server.total("aborted"),
            "saturated": saturated_threads([server]) is not None,
        }
        for server in observation.servers
    ]


def _cell(value: float | None) -> str:
    return UNKNOWN if value is None else number(value)
