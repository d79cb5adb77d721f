"""Size from production, without a load test: what pools and servers count is read, stored, and answered."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolsize.observe.instrumentation import instrument

__all__ = ["instrument"]


def __getattr__(name: str) -> Any:
    """Import `instrument` when an application asks for it: nothing else here needs SQLAlchemy."""
    if name != "instrument":
        raise AttributeError(f"module 'poolsize.observe' has no attribute {name!r}")
    from importlib import import_module

    return import_module("poolsize.observe.instrumentation").instrument
