"""The pools of Rails, Prisma and PHP: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace

from poolsize.pool_config.findings import of_other_languages, of_pools
from poolsize.pool_config.libraries.rules import outlives_server
from poolsize.pool_config.pool import FilePool, Library, Worded


def _rails(pool: FilePool, _: int) -> Iterator[Worded]:
    (size,) = pool.library.sizes
    if (most := pool.number(size)) < 0:
        yield of_pools.Unlimited(size, is_default=False, value=most)


def _prisma(pool: FilePool, _: int) -> Iterator[Worded]:
    if (wait := pool.number("pool_timeout")) == 0:
        yield of_pools.WaitsForEver("pool_timeout", is_default=False, value=wait)


def _php_fpm(pool: FilePool, _: int) -> Iterator[Worded]:
    if not pool.has("mysqli.max_persistent"):  # which shows that connections are persistent, and how many
        yield of_other_languages.WorkersArePool()


def _php(pool: FilePool, _: int) -> Iterator[Worded]:
    for name, setting in pool.settings.items():
        if setting.value is True:
            yield of_other_languages.PhpPersists(name)


def _hyperf(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    yield from outlives_server(pool, "max_idle_time", 1, wait_timeout, is_checked=False)


RAILS = Library(
    "Rails",
    "",
    _rails,
    {"pool": 5, "checkout_timeout": 5, "idle_timeout": 300, "reaping_frequency": 60},
    sizes=("pool",),
    notes=(of_other_languages.ThreadsOfProcess(),),
)
RAILS_8_1 = replace(
    RAILS,
    title="Rails 8.1",
    defaults={
        "max_connections": 5, "min_connections": 0, "checkout_timeout": 5, "idle_timeout": 300, "reaping_frequency": 20,
        "max_age": None, "keepalive": 600,
    },
    sizes=("max_connections",),
)  # fmt: skip
"""It has a new name for the pool, and still reads the old one."""
PRISMA = Library(
    "Prisma",
    "",
    _prisma,
    {"connection_limit": None, "pool_timeout": 10, "connect_timeout": 5, "socket_timeout": None},
    sizes=("connection_limit",),
    of_cpus=(
        "CPUs * 2 + 1 (from Prisma 7 on, the driver adapter's default)",
        "Prisma's documentation, Connection pool",
    ),
)
PHP_FPM = Library(
    "PHP-FPM",
    "php-fpm",
    _php_fpm,
    {
        "pm.max_children": None, "pm": None, "pm.start_servers": None, "pm.min_spare_servers": None,
        "pm.max_spare_servers": None, "pm.process_idle_timeout": None, "pm.max_requests": 0,
        "mysqli.max_persistent": -1, "mysqli.allow_persistent": "on",
    },
    sizes=("pm.max_children",),
)  # fmt: skip
PHP = Library(
    "PHP",
    "",
    _php,
    dict.fromkeys(("ATTR_PERSISTENT", "p:", "mysql_pconnect", "pConnect", "pconnect", "persistent"), False),
)
"""Its workers are the pool: PHP_FPM has the size."""
HYPERF = Library(
    "Hyperf or webman",
    "",
    _hyperf,
    {
        "min_connections": 1, "max_connections": 10, "connect_timeout": 10.0, "wait_timeout": 3.0, "heartbeat": -1,
        "max_idle_time": 60.0,
    },
    aliases={"idle_timeout": "max_idle_time"},  # in webman
    sizes=("max_connections",),
)  # fmt: skip
