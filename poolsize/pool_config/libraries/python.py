"""The pools of Python: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from poolsize.pool_config import findings
from poolsize.pool_config.libraries.rules import known, outlives_server
from poolsize.pool_config.pool import FilePool, Library
from poolsize.pool_config.settings import LIFETIME_SECONDS


def _sqlalchemy(
    pool: FilePool, wait_timeout: int, recycle: str = "pool_recycle", pre_ping: str = "pool_pre_ping"
) -> Iterator[findings.Worded]:
    size, overflow = pool.library.sizes
    if pool.number(size) == 0:  # which is no limit, as an overflow of -1
        yield findings.Unlimited(size, is_default=False, value=0.0)
    elif (value := pool.number(overflow)) < 0:
        yield findings.Unlimited(overflow, is_default=False, value=value)
    yield from outlives_server(pool, recycle, 1, wait_timeout, is_checked=pool.value(pre_ping) is True)


def _django(pool: FilePool, wait_timeout: int) -> Iterator[findings.Worded]:
    age = pool.number("CONN_MAX_AGE")
    for_ever = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text == "None"  # which is a value
    if asgi := pool.settings.get("ASGI_APPLICATION"):
        if for_ever or age > 0:
            yield findings.DjangoPersists(pool.settings["CONN_MAX_AGE"].text, asgi.line)
        return
    if age == 0:
        yield findings.DjangoConnects("CONN_MAX_AGE", not pool.has("CONN_MAX_AGE"), LIFETIME_SECONDS)
    if pool.value("CONN_HEALTH_CHECKS") is not True and (for_ever or age >= wait_timeout):
        yield findings.OutlivesServer("CONN_MAX_AGE", False, known(age), wait_timeout)


def _connector_python(pool: FilePool, _: int) -> Iterator[findings.Worded]:
    if (size := pool.number("pool_size")) > (largest := pool.library.largest["pool_size"]):
        yield findings.TooLarge(int(size), largest)


SQLALCHEMY = Library(
    "SQLAlchemy",
    "sqlalchemy",
    _sqlalchemy,
    {
        "pool_size": 5, "max_overflow": 10, "pool_timeout": 30, "pool_recycle": -1, "pool_pre_ping": False,
        "pool_use_lifo": False,
    },
    sizes=("pool_size", "max_overflow"),
)  # fmt: skip
FLASK_SQLALCHEMY = replace(
    SQLALCHEMY,
    title="Flask-SQLAlchemy",
    stack="flask-sqlalchemy",
    defaults={**SQLALCHEMY.defaults, "pool_recycle": 7_200},
)
DJANGO = Library(
    "Django",
    "django",
    _django,
    {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "ASGI_APPLICATION": None},
)
DJANGO_POOL = Library(
    "django-db-connection-pool",
    "",
    partial(_sqlalchemy, recycle="RECYCLE", pre_ping="PRE_PING"),
    {"POOL_SIZE": 10, "MAX_OVERFLOW": 10, "RECYCLE": 900, "TIMEOUT": 30, "PRE_PING": True},
    sizes=("POOL_SIZE", "MAX_OVERFLOW"),
)
CONNECTOR_PYTHON = Library(
    "MySQL Connector/Python",
    "mysql-connector-python",
    _connector_python,
    {"pool_size": 5, "pool_reset_session": True},
    sizes=("pool_size",),
    largest={"pool_size": 32},
)
