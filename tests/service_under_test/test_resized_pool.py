"""A running application whose pool is resized: its metrics may show the old size for a while."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from poolsize.errors import WorkFailed
from poolsize.service_under_test import service
from poolsize.service_under_test.description import DescribedService, ServiceFile
from poolsize.service_under_test.service import RunningService

STALE_SECONDS = 1.0
"""HikariCP caches its statistics for as long."""


class _Page(BaseHTTPRequestHandler):
    began = 0.0

    def do_GET(self) -> None:
        size = 10 if time.monotonic() < self.began + STALE_SECONDS else 4
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'hikaricp_connections_max{{pool="shop"}} {size}\n'.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def resized_service(folder: Path) -> Iterator[RunningService]:
    """A service with 10 connections, whose page has 4 of them after STALE_SECONDS."""
    _Page.began = time.monotonic()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    Thread(target=server.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{server.server_port}/metrics"
    file = ServiceFile("shop.py", "http://shop", resize="true {pool_size}", metrics=page)
    running = RunningService(DescribedService(folder / "shop.toml", "0" * 64, file), folder / "log")
    try:
        yield running
    finally:
        running.close()
        server.shutdown()
        server.server_close()


@pytest.mark.long
def test_metrics_that_are_a_second_old_refuse_no_size(tmp_path: Path) -> None:
    with resized_service(tmp_path) as running:
        assert running.set_pool_size(4) >= STALE_SECONDS / 2


@pytest.mark.long
def test_a_size_that_never_comes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "COMMAND_SECONDS", 2 * STALE_SECONDS)
    with resized_service(tmp_path) as running, pytest.raises(WorkFailed, match="at most 4 connections, and not 8"):
        running.set_pool_size(8)
