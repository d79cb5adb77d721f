"""The findings on pools of Python only."""

from poolsize.answer.finding import Caution, Reason
from poolsize.pool_config.findings.worded import MayBeDefault, OfSetting, Worded


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


class DjangoConnects(MayBeDefault, Reason, code="django_connects"):
    """Django opens a connection for each request, which is right under ASGI. lifetime_seconds: advised under WSGI."""

    lifetime_seconds: int
    words = (
        "{0.setting} 0{0.default} is right under ASGI. Under WSGI (gunicorn sync or gthread, mod_wsgi, uWSGI), Django "
        "then opens a connection for each request: set {0.setting} to {0.lifetime_seconds} there. "
        "Source: Django's documentation, Persistent connections."
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
