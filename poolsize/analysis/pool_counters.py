"""What an application's own metrics say of its pools in a step: busy connections, waiting requests, mean times."""

from math import nan

from poolsize.runs.run import Step


def busy_connections(step: Step) -> float | None:
    """Return the mean number of busy connections of a pool; None without metrics."""
    active, pools = step.counter("pool_active"), step.counter("pool_count")
    used_seconds = step.counter("pool_usage_seconds")
    busy = active if used_seconds is None else used_seconds  # the sum of usage times misses no moment between readings
    return None if busy is None or not pools else busy / pools


def waiting_requests(step: Step) -> float | None:
    """Return the mean number of requests of a pool that wait for a connection; None without metrics."""
    waiting, pools = step.counter("pool_waiting"), step.counter("pool_count")
    waited_seconds = step.counter("pool_wait_seconds")
    waits = waiting if waited_seconds is None else waited_seconds
    return None if waits is None or not pools else waits / pools


def wanting_requests(step: Step, pools: int) -> float | None:
    """Return the mean number of requests of a pool that hold or want a connection; None where not known.

    Without metrics, a pool that opened fewer connections than it may had no more such requests at any time.
    pools: number of pools of the application.
    """
    busy, opened = busy_connections(step), step.server_connections
    if busy is not None:
        return busy + (waiting_requests(step) or 0.0)
    if step.knows_usage or opened is None or not 0 < opened < pools * step.pool_size:
        return None
    return opened / pools


def mean_times_ms(step: Step, pools: int) -> tuple[float, float]:
    """Return the mean wait time and the mean usage time of a request in ms, by Little's law; NaN where not known.

    A request that takes several connections has the sum of their times. pools: number of pools of the application, of
    which the metrics page may show a part.
    """
    rate = step.mean_throughput / pools
    numbers = waiting_requests(step), busy_connections(step)
    wait_ms, usage_ms = (nan if number is None or not rate else 1000 * number / rate for number in numbers)
    return wait_ms, usage_ms
