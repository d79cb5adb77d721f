"""A temporary MariaDB or MySQL server on this machine, which ends with the process that started it."""

import json
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path

import pymysql

from poolsize.errors import BadInput, WorkFailed
from poolsize.server.bounded import HANDSHAKE, BoundedConnection
from poolsize.server.data_files import archive_of
from poolsize.server.processes import SERVER_PROGRAMS, killed_by, oom_kills
from poolsize.server.watchdog import TEMPORARY, clear, clear_abandoned
from poolsize.sweep.readers import OWN_SCHEMA, read, server_variable

ON_DISK = Path("/var/tmp")  # noqa: S108 (on a disk, unlike /tmp at times; the directory made in it is private)
START_SECONDS = 120
"""The longest time to wait until the server answers."""
DIRECTORY_BEGINS = "poolsize-"
PORTS = range(20_000, 32_768)
"""Where a free port is looked for: Linux and macOS give clients' connections only higher ports, by default."""
USUAL_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin", "/usr/local/mysql/bin")
ACCOUNT = "poolsize"

logger = logging.getLogger("poolsize")


@dataclass(frozen=True)
class PrivateServer:
    """A running private server.

    url: with its random password, for this process and its children only. pid: of the server's process.
    directory: of the server's files; it is removed when the server ends. oom_kills: of this machine at its start.
    """

    url: str
    pid: int
    directory: Path
    oom_kills: int

    def reason_of_end(self) -> str | None:
        """Return why the server ended by itself: by a signal, or as its log says; None while it runs."""
        code = _exit_code(self.directory)
        if code == -signal.SIGKILL:
            return killed_by(code, self.oom_kills)
        return None if code is None else _error_in(self.directory, last=True)


@contextmanager
def private_server(
    mysqld: Path | None, options: Mapping[str, str], max_connections: int, password: str | None = None
) -> Iterator[PrivateServer]:
    """Start a private server; it ends with the block, or with this process, however the process ends.

    mysqld: the server program, or None to search for it. options: server variables beside poolsize's own settings.
    max_connections: connections that the server must admit, unless `options` has another limit. password: of its
    account, or None for a new password. The account has the privileges that a sweep needs on a server of the user's,
    and PROCESS. It can't reach files, and neither can its statements.
    Raises BadInput when there is no server program, or the server does not start with these options; WorkFailed when
    the server does not answer.
    """
    options = dict(read("server_options", "=".join(each), server_variable) for each in options.items())
    program = mysqld or find_mysqld()
    version = server_version(program)
    clear_abandoned(ON_DISK, DIRECTORY_BEGINS)
    directory = ON_DISK / f"{DIRECTORY_BEGINS}{secrets.token_hex(8)}"
    password, port = password or secrets.token_urlsafe(24), free_port()
    settings = _settings(directory, port, max_connections, mariadb="MariaDB" in version) | options
    accounts = (
        f"CREATE USER '{ACCOUNT}'@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        f"GRANT PROCESS ON *.* TO '{ACCOUNT}'@'127.0.0.1';\n"
        f"GRANT ALL ON {OWN_SCHEMA}.* TO '{ACCOUNT}'@'127.0.0.1';\n"
    )
    kills = oom_kills()
    watchdog = _start_watchdog(
        directory=str(directory),
        files={"accounts.sql": accounts},
        commands=[_data_command(program, version, directory), _command(program, settings)],
    )

    def clear_after_kill() -> None:
        if watchdog.wait():
            logger.warning("the process that watches the private server was killed: the server ends, too")
            clear(directory)

    clearing = threading.Thread(target=clear_after_kill, daemon=True)
    clearing.start()
    try:
        pid = _wait_until_up(directory, port, password, watchdog, kills)
        url = f"mysql+pymysql://{ACCOUNT}:{password}@127.0.0.1:{port}/"
        yield PrivateServer(url, pid, directory, kills)
    finally:
        assert watchdog.stdin is not None
        with suppress(BrokenPipeError):
            watchdog.stdin.close()
        clearing.join()


def find_mysqld() -> Path:
    """Return the path of this machine's server program. Raises BadInput, with the packages to install, without any."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *USUAL_PLACES])
    for name in SERVER_PROGRAMS:
        if program := shutil.which(name, path=path):
            return Path(program)
    raise BadInput(
        "no mariadbd or mysqld on this machine: install one (Debian and Ubuntu: apt-get install mariadb-server; "
        "macOS: brew install mariadb), name it with `mysqld` PATH, or give your server's `url`"
    )


def server_version(program: Path) -> str:
    """Return what a server program says of its version. Raises BadInput where it can't be run."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise BadInput(f"`mysqld` {program} can't be run: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        raise BadInput(f"`mysqld` {program} is not a database server: {error.stderr.strip()}") from None


def _settings(directory: Path, port: int, max_connections: int, *, mariadb: bool) -> dict[str, str]:
    settings = {
        "datadir": str(directory / "data"),
        "socket": str(directory / "socket"),
        "pid_file": str(directory / "pid"),
        "init_file": str(directory / "accounts.sql"),
        "bind_address": "127.0.0.1",
        "port": str(port),
        "skip_name_resolve": "ON",
        "max_connections": str(max_connections),
        "innodb_flush_log_at_trx_commit": "1",
        "local_infile": "OFF",
    }
    if mariadb:
        return settings | {"secure_file_priv": str(directory / TEMPORARY)}
    return settings | {"secure_file_priv": "NULL", "mysqlx": "OFF"}


def _installer(program: Path) -> str:
    """Return MariaDB's script that makes a data directory, near the program or on the PATH. Raises BadInput."""
    near = [program.resolve().parent, program.resolve().parent.parent]
    folders = [*(str(folder / part) for folder in near for part in ("", "bin", "scripts")), os.environ.get("PATH", "")]
    for name in ("mariadb-install-db", "mysql_install_db"):
        if script := shutil.which(name, path=os.pathsep.join(folders)):
            return script
    raise BadInput(f"{program} has no mariadb-install-db beside it or on the PATH: install the whole MariaDB server")


def _data_command(program: Path, version: str, directory: Path) -> list[str]:
    """Return the command that fills the data directory: from a copy; without one, by MariaDB's installer or by MySQL.

    No other account can connect as root. MariaDB's root may use only the socket, whose directory is closed to others.
    MySQL's root may connect only from localhost, which matches no address with skip_name_resolve.
    The installer needs its option force on a host whose own name can't be looked up; this server never looks it up.
    Raises BadInput without an installer.
    """
    path = Path(shutil.which(program) or program).resolve()
    archive = archive_of(f"{path}\0{path.stat().st_mtime_ns}\0{version}", ON_DISK)
    data = directory / "data"
    if "MariaDB" in version:
        without_others = ("--force", "--skip-test-db", "--auth-root-authentication-method=socket")
        install = [_installer(program), "--no-defaults", *without_others]
    else:
        install = [str(program), "--no-defaults", "--initialize-insecure"]
    copying = [sys.executable, "-P", "-m", "poolsize.server.data_files", str(data), str(archive)]
    return [*copying, *install, f"--datadir={data}", *_as_root()]


def _command(program: Path, settings: Mapping[str, str]) -> list[str]:
    return [
        str(program), "--no-defaults", *_as_root(), *(f"--{name}={value}" for name, value in settings.items())
    ]  # fmt: skip


def _as_root() -> list[str]:
    """Return the option without which servers refuse to run as root. Root is safe here, on loopback only."""
    return ["--user=root"] if os.geteuid() == 0 else []


def _start_watchdog(**request: object) -> "subprocess.Popen[bytes]":
    watchdog = subprocess.Popen(
        [sys.executable, "-P", "-m", "poolsize.server.watchdog"], stdin=subprocess.PIPE, start_new_session=True
    )
    assert watchdog.stdin is not None
    with suppress(BrokenPipeError):  # killed before it could read: the wait for the server names the signal
        watchdog.stdin.write(json.dumps(request).encode() + b"\n")
        watchdog.stdin.flush()
    return watchdog


def _wait_until_up(
    directory: Path, port: int, password: str, watchdog: "subprocess.Popen[bytes]", oom_kills_before: int
) -> int:
    """Wait until the server answers, and return its process id.

    Raises BadInput when the server ends by itself, WorkFailed when it is killed, or does not answer within
    START_SECONDS.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (code := watchdog.poll()) is not None:
            if cause := killed_by(code, oom_kills_before):
                raise WorkFailed(f"the process that watches the private server was {cause}")
            raise WorkFailed(f"the private server's files can't be made in {ON_DISK}")
        if (code := _exit_code(directory)) is not None:
            if cause := killed_by(code, oom_kills_before):
                raise WorkFailed(f"the private server was {cause} as it started")
            raise BadInput(f"the private server did not start: {_error_in(directory)}")
        with suppress(pymysql.MySQLError, OSError, ValueError):
            pid = int((directory / "pid").read_text())  # first: another program may have taken the port
            BoundedConnection(bounds=HANDSHAKE, host="127.0.0.1", port=port, user=ACCOUNT, password=password).close()
            return pid
        time.sleep(0.05)
    raise WorkFailed(f"the private server did not answer within {START_SECONDS} s: {_error_in(directory)}")


def _exit_code(directory: Path) -> int | None:
    """Return the exit code of the server, or of the program that makes its data; None as long as they work."""
    with suppress(OSError, ValueError):  # not there, or not yet written
        return int((directory / "exited").read_text())
    return None


def _error_in(directory: Path, *, last: bool = False) -> str:
    """Return the first error in the server's log, or the log's last line; with words for the number of a full disk.

    MariaDB's last line, "Aborting", is left out, because it names no cause. The line before it does, but is not always
    marked as an error. last: take the last error, as of a server that ran, whose earlier errors may have other causes.
    """
    log = directory / "log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    lines = [line.strip() for line in lines if line.strip() and not line.endswith("[ERROR] Aborting")]
    errors = [line for line in lines if re.search(r"\[ERROR\]|FATAL ERROR|\bERROR:", line)]
    if last:
        errors = [line for line in errors if "got signal" not in line][-1:] or errors[-1:]
    error = (errors or lines[-1:] or ["its log is empty"])[0]
    is_full = re.search(rf"\berr(or|no|code)\W*{ENOSPC}\b", error, re.IGNORECASE) and "space" not in error
    return f"{error} ({os.strerror(ENOSPC)})" if is_full else error


def free_port() -> int:
    """Return a port on loopback that is free at this moment. Raises WorkFailed if 100 random ports are not."""
    for _ in range(100):
        port = secrets.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise WorkFailed(f"no port of 127.0.0.1 from {PORTS.start} to {PORTS.stop - 1} can be used")
