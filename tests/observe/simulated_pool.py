"""A pool that is simulated and has a metrics page: so the true number of connections in use is known at each moment.

As a program, `python -m tests.observe.simulated_pool PORT...`, it serves a page on each port, and prints the truth when
its standard input ends: a line for each port with the mean in use of each whole minute.
"""

import heapq
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = """\
# TYPE hikaricp_connections_active gauge
hikaricp_connections_active{{pool="main"}} {active}
# TYPE hikaricp_connections_pending gauge
hikaricp_connections_pending{{pool="main"}} 0
# TYPE hikaricp_connections_max gauge
hikaricp_connections_max{{pool="main"}} 50
# TYPE hikaricp_connections_usage_seconds summary
hikaricp_connections_usage_seconds_count{{pool="main"}} {uses}
hikaricp_connections_usage_seconds_sum{{pool="main"}} {usage:.6f}
# TYPE hikaricp_connections_acquire_seconds summary
hikaricp_connections_acquire_seconds_count{{pool="main"}} {uses}
hikaricp_connections_acquire_seconds_sum{{pool="main"}} 0.0
# TYPE hikaricp_connections_timeout_total counter
hikaricp_connections_timeout_total{{pool="main"}} 0
"""


class SimulatedPool:
    """Requests that arrive at random and use a connection for exponential times; nobody waits."""

    def __init__(self, rate: float, usage_seconds: float, seed: int = 1, now: float | None = None) -> None:
        self._rate, self._mean, self._random = rate, usage_seconds, random.Random(seed)
        self.started = self._now = time.time() if now is None else now
        self._next = self._now + self._random.expovariate(rate)
        self._ends: list[float] = []
        self._lock = threading.Lock()
        self.uses, self.usage = 0, 0.0
        self.in_use_seconds: dict[int, float] = {}
        """Minute -> the integral of the number in use over it."""

    @property
    def active(self) -> int:
        """The connections in use now."""
        return len(self._ends)

    @property
    def seconds(self) -> float:
        """The simulated time."""
        return self._now - self.started

    def go_on(self, until: float) -> None:
        """Simulate up to a moment."""
        while True:
            moment = min(self._next, self._ends[0] if self._ends else self._next, until)
            self._count(moment)
            if moment == until:
                return
            if self._ends and moment == self._ends[0]:
                heapq.heappop(self._ends)
                self.uses += 1
            else:
                usage = self._random.expovariate(1 / self._mean)
                self.usage += usage  # at the end, in a real pool: the same for short usages
                heapq.heappush(self._ends, moment + usage)
                self._next = moment + self._random.expovariate(self._rate)

    def _count(self, moment: float) -> None:
        while self._now < moment:
            minute = int(self._now // 60)
            end = min(moment, 60.0 * (minute + 1))
            self.in_use_seconds[minute] = self.in_use_seconds.get(minute, 0.0) + (end - self._now) * self.active
            self._now = end

    def page(self, now: float | None = None) -> str:
        """Return the metrics page of now, or of another moment."""
        with self._lock:
            self.go_on(time.time() if now is None else now)
            return PAGE.format(active=self.active, uses=self.uses, usage=self.usage)


@contextmanager
def served(pool: SimulatedPool, port: int = 0) -> Iterator[str]:
    """Serve the page of a pool, and yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pool.page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    pools = [SimulatedPool(100.0 * (i + 1), 0.02, seed=i) for i, _ in enumerate(sys.argv[1:])]
    servers = [served(pool, int(port)) for pool, port in zip(pools, sys.argv[1:], strict=True)]
    for server in servers:
        server.__enter__()
    sys.stdin.read()
    for port, pool in zip(sys.argv[1:], pools, strict=True):
        pool.page()
        print(json.dumps({"port": port, "minutes": {m: s / 60 for m, s in pool.in_use_seconds.items()}}))


if __name__ == "__main__":
    main()
