"""Locust's own statistics, updated once a second, so that Locust's table and exports show the same load."""

import time

import gevent
from locust import stats
from locust.env import Environment
from locust.stats import StatsEntry, StatsError

from poolsize.load.recorder import WorkerSecond

METHOD = "pool"


def report(environment: Environment, name: str, second: WorkerSecond) -> None:
    """Add one second of transactions to Locust's statistics, with the total time as Locust's response time.

    name: of the kind of transaction. A second of several kinds is added kind by kind, under their own names.
    """
    if second.kinds:
        for kind, part in second.kinds.items():
            report(environment, kind, part)
        return
    entry = StatsEntry(environment.stats, name, METHOD)
    now = time.time()
    entry.num_requests = second.transactions
    entry.num_reqs_per_sec[int(now)] = second.transactions
    entry.last_request_timestamp = now
    for total_us, number in second.total.items():
        milliseconds = total_us / 1000
        entry.total_response_time += milliseconds * number  # type: ignore[assignment]  # Locust adds floats too
        entry.response_times[stats.bucket_response_time(milliseconds)] += number
    if second.total:
        entry.min_response_time = min(second.total) / 1000  # type: ignore[assignment]  # likewise
        entry.max_response_time = max(second.total) / 1000  # type: ignore[assignment]  # likewise
    for kind, number in second.errors.items():
        entry.num_requests += number
        entry.num_none_requests += number
        entry.num_failures += number
        entry.num_fail_per_sec[int(now)] += number
        key = StatsError.create_key(METHOD, name, kind)
        error = environment.stats.errors.setdefault(key, StatsError(METHOD, name, kind))
        error.occurrences += number
    environment.stats.get(name, METHOD).extend(entry)
    environment.stats.total.extend(entry)


def wait_for_csv(environment: Environment) -> None:
    """Wait until the files of Locust's --csv hold the last transactions too.

    Locust writes the files once a second from a greenlet of its own, and not again at its end.
    """
    if environment.parsed_options and environment.parsed_options.csv_prefix:
        gevent.sleep(2 * stats.CSV_STATS_INTERVAL_SEC)
