"""The only importer of Locust: a sweep as a Locust run. A workload imports PoolUser from here."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolsize.locust.user import PoolUser

__all__ = ["PoolUser"]


def __getattr__(name: str) -> Any:
    """Import PoolUser on its first use, and let Locust know of sweeps with it.

    The process of another kind of sweep imports parts of this package, too, before it lets Locust know of its kind.
    """
    if name != "PoolUser":
        raise AttributeError(f"module 'poolsize.locust' has no attribute {name!r}")
    from poolsize.locust.session import OF_DATABASE, register
    from poolsize.locust.user import PoolUser

    register(OF_DATABASE)
    globals()[name] = PoolUser  # so that Python asks, and Locust registers, only once
    return PoolUser
