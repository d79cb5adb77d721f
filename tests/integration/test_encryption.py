"""The encryption of connections (TLS), on servers with certificates, and on one without."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from poolsize import load_run
from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from tests.conftest import MARIADB_IN_CI, Command, assert_swept, mysqld
from tests.servers import administered_server

pytestmark = pytest.mark.server
ELSEWHERE = "127.1"
"""A host that reaches this machine, and that poolsize takes for another."""
SHORT = ("--pool-sizes", "1,2", "--step-time", "1s", "--warm-up", "0", "--workload", "select_one")


@dataclass(frozen=True)
class Encrypted:
    """A server with a certificate for 127.0.0.1. ca, other_ca: files of the authority that signed it, and another."""

    server: PrivateServer
    ca: Path
    other_ca: Path


@pytest.fixture(scope="module", params=MARIADB_IN_CI)
def encrypted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    folder = tmp_path_factory.mktemp("certificates")
    ca, other_ca, certificate, key = (folder / name for name in ("ca.pem", "other.pem", "server.pem", "key.pem"))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(ca)
    trustme.CA().cert_pem.write_to_path(other_ca)
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    options = {"ssl_cert": str(certificate), "ssl_key": str(key)}
    with administered_server(mysqld(request.param), options, 20) as server:
        yield Encrypted(server, ca, other_ca)


@pytest.fixture(scope="module")
def clear() -> Iterator[PrivateServer]:
    """A MariaDB without a certificate."""
    with administered_server(None, {"skip_ssl": "1"}, 20) as server:
        yield server


def url_of(server: PrivateServer, host: str = "127.0.0.1", **query: str) -> str:
    return database_url(server.url).set(host=host, query=query).render_as_string(hide_password=False)


@pytest.mark.parametrize("mode", ["required", "verify-identity"])
def test_connections_are_encrypted_as_asked(poolsize_here: Command, encrypted: Encrypted, mode: str) -> None:
    words = ["--ssl-mode", mode, "--ssl-ca", str(encrypted.ca)]
    done = poolsize_here("recommend", "--cores", "2", "--url", url_of(encrypted.server), *words)
    assert done.returncode == 0, done.stderr
    assert "This connection is encrypted (TLS_" in done.stdout


@pytest.mark.parametrize("mode", ["verify-ca", "verify-identity"])
def test_a_certificate_of_another_authority_is_refused(poolsize_here: Command, encrypted: Encrypted, mode: str) -> None:
    words = ["--ssl-mode", mode, "--ssl-ca", str(encrypted.other_ca)]
    done = poolsize_here("recommend", "--cores", "2", "--url", url_of(encrypted.server), *words)
    assert done.returncode == 2
    assert "the certificate of 127.0.0.1 can't be verified" in done.stderr
    assert "--ssl-ca" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_certificate_of_another_host_is_refused_where_the_identity_counts(
    poolsize_here: Command, encrypted: Encrypted
) -> None:
    url = url_of(encrypted.server, "localhost")
    done = poolsize_here("recommend", "--cores", "2", "--url", url, "--ssl-ca", str(encrypted.ca))
    assert done.returncode == 0, done.stderr
    done = poolsize_here(
        "recommend", "--cores", "2", "--url", url, "--ssl-ca", str(encrypted.ca), "--ssl-mode", "verify-identity"
    )
    assert done.returncode == 2
    assert "not valid for 'localhost'" in done.stderr


def test_a_server_elsewhere_must_encrypt(poolsize_here: Command, clear: PrivateServer) -> None:
    done = poolsize_here("recommend", "--cores", "2", "--url", url_of(clear, ELSEWHERE))
    assert done.returncode == 2
    assert f"--url: {ELSEWHERE} does not encrypt connections" in done.stderr
    assert "--ssl-mode off" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("query", [{}, {"ssl-mode": "off"}, {"ssl_mode": "DISABLED"}])
def test_clear_connections_elsewhere_need_a_word(
    poolsize_here: Command, clear: PrivateServer, query: dict[str, str]
) -> None:
    words = [] if query else ["--ssl-mode", "off"]
    done = poolsize_here("recommend", "--cores", "2", "--url", url_of(clear, ELSEWHERE, **query), *words)
    assert done.returncode == 0, done.stderr
    assert "This connection is not encrypted" in done.stdout


@pytest.mark.parametrize("encrypted", ["mysql"], indirect=True)
def test_a_password_that_the_server_must_see_needs_tls_or_a_socket(
    poolsize_here: Command, encrypted: Encrypted
) -> None:
    """MySQL's server must see it at an account's first login, until it caches the hash; so do MySQL's own clients."""
    url = database_url(encrypted.server.url)
    with connect(url) as connection, connection.cursor() as cursor:
        for account in ("first@'127.0.0.1'", "second@localhost"):
            cursor.execute(f"CREATE USER {account} IDENTIFIED WITH caching_sha2_password BY 'not-a-secret'")
    first = url.set(username="first", password="not-a-secret").render_as_string(hide_password=False)
    refused = poolsize_here("recommend", "--cores", "2", "--url", first, "--ssl-mode", "off")
    assert refused.returncode == 2
    assert "the connection must have TLS (--ssl-mode, --ssl-ca)" in refused.stderr
    assert refused.stderr.count("\n") == 1
    for words in ([], ["--ssl-mode", "off"]):  # the second login finds the hash in the cache
        done = poolsize_here("recommend", "--cores", "2", "--url", first, *words)
        assert done.returncode == 0, done.stderr
    socket = encrypted.server.directory / "socket"
    by_socket = f"mysql://second:not-a-secret@localhost/?unix_socket={socket}"
    done = poolsize_here("recommend", "--cores", "2", "--url", by_socket, "--ssl-mode", "off")
    assert done.returncode == 0, done.stderr


@pytest.mark.experiment
def test_a_resumed_sweep_stays_as_encrypted_as_it_was(poolsize: Command, encrypted: Encrypted, tmp_path: Path) -> None:
    url = url_of(encrypted.server)
    assert_swept(poolsize("sweep", "--url", url, "--ssl-mode", "off", "--output", "a.jsonl", *SHORT))
    run = tmp_path / "a.jsonl"
    run.write_bytes(b"".join(run.read_bytes().splitlines(keepends=True)[:-1]))
    refused = poolsize("sweep", "--resume", "a.jsonl", "--url", url)
    assert refused.returncode == 2
    assert "not encrypted when it began" in refused.stderr
    assert "add --ssl-mode off" in refused.stderr
    assert_swept(poolsize("sweep", "--resume", "a.jsonl", "--url", url, "--ssl-mode", "off"))


def test_every_connection_of_a_sweep_is_encrypted(
    poolsize: Command, poolsize_here: Command, encrypted: Encrypted, tmp_path: Path
) -> None:
    url = database_url(encrypted.server.url)
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER IF NOT EXISTS strict@'127.0.0.1' IDENTIFIED BY 'not-a-secret' REQUIRE SSL")
        cursor.execute("GRANT ALL ON *.* TO strict@'127.0.0.1'")
    strict = url.set(username="strict", password="not-a-secret").render_as_string(hide_password=False)
    refused = poolsize_here("sweep", "--url", strict, "--ssl-mode", "off", *SHORT)
    assert refused.returncode == 2
    assert "refuses strict@127.0.0.1" in refused.stderr or "connecting as strict@127.0.0.1" in refused.stderr
    words = ["--ssl-ca", str(encrypted.ca), "--processes", "2", "--output", "a.jsonl"]
    assert_swept(poolsize("sweep", "--url", strict, *words, *SHORT))
    setting = load_run(tmp_path / "a.jsonl").setting
    assert (setting.ssl_mode, str(setting.cipher)[:4]) == ("verify-ca", "TLS_")
    assert poolsize_here("report", "a.jsonl", "--output", "a.md").returncode == 0
    assert f"{setting.cipher} (ssl-mode verify-ca)" in (tmp_path / "a.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ssl-ca", "missing.pem"], "--ssl-ca missing.pem: No such file or directory"),
        (["--ssl-ca", "empty.pem"], "--ssl-ca empty.pem: it holds no certificate"),
        (["--ssl-mode", "always"], "--ssl-mode always: give off, preferred, required, verify-ca or verify-identity"),
    ],
)
@pytest.mark.parametrize("command", [("recommend", "--cores", "2"), ("sweep", *SHORT)])
def test_what_can_t_be_read_is_named(
    poolsize_here: Command,
    clear: PrivateServer,
    tmp_path: Path,
    command: tuple[str, ...],
    words: list[str],
    message: str,
) -> None:
    (tmp_path / "empty.pem").touch()
    done = poolsize_here(*command, "--url", url_of(clear), *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
