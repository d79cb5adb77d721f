"""A simulated pool with a metrics page: so the true number of connections in use is known at each moment."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tests.observe.http_answers import answering
from tests.observe.workload import Workload, serve

POOL_SIZE, LONGEST_SECONDS = 50, 150
"""No request waits for a connection of such a pool; how long requests come, at most."""
PAGE = """\
# TYPE hikaricp_connections_active gauge
hikaricp_connections_active{{pool="main"}} {active}
# TYPE hikaricp_connections_pending gauge
hikaricp_connections_pending{{pool="main"}} 0
# TYPE hikaricp_connections_max gauge
hikaricp_connections_max{{pool="main"}} {size}
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
    """Requests that arrive at random from now on, and use a connection for exponential times; nobody waits."""

    def __init__(self, rate: float, usage_seconds: float, seed: int = 1) -> None:
        requests = serve(Workload(rate, usage_seconds), POOL_SIZE, LONGEST_SECONDS, seed)
        ends = requests.begun + requests.usages
        order = np.argsort(ends)
        self._begun, self._ends = requests.begun, ends[order]
        self._usages = np.concatenate([[0.0], np.cumsum(requests.usages[order])])
        self._started = time.monotonic()

    def mean_in_use(self) -> float:
        """Return the connections in use on average, from the start until now."""
        now = time.monotonic() - self._started
        begun, uses = np.searchsorted(self._begun, now), np.searchsorted(self._ends, now)
        in_use_seconds = self._ends[:uses].sum() + now * (begun - uses) - self._begun[:begun].sum()
        return float(in_use_seconds / now)

    def page(self) -> str:
        """Return the metrics page of now."""
        now = time.monotonic() - self._started
        begun, uses = np.searchsorted(self._begun, now), np.searchsorted(self._ends, now)
        return PAGE.format(size=POOL_SIZE, active=begun - uses, uses=uses, usage=self._usages[uses])


@contextmanager
def served(pool: SimulatedPool, port: int = 0) -> Iterator[str]:
    """Serve the page of a pool, and yield its URL."""
    with answering(lambda *_: (200, pool.page().encode()), port) as at:
        yield f"http://127.0.0.1:{at}/metrics"
