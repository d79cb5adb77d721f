"""A worker's pools in one step: one for all users, and one for each class of users that has a pool of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor

from sqlalchemy import URL, PoolProxiedConnection

from poolsize.errors import WorkFailed
from poolsize.load.pool import OpenPool, open_pool
from poolsize.runs.plan import PoolKind
from poolsize.units import count

SHARED = ""
"""The name of the pool of all users without a pool of their own."""
Checkout = Callable[[], PoolProxiedConnection]
"""Takes a connection from a pool."""


@dataclass(frozen=True)
class Pools:
    """The open pools of a worker. by_name: user class, or SHARED -> its pool."""

    by_name: Mapping[str, OpenPool]

    @property
    def connection_ids(self) -> list[int]:
        """The server's ids of the connections that the pools have opened."""
        return [identity for pool in self.by_name.values() for identity in pool.connection_ids]

    @property
    def checkouts(self) -> dict[str, Checkout]:
        """Name of a pool -> the function that takes a connection from it."""
        return {name: pool.engine.pool.connect for name, pool in self.by_name.items()}

    def close(self) -> None:
        """Close the connections of every pool."""
        for pool in self.by_name.values():
            pool.engine.dispose()


def open_pools(
    url: URL, schema: str, connections: int, shares: Mapping[str, float], timeout_seconds: float, kind: PoolKind | str
) -> Pools:
    """Return a worker's pools, with all their connections open unless they are lazy.

    connections: of all pools together. shares: user class -> its pool's part of them; the shared pool has the others.
    timeout_seconds, kind: as in open_pool. Raises WorkFailed where there are fewer connections than pools, and as
    open_pool does.
    """
    opened: dict[str, OpenPool] = {}
    try:
        for name, size in divided(connections, shares).items():
            opened[name] = open_pool(url, schema, size, timeout_seconds, kind)
    except BaseException:
        Pools(opened).close()
        raise
    return Pools(opened)


def divided_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return name of a pool -> its part of the connections, with the shared pool where there is one."""
    rest = 1 - sum(shares.values())
    return {**shares, **({SHARED: rest} if rest > 1e-9 else {})}


def divided(connections: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Return the connections of each pool: at least 1, in all exactly `connections`, nearly in proportion.

    shares: as in open_pools. Raises WorkFailed where there are fewer connections than pools; without a connection, no
    pool has any.
    """
    parts = divided_shares(shares)
    if connections == 0:
        return dict.fromkeys(parts, 0)
    if connections < len(parts):
        raise WorkFailed(
            f"{count(connections, 'connection')} can't be divided among {len(parts)} pools: sweep `sizes` of "
            f"{len(parts)} and more for each worker"
        )
    exact = {name: share * connections for name, share in parts.items()}
    sizes = {name: max(1, floor(part)) for name, part in exact.items()}
    while (missing := connections - sum(sizes.values())) != 0:
        if missing > 0:
            name = max(exact, key=lambda name: exact[name] - sizes[name])
            sizes[name] += 1
        else:
            name = max((name for name in exact if sizes[name] > 1), key=lambda name: sizes[name] - exact[name])
            sizes[name] -= 1
    return sizes
