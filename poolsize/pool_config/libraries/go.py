"""The pool of Go: its settings, defaults and limits, and what is wrong with a pool."""

from collections.abc import Iterator

from poolsize.pool_config.findings import of_other_languages, of_pools
from poolsize.pool_config.findings.worded import Worded
from poolsize.pool_config.libraries.rules import closes_idle, no_limit
from poolsize.pool_config.pool import FilePool, Library


def _go(pool: FilePool, _: int) -> Iterator[Worded]:
    yield from no_limit(pool, "SetMaxOpenConns", of_pools.Unlimited)
    yield from closes_idle(pool, "SetMaxIdleConns", "SetMaxOpenConns")
    lifetime, most = pool.number("SetConnMaxLifetime"), pool.library.largest["SetConnMaxLifetime"]
    if lifetime <= 0 or lifetime > most:
        yield of_other_languages.GoLifetime(lifetime or None, most)


GO = Library(
    "Go's database/sql",
    "go",
    _go,
    {"SetMaxOpenConns": 0, "SetMaxIdleConns": 2, "SetConnMaxLifetime": 0, "SetConnMaxIdleTime": 0, "WaitLimit": None},
    sizes=("SetMaxOpenConns",),
    largest={"SetConnMaxLifetime": 300},
    constants=frozenset({"WaitLimit"}),
)
