"""The metrics page of an application -> the counters of its pools."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from poolsize.bounds import is_counter, shown


@dataclass(frozen=True)
class MetricName:
    """A metric's name. unit: what the metric is multiplied by. state: value of its label `state`, or None."""

    name: str
    unit: float = 1.0
    state: str | None = None


METRIC_NAMES: dict[str, tuple[MetricName, ...]] = {
    "pool_active": (
        MetricName("hikaricp_connections_active"),
        MetricName("hikaricp_active_connections"),
        MetricName("commons_pool2_num_active"),
        MetricName("go_sql_in_use_connections"),
        MetricName("db_client_connection_count", state="used"),
        MetricName("db_client_connections_usage", state="used"),
        MetricName("jdbc_connections_active"),
    ),
    "pool_waiting": (
        MetricName("hikaricp_connections_pending"),
        MetricName("hikaricp_pending_threads"),
        MetricName("commons_pool2_num_waiters"),
        MetricName("db_client_connection_pending_requests"),
        MetricName("db_client_connections_pending_requests"),
    ),
    "pool_max": (
        MetricName("hikaricp_connections_max"),
        MetricName("hikaricp_max_connections"),
        MetricName("go_sql_max_open_connections"),
        MetricName("db_client_connection_max"),
        MetricName("db_client_connections_max"),
        MetricName("jdbc_connections_max"),
    ),
    "pool_wait_seconds": (
        MetricName("hikaricp_connections_acquire_seconds_sum"),
        MetricName("hikaricp_connection_acquired_nanos_sum", unit=1e-9),
        MetricName("go_sql_wait_duration_seconds_total"),
        MetricName("db_client_connection_wait_time_seconds_sum"),
        MetricName("db_client_connections_wait_time_milliseconds_sum", unit=1e-3),
    ),
    "pool_usage_seconds": (
        MetricName("hikaricp_connections_usage_seconds_sum"),
        MetricName("hikaricp_connection_usage_millis_sum", unit=1e-3),
        MetricName("db_client_connection_use_time_seconds_sum"),
        MetricName("db_client_connections_use_time_milliseconds_sum", unit=1e-3),
    ),
    "pool_timeouts": (
        MetricName("hikaricp_connections_timeout_total"),
        MetricName("hikaricp_connection_timeout_total"),
        MetricName("db_client_connection_timeouts_total"),
        MetricName("db_client_connections_timeouts_total"),
    ),
}
"""Counter of a step -> the metrics that have it; the first that a page has counts."""

DRUID_FIELDS: dict[str, tuple[str, float]] = {
    "pool_active": ("ActiveCount", 1.0),
    "pool_waiting": ("WaitThreadCount", 1.0),
    "pool_max": ("MaxActive", 1.0),
    "pool_wait_seconds": ("NotEmptyWaitMillis", 1e-3),
}
"""Counter of a step -> the field of Druid's /druid/datasource.json that has it, and its unit."""


POOL_LABELS = ("pool", "pool_name", "db_client_connection_pool_name", "db_name", "name")
"""Labels that tell the pools of a page apart."""


MOST_SAMPLES = 10_000
"""A page with more samples of pools is not read."""
LONGEST_LINE = 2_000
"""Longer lines of a Prometheus page are not read: the time to parse labels grows with the square of their length."""
NAMES = tuple({name.name for names in METRIC_NAMES.values() for name in names})


def pool_metrics(text: str, on_unusable: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """Return the counters that a metrics page has of its pools, summed over the pools; empty without any.

    Keys are those of METRIC_NAMES, and `pool_count`, the number of pools. text: a Prometheus page, or Druid's JSON.
    on_unusable: called with "NAME is VALUE" for a value that no pool can have; its counter is left out.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return _of_prometheus(text, on_unusable)
    return _of_druid(content, on_unusable)


def _of_prometheus(text: str, on_unusable: Callable[[str], None]) -> dict[str, float]:
    lines = [line.strip() for line in text.split("\n") if len(line) <= LONGEST_LINE]
    lines = [line for line in lines if line.startswith(NAMES)]
    if len(lines) > MOST_SAMPLES:
        return {}
    try:
        families = text_string_to_metric_families("\n".join(lines))
        samples = [sample for family in families for sample in family.samples]
    except Exception:  # a malformed page makes the parser raise more than ValueError
        return {}
    counters: dict[str, float] = {}
    for counter, names in METRIC_NAMES.items():
        name, known = next(((each, pools) for each in names if (pools := _of_name(samples, each))), (names[0], {}))
        if known and _are_usable(name.name, known.values(), on_unusable):
            counters[counter] = sum(known.values())
            counters["pool_count"] = max(len(known), counters.get("pool_count", 0.0))
    return counters


def _of_name(samples: Sequence[Sample], name: MetricName) -> dict[tuple[str, ...], float]:
    """Return the pool's labels -> the value of a metric."""
    return {
        tuple(sample.labels.get(label, "") for label in POOL_LABELS): _scaled(sample.value, name.unit)
        for sample in samples
        if sample.name == name.name and (name.state is None or sample.labels.get("state") == name.state)
    }


def _of_druid(content: Any, on_unusable: Callable[[str], None]) -> dict[str, float]:
    pools = content.get("Content") if isinstance(content, dict) else None
    if not isinstance(pools, list) or not pools or not all(isinstance(pool, dict) for pool in pools):
        return {}
    counters = {}
    for counter, (field, unit) in DRUID_FIELDS.items():
        if not all(type(pool.get(field)) in {int, float} for pool in pools):
            continue
        values = [_scaled(pool[field], unit) for pool in pools]
        if _are_usable(field, values, on_unusable):
            counters[counter] = sum(values)
    return counters | {"pool_count": float(len(pools))} if counters else {}


def _scaled(value: float, unit: float) -> float:
    """Return a value in the counter's unit; inf for an integer that no float can hold."""
    try:
        return value * unit
    except OverflowError:
        return inf


def _are_usable(name: str, values: Collection[float], on_unusable: Callable[[str], None]) -> bool:
    """Return whether a run can hold all values of a counter, and their sum."""
    unusable = [value for value in (*values, sum(values)) if not is_counter(value)]
    if unusable:
        on_unusable(f"{name} is {shown(unusable[0])}")
    return not unusable
