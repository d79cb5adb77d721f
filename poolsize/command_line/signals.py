"""Signals during a command's work: handlers that last as long as a block."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def terminable() -> Iterator[None]:
    """Within the context, let SIGTERM raise KeyboardInterrupt with its number."""

    def on_terminate(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    with handling(signal.SIGTERM, on_terminate):
        yield


@contextmanager
def handling(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Within the context, let a signal have this handler."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
