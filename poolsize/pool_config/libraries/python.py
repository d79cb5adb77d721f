"""The pools of Python: their settings, defaults and limits, and what is wrong with a pool of each."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.libraries.rules import (
    FailsAtOnce,
    OutlivesServer,
    Unlimited,
    WaitsForEver,
    closes_idle,
    known,
    least_above_most,
    no_limit,
    outlives_server,
)
from poolsize.pool_config.pool import FilePool, Library, MayBeDefault, OfSetting, Worded
from poolsize.pool_config.settings import LIFETIME_SECONDS

MOST_OF_FLASK_SQLALCHEMY = 15
"""Connections that Flask-SQLAlchemy 3 opens by default: SQLAlchemy's pool_size 5 and max_overflow 10."""


class TooLarge(Worded, Caution, code="pool_too_large"):
    """Connector/Python refuses a pool size above the largest."""

    gravity = 2
    size: int
    largest: int
    about = "pool_size"
    words = (
        "pool_size {0.size:,} is an error: the library accepts up to {0.largest}. "
        "Source: mysql.connector.pooling.CNX_POOL_MAXSIZE."
    )


class NoWaitLimit(Worded, Reason, code="pool_no_wait_limit"):
    """A library that has no limit for waiting."""

    library: str
    words = (
        "{0.library} has no wait limit: while all connections are in use, a request waits until a connection is given "
        "back. Limit the wait in the application, as with asyncio.timeout(). Source: the library's source code."
    )


class RaisedSize(OfSetting, Reason, code="pool_size_raised"):
    """DBUtils raises the limit to the value of another setting."""

    limit: int
    raising: str
    used: int
    words = (
        "{0.setting} {0.limit:,} is less than {0.raising} {0.used:,}: DBUtils then uses {0.used:,} as the limit. "
        "Source: PooledDB's source code."
    )


class PerThread(Worded, Reason, code="pool_per_thread"):
    """A library that keeps a connection for each thread."""

    library: str
    words = (
        "{0.library} has no pool size: each thread keeps a connection of its own. The number of threads in all "
        "processes is the number of connections. Source: the library's documentation."
    )


class FlaskOldNames(OfSetting, Caution, code="flask_old_names"):
    """Only Flask-SQLAlchemy 2 reads some settings. connections: of version 3 by default."""

    names: tuple[str, ...]
    connections: int
    words = (
        "Flask-SQLAlchemy 3 ignores {0.listed}: its pool then has the default, {0.connections:,} connections. Only "
        "version 2 reads these names. Set SQLALCHEMY_ENGINE_OPTIONS instead, which both read. "
        "Source: Flask-SQLAlchemy's changelog, 2.4.0 and 3.0.0."
    )
    listed = property(lambda self: ", ".join(self.names))


class SizeOfVersion2(OfSetting, Reason, code="flask_size_of_2"):
    """The default pool size is larger in Flask-SQLAlchemy 2. connections: of the pool with it."""

    connections: int
    words = (
        "The default {0.setting} is 5 in Flask-SQLAlchemy 3 and, for MySQL, 10 in version 2: with 10, this pool may "
        "open up to {0.connections:,} connections. Source: Flask-SQLAlchemy's changelog, 3.0.0."
    )


class DjangoConnects(MayBeDefault, Reason, code="django_connects"):
    """Django opens a connection for each request, which is right under ASGI. lifetime_seconds: advised under WSGI."""

    lifetime_seconds: int
    words = (
        "{0.setting} 0{0.default} is right under ASGI. Under WSGI (gunicorn sync or gthread, mod_wsgi, uWSGI), Django "
        "then opens a connection for each request: set {0.setting} to {0.lifetime_seconds} there. "
        "Source: Django's documentation, Persistent connections."
    )


class DjangoPool(Worded, Caution, code="django_pool"):
    """Django has a pool for PostgreSQL and Oracle only."""

    gravity = 2
    about = "pool"
    words = (
        "pool in OPTIONS is for PostgreSQL and Oracle: with MySQL, the driver refuses it. Use CONN_MAX_AGE, or "
        "django-db-connection-pool. Source: Django's documentation, Databases."
    )


class DjangoPersists(Worded, Caution, code="django_asgi"):
    """Django keeps connections under ASGI. text: of CONN_MAX_AGE, as the file writes it. line: of ASGI_APPLICATION."""

    text: str
    line: int
    about = "CONN_MAX_AGE"
    words = (
        "CONN_MAX_AGE {0.text}: ASGI_APPLICATION (line {0.line}) suggests that ASGI serves this application. Under "
        "ASGI, persistent connections should be disabled: set CONN_MAX_AGE to 0, unless WSGI serves the requests. "
        "Source: Django's documentation, Persistent connections."
    )


def _sqlalchemy(
    pool: FilePool, wait_timeout: int, recycle: str = "pool_recycle", pre_ping: str = "pool_pre_ping"
) -> Iterator[Worded]:
    size, overflow = pool.library.sizes
    if pool.library is FLASK_SQLALCHEMY and pool.complete and not pool.has(size) and pool.number(overflow) >= 0:
        yield SizeOfVersion2(size, 10 + int(pool.number(overflow)))
    if pool.number(size) == 0:  # which is no limit, as an overflow of -1
        yield Unlimited(size, is_default=False, value=0.0)
    elif (value := pool.number(overflow)) < 0:
        yield Unlimited(overflow, is_default=False, value=value)
    is_checked = bool(pool.value(pre_ping)) or pool.value(pre_ping) is None  # None: it is not known
    yield from outlives_server(pool, wait_timeout, recycle, is_checked=is_checked)


OLD_FUNCTION = "apply_pool_defaults"
"""What a class on Flask-SQLAlchemy 2 overrides to change the options of the pool."""


def _flask_sqlalchemy_2(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    """Find the settings that only Flask-SQLAlchemy 2 reads; of the others, what is wrong with SQLAlchemy's."""
    old = [each.name for each in pool.settings.values() if each.name.startswith("SQLALCHEMY_")] or [OLD_FUNCTION]
    yield FlaskOldNames(old[0], tuple(old), MOST_OF_FLASK_SQLALCHEMY)
    yield from _sqlalchemy(pool, wait_timeout)


def _django(pool: FilePool, wait_timeout: int) -> Iterator[Worded]:
    age = pool.number("CONN_MAX_AGE")
    if pool.has("pool"):
        yield DjangoPool()
    for_ever = pool.has("CONN_MAX_AGE") and pool.settings["CONN_MAX_AGE"].text == "None"  # which is a value
    if asgi := pool.settings.get("ASGI_APPLICATION"):
        if for_ever or age > 0:
            yield DjangoPersists(pool.settings["CONN_MAX_AGE"].text, asgi.line)
        return
    if age == 0:
        yield DjangoConnects("CONN_MAX_AGE", not pool.has("CONN_MAX_AGE"), LIFETIME_SECONDS)
    if pool.value("CONN_HEALTH_CHECKS") is not True and (for_ever or age >= wait_timeout):
        yield OutlivesServer("CONN_MAX_AGE", False, known(age), wait_timeout)


def _connector_python(pool: FilePool, _: int) -> Iterator[Worded]:
    if (size := pool.number("pool_size")) > (largest := pool.library.largest["pool_size"]):
        yield TooLarge(int(size), largest)


def _peewee(pool: FilePool, _: int) -> Iterator[Worded]:
    """Find no limits. peewee pings each borrowed connection, so that none outlives the server unnoticed."""
    yield from no_limit(pool, "max_connections", Unlimited)
    yield from no_limit(pool, "timeout", WaitsForEver)
    if pool.settings["timeout"].text == "None" if pool.has("timeout") else pool.complete:
        yield FailsAtOnce("timeout", not pool.has("timeout"), "None")


def _dbutils(pool: FilePool, _: int) -> Iterator[Worded]:
    """Find no limits, and a limit that DBUtils raises. It repeats a statement on a connection that the server ended."""
    yield from no_limit(pool, "maxconnections", Unlimited)
    limit = pool.number("maxconnections")
    if limit > 0 and pool.value("blocking") in (False, 0):
        yield FailsAtOnce("blocking", not pool.has("blocking"), "False")
    raising = max(pool.library.floors, key=lambda name: known(pool.number(name)) or 0)
    if 0 < limit < pool.number(raising):
        yield RaisedSize("maxconnections", int(limit), raising, int(pool.number(raising)))
    if pool.number("maxcached") > 0:
        yield from closes_idle(pool, "maxcached", "maxconnections")


def _asyncio(pool: FilePool, _: int) -> Iterator[Worded]:
    """Find no limit, and a pool that is refused. aiomysql and asyncmy lend no connection that the server closed."""
    (most,) = pool.library.sizes
    yield from no_limit(pool, most, Unlimited)
    yield from least_above_most(pool, most, most.replace("max", "min"))
    if "WAIT_LIMIT_SECONDS" not in pool.settings:
        yield NoWaitLimit(pool.library.title)


OTHER_POOLS = {"NullPool", "StaticPool", "SingletonThreadPool", "AssertionPool"}
"""Classes of SQLAlchemy's pools that have no size."""
SQLALCHEMY = Library(
    "SQLAlchemy",
    {
        "pool_size": 5, "max_overflow": 10, "pool_timeout": 30, "pool_recycle": -1, "pool_pre_ping": False,
        "pool_use_lifo": False,
    },
    stack="sqlalchemy",
    find=_sqlalchemy,
    sizes=("pool_size", "max_overflow"),
    waits={"pool_timeout": 1},
    ages={"pool_recycle": 1},
)  # fmt: skip
FLASK_SQLALCHEMY = replace(
    SQLALCHEMY,
    title="Flask-SQLAlchemy",
    stack="flask-sqlalchemy",
    defaults={**SQLALCHEMY.defaults, "pool_recycle": 7_200},
)
FLASK_SQLALCHEMY_2 = replace(
    FLASK_SQLALCHEMY,
    title="Flask-SQLAlchemy 2",
    find=_flask_sqlalchemy_2,
    defaults={**FLASK_SQLALCHEMY.defaults, "pool_size": 10},
)
"""Its default for MySQL, which version 3 dropped (its changelog, 3.0.0)."""
DJANGO = Library(
    "Django",
    {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "ASGI_APPLICATION": None, "pool": None},
    stack="django",
    find=_django,
    ages={"CONN_MAX_AGE": 1},
)
DJANGO_POOL = Library(
    "django-db-connection-pool",
    {"POOL_SIZE": 10, "MAX_OVERFLOW": 10, "RECYCLE": 900, "TIMEOUT": 30, "PRE_PING": True},
    find=partial(_sqlalchemy, recycle="RECYCLE", pre_ping="PRE_PING"),
    sizes=("POOL_SIZE", "MAX_OVERFLOW"),
    waits={"TIMEOUT": 1},
    ages={"RECYCLE": 1},
)
CONNECTOR_PYTHON = Library(
    "MySQL Connector/Python",
    {"pool_size": 5, "pool_reset_session": True, "THREADS": None},
    stack="mysql-connector-python",
    find=_connector_python,
    sizes=("pool_size",),
    largest={"pool_size": 32},
    constants=frozenset({"THREADS"}),
)
MARIADB_PYTHON = Library(
    "MariaDB Connector/Python",
    {"pool_size": 5, "pool_reset_connection": True, "pool_validation_interval": 500},
    sizes=("pool_size",),
)
"""Source of the defaults: its documentation, The ConnectionPool class."""
PEEWEE = Library(
    "peewee",
    {"max_connections": 20, "stale_timeout": None, "timeout": None},
    stack="peewee",
    find=_peewee,
    sizes=("max_connections",),
    waits={"timeout": 1},
    ages={"stale_timeout": 1},
)
DBUTILS = Library(
    "DBUtils PooledDB",
    {
        "maxconnections": 0,
        "mincached": 0,
        "maxcached": 0,
        "maxshared": 0,
        "blocking": False,
        "maxusage": None,
        "ping": 1,
    },
    stack="dbutils",
    find=_dbutils,
    sizes=("maxconnections",),
    floors=("maxcached", "maxshared"),
)
DBUTILS_PERSISTENT = Library("DBUtils PersistentDB", {"ping": 1}, notes=(PerThread("DBUtils PersistentDB"),))
AIOMYSQL = Library(
    "aiomysql",
    {"minsize": 1, "maxsize": 10, "pool_recycle": -1, "WAIT_LIMIT_SECONDS": None},
    stack="aiomysql",
    find=_asyncio,
    sizes=("maxsize",),
    ages={"pool_recycle": 1},
    constants=frozenset({"WAIT_LIMIT_SECONDS"}),
)
"""The library itself has no wait limit."""
PEEWEE_ASYNC = replace(AIOMYSQL, title="peewee-async", stack="")
"""Its PooledMySQLDatabase hands pool_params to aiomysql (peewee_async/pool.py); version 0 has max_connections."""
ASYNCMY = replace(AIOMYSQL, title="asyncmy", stack="asyncmy", defaults={**AIOMYSQL.defaults, "pool_recycle": 3_600})
TORTOISE = Library(
    "Tortoise ORM",
    {"minsize": 1, "maxsize": 5, "pool_recycle": None},
    find=_asyncio,
    sizes=("maxsize",),
    ages=AIOMYSQL.ages,
)
"""Source of the defaults: its documentation, Databases. pool_recycle is the driver's: asyncmy's or aiomysql's."""
DATABASES = Library(
    "databases",
    {"min_size": 1, "max_size": 10, "pool_recycle": None},
    find=_asyncio,
    sizes=("max_size",),
    ages=AIOMYSQL.ages,
)
"""encode/databases, which hands its options to aiomysql or asyncmy (databases/backends/mysql.py)."""
