"""The pools of Rust: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config.findings import of_pools
from poolsize.pool_config.findings.worded import Worded
from poolsize.pool_config.libraries.rules import nothing, outlives_server
from poolsize.pool_config.pool import FilePool, Library


def _sqlx(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    is_checked = pool.value("test_before_acquire") is not False or 0 < pool.number("idle_timeout") < wait_timeout
    yield from outlives_server(pool, "max_lifetime", 1, wait_timeout, is_checked=is_checked)


def _r2d2(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    is_checked = pool.value("test_on_check_out") is not False
    yield from outlives_server(pool, "max_lifetime", 1, wait_timeout, is_checked=is_checked)


def _deadpool(pool: FilePool, _: int) -> Iterator[Worded]:
    if not pool.has("max_size"):
        formula = "CPUs * 2 (in older versions, physical cores * 4)"
        yield of_pools.OfCpus("max_size", "deadpool", formula, "deadpool's documentation, PoolConfig")
    if not pool.has("wait_timeout"):
        yield of_pools.WaitsForEver("wait_timeout", is_default=True, value=0.0)


def _rocket(pool: FilePool, _: int) -> Iterator[Worded]:
    if not any(pool.has(name) for name in ("max_connections", "pool_size")):
        formula = "workers * 4, with a worker for each CPU"
        yield of_pools.OfCpus("max_connections", "Rocket", formula, "rocket_db_pools' documentation, Config")


SQLX = Library(
    "sqlx",
    "",
    _sqlx,
    {
        "max_connections": 10, "min_connections": 0, "acquire_timeout": 30, "idle_timeout": 600, "max_lifetime": 1_800,
        "test_before_acquire": True,
    },
    sizes=("max_connections",),
)  # fmt: skip
SEAORM = replace(SQLX, title="SeaORM")
R2D2 = Library(
    "r2d2 or bb8",
    "",
    _r2d2,
    {
        "max_size": 10, "min_idle": None, "connection_timeout": 30, "idle_timeout": 600, "max_lifetime": 1_800,
        "test_on_check_out": True,
    },
    sizes=("max_size",),
)  # fmt: skip
DEADPOOL = Library(
    "deadpool",
    "",
    _deadpool,
    {"max_size": None, "wait_timeout": None, "create_timeout": None, "recycle_timeout": None},
    sizes=("max_size",),
)
MYSQL_ASYNC = Library("mysql or mysql_async", "", nothing, {"max": 100, "min": 10}, sizes=("max",))
"""Of the crates `mysql` and `mysql_async`: the arguments of PoolConstraints::new."""
ROCKET = Library(
    "Rocket",
    "",
    _rocket,
    {"max_connections": None, "min_connections": None, "connect_timeout": 5, "idle_timeout": None},
    sizes=("max_connections",),
)
ROCKET_SYNC = replace(
    ROCKET, title="Rocket's rocket_sync_db_pools", defaults={"pool_size": None, "timeout": 5}, sizes=("pool_size",)
)
