"""What a server counted, as text and as data: a row for each account and host, and a line for the server itself."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.observe.names import shown
from poolsize.observe.observation import Observation, PoolSpan, ServerSpan
from poolsize.observe.pool_answer import saturated_threads
from poolsize.present.text.layout import UNKNOWN, Table
from poolsize.units import count, minutes, number


def accounts_table(observation: Observation) -> Table:
    """Return a row for each account and host, the most used first; without rows if no server counted them."""
    names = (
        "account",
        "host",
        "most held",
        "in use on average",
        "most in use",
        "active",
        "in transaction",
        "oldest idle",
    )
    spans = sorted((span for span in observation.spans if span.held_max), key=_account)
    accounts = [(key, list(of_account)) for key, of_account in groupby(spans, key=_account)]
    accounts.sort(key=lambda each: -(_mean(each[1], "in_use_mean") or 0.0))
    rows = []
    for (account, host), of_account in accounts:
        means = (_mean(of_account, name) for name in ("in_use_mean", "active_mean", "in_transaction_mean"))
        in_use, active, in_transaction = (_cell(mean) for mean in means)
        held, peak = (_cell(_highest(of_account, name)) for name in ("held_max", "in_use_max"))
        idle_seconds = _highest(of_account, "idle_seconds_max")
        idle = UNKNOWN if idle_seconds is None else minutes(idle_seconds)
        rows.append((shown(account), shown(host), held, in_use, peak, active, in_transaction, idle))
    return Table(names, rows)


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


def server_values(observation: Observation) -> list[dict[str, Any]]:
    """Return the figures of each server; None for those that are not known."""
    by_instance = groupby(sorted(observation.server, key=_instance), key=_instance)
    return [_values(instance, tuple(spans)) for instance, spans in by_instance]


def _values(instance: str, spans: tuple[ServerSpan, ...]) -> dict[str, Any]:
    return {
        "instance": instance,
        "cores": next((span.cores for span in reversed(spans) if span.cores), None),
        "max_connections": next((span.max_connections for span in reversed(spans) if span.max_connections), None),
        "running_mean": _mean(spans, "running_mean"),
        "running_max": _highest(spans, "running_max"),
        "busy_cores": _mean(spans, "busy_cores"),
        "connected_max": _highest(spans, "connected_max"),
        "refused": _total(spans, "refused"),
        "aborted": _total(spans, "aborted"),
        "saturated": saturated_threads(spans) is not None,
    }


def _account(span: PoolSpan) -> tuple[str, str]:
    return span.pool, span.instance


def _instance(span: ServerSpan) -> str:
    return span.instance


Spans = Sequence[PoolSpan] | Sequence[ServerSpan]


def _known(spans: Spans, name: str) -> tuple[Vector, Vector]:
    """Return the known values of a series, and the length of their periods in seconds."""
    values = np.concatenate([np.array(getattr(span, name), dtype=float) for span in spans])
    seconds = np.concatenate([np.full(len(getattr(span, name)), span.period_seconds) for span in spans])
    return values[np.isfinite(values)], seconds[np.isfinite(values)]


def _mean(spans: Spans, name: str) -> float | None:
    values, seconds = _known(spans, name)
    return float(np.average(values, weights=seconds)) if values.size else None


def _highest(spans: Spans, name: str) -> float | None:
    return float(values.max()) if (values := _known(spans, name)[0]).size else None


def _total(spans: Spans, name: str) -> float | None:
    return float(values.sum()) if (values := _known(spans, name)[0]).size else None


def _cell(value: float | None) -> str:
    return UNKNOWN if value is None else number(value)
