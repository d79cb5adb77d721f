"""What `poolsize observe` reads in tests: answers that a function makes, a simulated pool, a real Prometheus."""

import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from poolsize.server.private_server import free_port
from tests.observe.workload import Workload, serve

START_SECONDS = 90
"""The longest time until a program answers."""
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
Reply = Callable[[str, str | None], tuple[int, bytes]]
"""Target of a request and its authorization -> status and body; of a redirect, the body is the other URL."""


@contextmanager
def answering(reply: Reply) -> Iterator[int]:
    """Answer until the end, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = reply(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            if status in {301, 302}:
                self.send_header("Location", body.decode())
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # shutdown() waits for its poll
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class SimulatedPool:
    """Requests that arrive at random from now on, and use a connection for exponential times; nobody waits.

    So the true number of connections in use is known at each moment.
    """

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
def served(pool: SimulatedPool) -> Iterator[str]:
    """Serve the page of a pool, and yield its URL."""
    with answering(lambda *_: (200, pool.page().encode())) as port:
        yield f"http://127.0.0.1:{port}/metrics"


def wait_for(page: str) -> None:
    """Wait until a page answers."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(page, timeout=5):  # noqa: S310 (a page of this test)
                return
        except OSError:
            assert time.monotonic() < deadline, f"{page} does not answer"
            time.sleep(0.2)


@contextmanager
def real_prometheus(folder: Path, pages: Mapping[str, str]) -> Iterator[str]:
    """Let Prometheus scrape pages each second into a folder's `data`, and yield its URL. pages: job -> URL."""
    if shutil.which("prometheus") is None:
        pytest.skip("no Prometheus on this machine")
    jobs = [
        f"- {{job_name: {job}, metrics_path: '/{path}', static_configs: [{{targets: ['{host}']}}]}}"
        for job, page in pages.items()
        for host, _, path in [page.removeprefix("http://").partition("/")]
    ]
    (folder / "prometheus.yml").write_text("\n".join(["global: {scrape_interval: 1s}", "scrape_configs:", *jobs]))
    address = f"127.0.0.1:{free_port()}"
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with subprocess.Popen(["prometheus", *options], cwd=folder, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(f"http://{address}/-/ready")
            yield f"http://{address}"
        finally:
            server.terminate()
