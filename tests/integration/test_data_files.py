"""A private server's files are a copy of those that the server program made once."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.data_files import install
from poolsize.server.private_server import private_server
from tests.conftest import mysqld

MAKES = ["sh", "-c", 'echo made >"$0"/table; echo 1 >"$0"/auto.cnf; echo k >"$0"/server-key.pem']
"""An installer, but for the data directory."""
FAILS = ["sh", "-c", "exit 7"]


def made(folder: Path, name: str, archive: Path, installer: list[str]) -> tuple[int, list[str]]:
    """The exit code of an installation in a new directory, and its files."""
    data = folder / name / "data"
    data.mkdir(parents=True)
    code = install(data, archive, [*installer, str(data)])
    return code, sorted(path.name for path in data.iterdir())


def test_the_installer_runs_once_and_its_identity_and_keys_are_not_shared(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert made(tmp_path, "first", archive, MAKES) == (0, ["auto.cnf", "server-key.pem", "table"])
    assert made(tmp_path, "second", archive, FAILS) == (0, ["table"])
    assert archive.stat().st_mode & 0o777 == 0o600


def test_an_installer_that_fails_leaves_no_archive(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert made(tmp_path, "first", archive, FAILS) == (7, [])
    assert not archive.exists()


def _open_to_others(archive: Path) -> None:
    archive.chmod(0o622)


def _foreign(archive: Path) -> None:
    os.chown(archive, 1, 1)


def _link(archive: Path) -> None:
    archive.rename(archive.with_name("elsewhere"))
    archive.symlink_to(archive.with_name("elsewhere"))


def _fifo(archive: Path) -> None:
    archive.unlink()
    os.mkfifo(archive)


def _torn(archive: Path) -> None:
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])


def _garbage(archive: Path) -> None:
    archive.write_bytes(b"no archive")


@pytest.mark.parametrize("change", [_open_to_others, _foreign, _link, _fifo, _torn, _garbage])
def test_an_archive_that_may_be_of_others_or_is_damaged_is_made_again(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    if change is _foreign and os.geteuid():
        pytest.skip("only root can give a file away")
    archive = tmp_path / "archive"
    made(tmp_path, "first", archive, MAKES)
    change(archive)
    assert made(tmp_path, "second", archive, FAILS) == (7, [])
    assert made(tmp_path, "third", archive, MAKES)[1] == ["auto.cnf", "server-key.pem", "table"]
    assert made(tmp_path, "fourth", archive, FAILS) == (0, ["table"])


def test_a_killed_installer_is_reported_as_by_a_shell(tmp_path: Path) -> None:
    assert made(tmp_path, "first", tmp_path / "archive", ["sh", "-c", "kill -KILL $$"])[0] == 128 + signal.SIGKILL


@pytest.mark.server
@pytest.mark.long
def test_copied_servers_are_two_servers() -> None:
    program, identities = mysqld("mysql"), set()
    with private_server(program, {}, 20) as first, private_server(program, {}, 20) as second:
        for server in (first, second):
            with connect(database_url(server.url)) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT @@server_uuid")
                identities.add(cursor.fetchone()[0])
    assert len(identities) == 2
