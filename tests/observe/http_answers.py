"""An HTTP server of a test, whose answers a function makes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = Callable[[str, str | None], tuple[int, bytes]]
"""Target of a request and its authorization -> status and body; of a redirect, the body is the other URL."""


@contextmanager
def answering(reply: Reply, port: int = 0) -> Iterator[int]:
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

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # shutdown() waits for its poll
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
