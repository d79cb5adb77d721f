"""The locustfile's own listeners on events.request, which see every transaction."""

import time
from typing import Any

from locust.env import Environment

from poolsize.errors import WorkFailed
from poolsize.load.recorder import Observer
from poolsize.load.source_line import located
from poolsize.locust.stats import METHOD

LOCUSTS_OWN = "locust.runners"
"""The module of Locust's own listener, which fills Locust's statistics; a sweep fills them once a second."""


def request_observer(environment: Environment) -> Observer | None:
    """Return a function that calls every listener with a transaction; None where nobody listens.

    Locust's EventHook.fire would log a listener's error and go on. The function raises WorkFailed for it.
    """
    handlers: list[Any] = environment.events.request._handlers
    listeners = [listener for listener in handlers if getattr(listener, "__module__", None) != LOCUSTS_OWN]
    if not listeners:
        return None

    def observe(kind: str, total_ns: int, error: Exception | None) -> None:
        request = {
            "request_type": METHOD,
            "name": kind,
            "response_time": total_ns / 1e6,
            "response_length": 0,
            "response": None,
            "context": {},
            "exception": error,
            "start_time": time.time() - total_ns / 1e9,
            "url": None,
        }
        for listener in listeners:
            try:
                listener(**request)
            except Exception as failure:
                raise WorkFailed(f"a listener on events.request failed: {located(failure)}") from failure

    return observe
