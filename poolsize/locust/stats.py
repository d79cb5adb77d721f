"""Locust's own statistics, fed once a second, so that its table and its exports show the same load."""

import time

from locust import stats
from locust.env import Environment
from locust.stats import StatsEntry, StatsError

from poolsize.load.recorder import Second

METHOD = "pool"


def report(environment: Environment, name: str, second: Second) -> None:
    """Add one second of transactions to Locust's statistics; latencies are the total, wait and usage."""
    entry = StatsEntry(environment.stats, name, METHOD)
    now = int(time.time())
    entry.num_requests = second.transactions
    entry.num_reqs_per_sec[now] = second.transactions
    entry.last_request_timestamp = time.time()
    for value_us, number in second.total.items():
        milliseconds = value_us / 1000
        entry.total_response_time += milliseconds * number  # type: ignore[assignment]  # Locust adds floats too
        entry.response_times[stats.bucket_response_time(milliseconds)] += number
    if second.total:
        entry.min_response_time = min(second.total) / 1000  # type: ignore[assignment]  # likewise
        entry.max_response_time = max(second.total) / 1000  # type: ignore[assignment]  # likewise
    for kind, number in second.errors.items():
        entry.num_requests += number
        entry.num_none_requests += number
        entry.num_failures += number
        entry.num_fail_per_sec[now] += number
        key = StatsError.create_key(METHOD, name, kind)
        error = environment.stats.errors.setdefault(key, StatsError(METHOD, name, kind))
        error.occurrences += number
    environment.stats.get(name, METHOD).extend(entry)
    environment.stats.total.extend(entry)
