"""Runs a server for a parent process and ends it, and its files, as soon as the parent is gone.

The parent starts ``python -m poolsize.server.watchdog`` with a pipe as standard input. The first line in the pipe is a
JSON object {"directory": ..., "files": {name: text}, "commands": [[...], ...]}. The watchdog makes the directory with
these files and empty directories for data and temporary tables. Then it runs the commands in order, each in a session
of its own. The last command is the server. The parent keeps the pipe open as long as it needs the server. However the
parent ends, kill -9 included, the operating system closes the pipe. The watchdog then kills the running command and
removes the directory. This needs no signal, and works beyond Linux.

A command that fails or a server that ends by itself leaves its exit code in DIRECTORY/exited.

The watchdog itself may be killed. On Linux, the server is killed then, too; the parent removes the directory, or, if it
is gone as well, the next parent does: the directory is abandoned if nothing holds the lock on DIRECTORY/watched.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import IO

import psutil

DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
NOT_STARTED = 127
"""Exit code of a program that can't be started, as shells have it."""
WATCHED_BY_SYSTEM = [sys.executable, "-SsEP", "-c", DIE_WITH_PARENT] if sys.platform == "linux" else []
"""Words before a command: Linux kills it when the watchdog's thread that started it ends (PR_SET_PDEATHSIG)."""
TEMPORARY = "tmp"
"""The server's own folder for temporary tables.

When MariaDB starts, it removes all temporary tables in its folder, also the tables of other servers.
"""
WATCHED = "watched"
"""The file in a server's directory that its watchdog holds locked; the system gives the lock up when it dies."""
REMOVAL_SECONDS = 30
MAKING_SECONDS = 60
"""A watchdog makes its directory's file sooner, however busy the machine is."""


def clear_abandoned(parent: Path, beginning: str) -> None:
    """End the servers of this account that nobody watches, and remove their directories.

    The directories are those in parent whose names begin so.
    """
    for directory in parent.glob(f"{beginning}*"):
        with suppress(OSError):
            status = directory.lstat()
            if S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not _is_watched(directory):
                clear(directory)


def clear(directory: Path) -> None:
    """End what runs in the directory, and remove it."""
    data = f"--datadir={directory / 'data'}"
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # psutil lets a vanished file of /proc pass as it is
            if data in process.cmdline():
                process.kill()
    _remove(directory)


def _remove(directory: Path) -> None:
    """Remove a directory, repeatedly while killed processes still write to it.

    The file that tells whether it is watched goes last: a removal that is killed leaves an abandoned directory.
    """
    deadline = time.monotonic() + REMOVAL_SECONDS
    while directory.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            others = [path for path in directory.iterdir() if path.name != WATCHED]
            for path in others:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            if not others:
                (directory / WATCHED).unlink(missing_ok=True)
                directory.rmdir()
        time.sleep(0.05)


def _is_watched(directory: Path) -> bool:
    """Return whether a watchdog holds the directory's file, or has just made the directory. Raises OSError."""
    if not (directory / WATCHED).exists():
        return time.time() - directory.stat().st_mtime < MAKING_SECONDS
    with (directory / WATCHED).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def outlive_signals() -> None:
    """Let no signal of a terminal or a shell end this process.

    Signals are caught, not ignored: a program started from here would inherit an ignored signal, also one that the
    parent ignores.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)


def main() -> None:
    """Carry out the request on standard input until it closes."""
    outlive_signals()
    request = json.loads(sys.stdin.buffer.readline() or b"null")
    if request is None:
        return  # the parent ended before it could ask for anything
    directory = Path(request["directory"])
    watched = _make(directory, request["files"])
    running: list[subprocess.Popen[bytes]] = []
    lock = threading.Lock()
    threading.Thread(target=_run, args=(request["commands"], directory, running, lock), daemon=True).start()
    sys.stdin.buffer.read()
    with lock:  # no further command starts from here on
        for process in running:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        _remove(directory)
        watched.close()
        os._exit(0)


def _make(directory: Path, files: Mapping[str, str]) -> IO[str]:
    """Make the directory and its files, which hold passwords, readable by this account only.

    Return the open file that shows that the directory has a watchdog.
    """
    directory.mkdir(mode=0o700)
    making = directory / "watching"  # so that nobody sees the file before it is locked
    watched = making.open("w")
    fcntl.flock(watched, fcntl.LOCK_EX | fcntl.LOCK_NB)
    making.rename(directory / WATCHED)
    (directory / "data").mkdir(mode=0o700)
    (directory / TEMPORARY).mkdir(mode=0o700)
    for name, text in files.items():
        path = directory / name
        path.touch(mode=0o600)
        path.write_text(text)
    return watched


def _run(
    commands: list[list[str]], directory: Path, running: list[subprocess.Popen[bytes]], lock: threading.Lock
) -> None:
    """Run the commands in order; `running` holds the process of the current command."""
    environment = os.environ | {"TMPDIR": str(directory / TEMPORARY)}
    with (directory / "log").open("ab", buffering=0) as log:
        for command in commands:
            with lock:
                try:
                    process = subprocess.Popen(
                        [*WATCHED_BY_SYSTEM, *command], env=environment,
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                    )  # fmt: skip
                except OSError as error:
                    log.write(f"[ERROR] {command[0]}: {error.strerror}\n".encode())
                    code = NOT_STARTED
                    break
                running[:] = [process]
            if code := process.wait():
                break
    with lock:  # not while the directory is being removed
        (directory / "exited").write_text(str(code))


if __name__ == "__main__":
    main()
