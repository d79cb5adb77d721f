"""The pools of Node.js: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator

from poolsize.pool_config import findings
from poolsize.pool_config.libraries.rules import no_limit
from poolsize.pool_config.pool import FilePool, Library


def _mysql2(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    yield from no_limit(pool, "connectionLimit", findings.Unlimited)
    if pool.value("waitForConnections") is not False:
        yield from no_limit(pool, "queueLimit", findings.QueueUnlimited)


NODE_MYSQL2 = Library(
    "mysql2",
    "node-mysql2",
    _mysql2,
    {
        "connectionLimit": 10, "maxIdle": None, "idleTimeout": 60_000, "queueLimit": 0, "waitForConnections": True,
        "enableKeepAlive": True, "keepAliveInitialDelay": None,
    },
    same_as={"maxIdle": "connectionLimit"},
    sizes=("connectionLimit",),
    ignored=frozenset({"acquireTimeout"}),
)  # fmt: skip
