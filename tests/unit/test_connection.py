"""The names of database errors, what a refused URL shows, its encryption, and how soon a lost machine is noticed."""

import socket
import ssl
import sys
from pathlib import Path
from typing import NoReturn

import pymysql
import pytest
from pymysql.connections import Connection
from sqlalchemy.exc import OperationalError

from poolsize.errors import BadInput
from poolsize.facts.ssl_mode import SslMode
from poolsize.load.worker_connection import WorkerConnection
from poolsize.server.bounded import BoundedConnection
from poolsize.server.connection import NoAnswer, connect, database_url, encrypted_url, error_kind, schema_in
from poolsize.server.encryption import ssl_mode
from poolsize.server.guarded import PROBE_SECONDS, VANISHED_SECONDS, GuardedConnection, notice_vanishing


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pymysql.err.OperationalError(1054, "Unknown column"), "mysql_1054_bad_field_error"),
        (pymysql.err.ProgrammingError(1146, "Table doesn't exist"), "mysql_1146_no_such_table"),
        (pymysql.err.OperationalError(1213, "Deadlock found"), "deadlock"),
        (pymysql.err.OperationalError(1040, "Too many connections"), "too_many_connections"),
        (pymysql.err.OperationalError(1203, "max_user_connections"), "too_many_connections"),
        (pymysql.err.OperationalError(2013, "Lost connection"), "server_gone"),
        (pymysql.err.OperationalError(4999, "no known number"), "mysql_4999"),
        (pymysql.err.InterfaceError("(0, '')"), "InterfaceError"),
        (OperationalError("SELECT 1", {}, pymysql.err.OperationalError(2013, "Lost connection")), "server_gone"),
        (KeyError("id"), "KeyError"),
    ],
)
def test_an_error_is_named_as_the_server_names_it(error: Exception, kind: str) -> None:
    assert error_kind(error) == kind


def test_a_full_server_s_refusal_names_the_connection_that_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise pymysql.err.OperationalError(1040, "Too many connections")

    monkeypatch.setattr(BoundedConnection, "__init__", refuse)
    with pytest.raises(NoAnswer, match=r"Too many connections; .*CONNECTION_ADMIN or SUPER"):
        connect(database_url("mysql://shop@db/"))


def test_a_server_that_dies_in_the_handshake_of_tls_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a server without a common encryption, whose error is another ssl.SSLError."""

    def connect_and_fail(*_: object, **__: object) -> NoReturn:
        error = pymysql.err.OperationalError(2003, "Can't connect")
        error.original_exception = ssl.SSLEOFError(8, "EOF occurred in violation of protocol")
        raise error

    monkeypatch.setattr(BoundedConnection, "__init__", connect_and_fail)
    with pytest.raises(NoAnswer):
        connect(database_url("mysql://shop@db/"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:hunter2@db/?password=hunter2",
        "mysql://shop:hunter2@2@db:3306/",
        "oracle://db:1521/?user=shop&password=hunter2",
        "hunter2",
        "mysql://shop:Pw@hunter2/db@host/",
        "mysql://shop:Pw/hunter2@db/",
        "mysql://shop:Pw?hunter2@db/",
        "mysql://shop:Pw@db/x?ssl-ca=hunter2@db",
        "mysql://shop:Pw@hunter2?a@db/",
        "mysql://db/shop?hunter2@db",
        "mysql://@hunter2@db/",
        "shop:hunter2@db/",
        "//shop:hunter2@db/",
    ],
)
def test_a_refused_url_shows_no_password(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        database_url(url)
    assert "hunter2" not in str(refused.value)


def test_a_refused_url_without_an_account_shows_no_port() -> None:
    with pytest.raises(BadInput, match="give 1 to 65535") as refused:
        database_url("mysql://shop:424242")
    assert "424242" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("mysql://shop@localhost/", "preferred"),
        ("mysql://shop@127.0.0.2/", "preferred"),
        ("mysql://shop@[::1]/", "preferred"),
        ("mysql://shop@db/?unix_socket=/run/mysqld.sock", "preferred"),
        ("mysql://shop@db/", "required"),
        ("mysql://shop@10.1.2.3/", "required"),
        ("mysql://shop@db/?ssl-ca=ca.pem", "verify-ca"),
        ("mysql://shop@localhost/?ssl_ca=ca.pem", "verify-ca"),
        ("mysql://shop@localhost/?ssl-cert=me.pem&ssl-key=me.key", "required"),
        ("mysql://shop@db/?ssl-mode=DISABLED", "off"),
        ("mysql://shop@db/?ssl_mode=VERIFY_IDENTITY&ssl-ca=ca.pem", "verify-identity"),
    ],
)
def test_a_url_off_this_machine_requires_encryption(url: str, mode: str) -> None:
    assert ssl_mode(database_url(url)) == mode


@pytest.mark.parametrize(
    "query",
    ["ssl=true", "ssl_verify_cert=true", "ssl-mode=always", "ssl-key=me.key", "ssl-mode=preferred&ssl-ca=ca.pem"],
)
def test_an_unknown_word_of_encryption_is_refused(query: str) -> None:
    with pytest.raises(BadInput, match="ssl"):
        database_url(f"mysql://shop@db/?{query}")


@pytest.mark.parametrize(
    "query",
    [
        "host=elsewhere", "port=3307", "user=root", "password=x", "passwd=x", "db=x", "database=x", "bind_address=::1",
        "read_default_file=/etc/passwd", "read_default_group=x", "local_infile=1", "init_command=DROP", "conv=x",
        "auth_plugin_map=x", "server_public_key=x", "connect_timeout=9999", "read_timeout=1", "client_flag=1",
        "max_allowed_packet=1", "defer_connect=1", "named_pipe=x", "compress=1", "Host=elsewhere", "cursorclass=x",
    ],
)  # fmt: skip
def test_a_url_has_no_other_options(query: str) -> None:
    """PyMySQL would take them: another server, which would count as the local one, or a file, whose text it shows."""
    for host in ("localhost", "db"):
        with pytest.raises(BadInput, match="a URL has no option") as refused:
            database_url(f"mysql://shop:secret@{host}/?charset=utf8mb4&{query}")
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("charset", ["klingon", "utf8mb4; DROP", "geostd8"])
def test_an_unknown_character_set_is_named(charset: str) -> None:
    with pytest.raises(BadInput, match=f"charset={charset}: PyMySQL has no such character set"):
        database_url(f"mysql://shop@db/?charset={charset}")


def test_options_of_encryption_replace_those_of_the_url() -> None:
    given = "mysql://shop:a%40b@db/tasks?ssl-mode=off&charset=utf8mb4"
    text = encrypted_url(given, SslMode.VERIFY_CA, Path("my ca.pem"))
    url = database_url(text)
    assert (url.password, schema_in(text), ssl_mode(url)) == ("a@b", "tasks", "verify-ca")
    assert url.query == {"ssl-mode": "verify-ca", "ssl-ca": "my ca.pem", "charset": "utf8mb4"}


@pytest.mark.costly
def test_connections_share_pymysqls_tls_context_but_not_a_context_of_the_urls() -> None:
    """PyMySQL reads the system's authorities for each context, 50 ms of CPU time."""
    first, second = GuardedConnection(defer_connect=True), WorkerConnection(defer_connect=True)
    assert first.ctx is second.ctx
    assert first.ctx.verify_mode == Connection(defer_connect=True).ctx.verify_mode
    own = ssl.create_default_context()
    assert WorkerConnection(defer_connect=True, ssl=own).ctx is own


@pytest.mark.skipif(sys.platform != "linux", reason="reads the options back by Linux's names")
@pytest.mark.parametrize("name", ["TCP_KEEPIDLE", "TCP_KEEPALIVE"])
def test_the_first_probe_is_soon_on_linux_and_by_the_name_of_macos(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = socket.TCP_KEEPIDLE
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    monkeypatch.setattr(socket, name, idle, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        notice_vanishing(client)
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        times = [client.getsockopt(socket.IPPROTO_TCP, option) for option in (idle, socket.TCP_KEEPINTVL)]
        probes = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
    assert (times, probes * PROBE_SECONDS) == ([PROBE_SECONDS, PROBE_SECONDS], VANISHED_SECONDS)
