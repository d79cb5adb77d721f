"""The counters of an application: of its pools, from its metrics page, and of its processes."""

import json
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

import psutil
from prometheus_client.parser import text_string_to_metric_families

from poolsize.bounds import is_counter, shown

METRICS: dict[str, tuple[str, ...]] = {
    "pool_active": (
        "hikaricp_connections_active", "hikaricp_active_connections", "commons_pool2_num_active",
        "go_sql_in_use_connections", "db_client_connection_count", "db_client_connections_usage",
        "jdbc_connections_active", "gorm_dbstats_in_use", "agroal_active_count",
    ),
    "pool_waiting": (
        "hikaricp_connections_pending", "hikaricp_pending_threads", "commons_pool2_num_waiters",
        "db_client_connection_pending_requests", "db_client_connections_pending_requests", "agroal_awaiting_count",
    ),
    "pool_max": (
        "hikaricp_connections_max", "hikaricp_max_connections", "go_sql_max_open_connections",
        "db_client_connection_max", "db_client_connections_max", "jdbc_connections_max",
        "gorm_dbstats_max_open_connections",
    ),
    "pool_wait_seconds": (
        "hikaricp_connections_acquire_seconds_sum", "hikaricp_connection_acquired_nanos_sum",
        "go_sql_wait_duration_seconds_total", "db_client_connection_wait_time_seconds_sum",
        "db_client_connections_wait_time_milliseconds_sum", "gorm_dbstats_wait_duration",
        "agroal_blocking_time_total_milliseconds",
    ),
    "pool_usage_seconds": (
        "hikaricp_connections_usage_seconds_sum", "hikaricp_connection_usage_millis_sum",
        "db_client_connection_use_time_seconds_sum", "db_client_connections_use_time_milliseconds_sum",
    ),
    "pool_timeouts": (
        "hikaricp_connections_timeout_total", "hikaricp_connection_timeout_total",
        "db_client_connection_timeouts_total", "db_client_connections_timeouts_total",
    ),
}  # fmt: skip
"""Counter of a step -> the metrics of a Prometheus page that have it; the first that a page has counts."""
DRUID_FIELDS = {
    "pool_active": "ActiveCount",
    "pool_waiting": "WaitThreadCount",
    "pool_max": "MaxActive",
    "pool_wait_seconds": "NotEmptyWaitMillis",
}
"""Counter of a step -> the field of Druid's /druid/datasource.json that has it."""
SECONDS = {
    "nanos": 1e-9,
    "millis": 1e-3,
    "milliseconds": 1e-3,
    "NotEmptyWaitMillis": 1e-3,
    "gorm_dbstats_wait_duration": 1e-9,
}
"""Unit in a metric's name -> its length in seconds; gorm has Go's durations, in ns."""
BY_STATE = ("db_client_connection_count", "db_client_connections_usage")
"""Metrics that count connections by their label `state`."""
POOL_LABELS = ("pool", "pool_name", "db_client_connection_pool_name", "db_name", "datasource", "name")
"""Labels that tell the pools of a page apart."""
MOST_SAMPLES = 10_000
"""A page with more samples of pools is not read."""
LONGEST_LINE = 2_000
"""Longer lines of a Prometheus page are not read: the time to parse labels grows with the square of their length."""
NAMES = tuple({name for names in METRICS.values() for name in names})

ONE_CORE = ("python", "pypy", "node", "ruby", "php")
"""Beginnings of the names of programs that run one thread at a time."""
IDLE_SECONDS = 0.05
"""A process that has used less CPU time in a step is a supervisor, which needs no core."""
LEAST_PART = 0.25
"""A process serves users if it uses this part of the CPU time that it would use if all did the same.

Where chance distributes 16 users over 2 processes, one of them has fewer than this part in 0.05 % of the cases.
"""


def pool_metrics(text: str) -> tuple[dict[str, float], str | None]:
    """Return the counters that a metrics page has of its pools, summed over the pools; empty without any.

    Keys are those of METRICS, and `pool_count`, the number of pools. text: a Prometheus page, or Druid's JSON. A
    counter with a value that no pool can have is left out; beside the counters, the first such value is returned as
    "NAME is VALUE", or None.
    """
    try:
        metrics = _of_druid(json.loads(text))
    except (ValueError, RecursionError):
        metrics = _of_prometheus(text)
    counters: dict[str, float] = {}
    unusable = None
    for counter, (name, values) in metrics.items():
        bad = next((value for value in (*values, sum(values)) if not is_counter(value)), None)
        if bad is not None:
            unusable = unusable or f"{name} is {shown(bad)}"
            continue
        counters[counter] = sum(values)
        counters["pool_count"] = max(float(len(values)), counters.get("pool_count", 0.0))
    return counters, unusable


Metrics = dict[str, tuple[str, Sequence[float]]]
"""Counter of a step -> the name of its metric, and the value of each pool."""


def _of_prometheus(text: str) -> Metrics:
    lines = [line.strip() for line in text.split("\n") if len(line) <= LONGEST_LINE]
    lines = [line for line in lines if line.startswith(NAMES)]
    if len(lines) > MOST_SAMPLES:
        return {}
    try:
        families = text_string_to_metric_families("\n".join(lines))
        samples = [sample for family in families for sample in family.samples]
    except Exception:  # a malformed page makes the parser raise more than ValueError
        return {}
    known: dict[str, dict[tuple[str, ...], float]] = {}
    for sample in samples:
        if sample.name in NAMES and (sample.name not in BY_STATE or sample.labels.get("state") == "used"):
            pool = tuple(sample.labels.get(label, "") for label in POOL_LABELS)
            known.setdefault(sample.name, {})[pool] = _in_seconds(sample.name, sample.value)
    first = {counter: next((name for name in names if name in known), None) for counter, names in METRICS.items()}
    return {counter: (name, [*known[name].values()]) for counter, name in first.items() if name}


def _of_druid(content: Any) -> Metrics:
    pools = content.get("Content") if isinstance(content, dict) else None
    if not isinstance(pools, list) or not pools or not all(isinstance(pool, dict) for pool in pools):
        return {}
    return {
        counter: (name, [_in_seconds(name, pool[name]) for pool in pools])
        for counter, name in DRUID_FIELDS.items()
        if all(type(pool.get(name)) in {int, float} for pool in pools)
    }


def _in_seconds(name: str, value: float) -> float:
    """Return a metric's value, a time in seconds; inf for an integer that no float can hold."""
    try:
        return value * next((SECONDS[word] for word in (name, *name.split("_")) if word in SECONDS), 1.0)
    except OverflowError:
        return inf


class ProcessFamily:
    """The processes of an application, whenever they start: all descendants of its guard, which adopts orphans."""

    def __init__(self, guard_pid: int | None, pools: int = 1) -> None:
        """Read the CPU times of now. guard_pid: of the guard's process; None for a family without processes.

        pools: number of processes that have a pool each.
        """
        self._guard = None if guard_pid is None else psutil.Process(guard_pid)
        self._pools = pools
        self._begun = {process: seconds for process, seconds, _ in self._members()}

    def counters(self) -> dict[str, float]:
        """Return the CPU time so far in seconds, the cores and the memory now; empty without processes.

        With several pools, also the number of processes that serve users, where as many are visible as have a pool.
        """
        members = self._members()
        if self._guard is None or not members:
            return {}
        used = {process: seconds - self._begun.get(process, 0.0) for process, seconds, _ in members}
        busy = [process for process, seconds in used.items() if seconds > IDLE_SECONDS]
        of_ended = 0.0  # of descendants that have ended and were waited for
        for process in [self._guard, *(process for process, _, _ in members)]:
            with suppress(psutil.Error):
                times = process.cpu_times()
                of_ended += times.children_user + times.children_system
        counters = {
            "application_cpu": sum(seconds for _, seconds, _ in members) + of_ended,
            "application_memory_bytes": float(sum(memory for _, _, memory in members)),
        }
        if self._pools > 1 and len(members) >= self._pools and busy:
            least = LEAST_PART * sum(used.values()) / self._pools
            counters["application_processes"] = float(sum(used[process] >= least for process in busy))
        return counters | ({"application_cores": float(_cores(busy))} if busy else {})

    def _members(self) -> list[tuple[psutil.Process, float, int]]:
        """Return each process, its CPU time in seconds and its memory in bytes."""
        members = []
        with suppress(psutil.Error):
            for process in self._guard.children(recursive=True) if self._guard is not None else []:
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    members.append((process, float(times.user + times.system), process.memory_info().rss))
        return members


def _cores(processes: Sequence[psutil.Process]) -> int:
    """Return the cores that processes may use together; one of an interpreter with one running thread uses one."""
    cores, alone = 0, 0
    for process in processes:
        with suppress(psutil.Error, AttributeError):
            if Path(process.exe()).name.startswith(ONE_CORE):
                alone += 1
            else:
                cores = max(cores, len(process.cpu_affinity()))
    return min(cores + alone, psutil.cpu_count() or 1)
