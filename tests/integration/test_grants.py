"""The documented privileges of poolsize's accounts are enough, and without one of them a command names it."""

from collections.abc import Iterator
from typing import Any

import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import Command, assert_swept, in_ci, on_both

pytestmark = pytest.mark.server
NEEDED = ("CREATE", "DROP", "INDEX", "SELECT", "INSERT", "UPDATE", "DELETE")
"""What docs/reference/security.md says that the shipped workloads need on poolsize.*."""
SHORT = (
    "--pool-sizes", "1,2", "--step-time", "1s", "--warm-up", "0", "--workload", "oltp_read_write", "--think-time",
    "20ms",
)  # fmt: skip


@pytest.fixture
def cursor(server: PrivateServer) -> Iterator[Any]:
    """An administrator's cursor; account and schema are gone afterwards."""
    with connect(database_url(server.url)) as connection, connection.cursor() as opened:
        opened.execute("DROP USER IF EXISTS few@'127.0.0.1'")
        opened.execute("CREATE USER few@'127.0.0.1' IDENTIFIED BY 'not-a-secret'")
        yield opened
        opened.execute("DROP USER few@'127.0.0.1'")
        opened.execute("DROP DATABASE IF EXISTS poolsize")


def url_of(server: PrivateServer) -> str:
    url = database_url(server.url).set(username="few", password="not-a-secret")
    return url.render_as_string(hide_password=False)


@on_both
def test_the_documented_privileges_are_enough(server: PrivateServer, poolsize: Command, cursor: Any) -> None:
    cursor.execute(f"GRANT {', '.join(NEEDED)} ON poolsize.* TO few@'127.0.0.1'")
    assert_swept(poolsize("sweep", "--url", url_of(server), *SHORT))
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    assert cursor.fetchall() == ()


@pytest.mark.parametrize("missing", in_ci(NEEDED, "CREATE", "DELETE"))
def test_a_missing_privilege_is_named(server: PrivateServer, poolsize: Command, cursor: Any, missing: str) -> None:
    granted = [privilege for privilege in NEEDED if privilege != missing]
    cursor.execute(f"GRANT {', '.join(granted)} ON poolsize.* TO few@'127.0.0.1'")
    done = poolsize("sweep", "--url", url_of(server), *SHORT)
    assert done.returncode == 2, done.stderr
    assert missing in done.stderr or (missing == "CREATE" and "GRANT ALL ON poolsize.*" in done.stderr)
    assert done.stderr.count("poolsize: error:") == 1
    cursor.execute("SHOW DATABASES LIKE 'poolsize'")
    assert cursor.fetchall() == ()


def test_an_anonymous_account_that_hides_the_users_own_is_named(
    server: PrivateServer, poolsize: Command, cursor: Any
) -> None:
    cursor.execute("CREATE USER own@'%'")
    cursor.execute("GRANT ALL ON poolsize.* TO own@'%'")
    cursor.execute("CREATE USER ''@'127.0.0.1'")
    try:
        done = poolsize("sweep", "--url", f"mysql://own@127.0.0.1:{database_url(server.url).port}/", *SHORT)
    finally:
        cursor.execute("DROP USER ''@'127.0.0.1', own@'%'")
    assert done.returncode == 2, done.stderr
    assert "this is the server's anonymous account: drop it" in done.stderr


def test_an_unknown_parameter_of_the_url_is_named(server: PrivateServer, poolsize_here: Command) -> None:
    done = poolsize_here("sweep", "--url", f"{server.url}?charsett=utf8mb4", *SHORT)
    assert done.returncode == 2
    assert "--url: a URL has no option charsett: leave it out, or write charset, unix_socket, ssl-mode" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("cursor")
@pytest.mark.parametrize(
    "words", [("recommend", "--cores", "2"), ("config", "--for", "hikaricp", "--size", "4"), ("fleet", "--size", "4")]
)
def test_reading_facts_needs_no_privilege(
    server: PrivateServer, poolsize_here: Command, words: tuple[str, ...]
) -> None:
    done = poolsize_here(*words, "--url", url_of(server))
    assert done.returncode == 0, done.stderr
