"""Timeouts of users who share a pool, by simulation: FIFO, and each user gives up after the same wait."""

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from poolsize.analysis.vector import Vector

REQUESTS = 20_000
"""Requests for a connection that are simulated; a first tenth of them is not counted."""
SEED = 1
DRAWS = 4096
ASKS, GIVES_UP, ENDS = range(3)


def timed_out_share(usages_ms: Vector, *, pool_size: int, users: int, think_time_ms: float, timeout_ms: float) -> float:
    """Return the share of the requests for a connection that time out.

    usages_ms: equally likely usage times. think_time_ms: mean pause of a user, exponentially distributed; a user who
    gave up pauses as well.
    """
    if pool_size >= users:
        return 0.0
    draws, random = _draws(usages_ms), np.random.default_rng(SEED)
    events = [(random.exponential(think_time_ms) if think_time_ms else 0.0, ASKS, user, 0) for user in range(users)]
    heapify(events)
    queue: deque[tuple[int, int]] = deque()
    request = [0] * users
    free, ended, late, uncounted = pool_size, 0, 0, REQUESTS // 10
    while ended < REQUESTS:
        now, event, user, number = heappop(events)
        if event == ASKS:
            request[user] += 1
            queue.append((user, request[user]))
            heappush(events, (now + timeout_ms, GIVES_UP, user, request[user]))
        elif event == GIVES_UP and number != request[user]:
            continue
        else:
            free += event == ENDS
            ended += 1
            late += event == GIVES_UP and ended > uncounted
            request[user] += 1
            pause_ms = random.exponential(think_time_ms) if think_time_ms else 0.0
            heappush(events, (now + pause_ms, ASKS, user, 0))
        while queue and free:
            waiting, number = queue.popleft()
            if request[waiting] == number:
                request[waiting] += 1
                free -= 1
                heappush(events, (now + next(draws), ENDS, waiting, 0))
    return late / (REQUESTS - uncounted)


def _draws(usages_ms: Vector) -> Iterator[float]:
    random = np.random.default_rng(SEED)
    while True:
        yield from random.choice(usages_ms, DRAWS).tolist()
