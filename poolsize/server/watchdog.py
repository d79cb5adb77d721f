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

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from poolsize.server.abandoned import remove, watch

DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
WATCHED_BY_SYSTEM = [sys.executable, "-SsEP", "-c", DIE_WITH_PARENT] if sys.platform == "linux" else []
"""Words before a command: Linux kills it when the watchdog's thread that started it ends (PR_SET_PDEATHSIG)."""
TEMPORARY = "tmp"
"""The server's own folder for temporary tables.

When MariaDB starts, it removes all temporary tables in its folder, also the tables of other servers.
"""


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
        remove(directory)
        watched.close()
        os._exit(0)


def _make(directory: Path, files: Mapping[str, str]) -> IO[str]:
    """Make the directory and its files, which hold passwords, readable by this account only.

    Return the open file that shows that the directory has a watchdog.
    """
    directory.mkdir(mode=0o700)
    watched = watch(directory)
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
                    (directory / "exited").write_text("127")
                    return
                running[:] = [process]
            code = process.wait()
            if code or command is commands[-1]:
                with lock:  # not while the directory is being removed
                    (directory / "exited").write_text(str(code))
                return


if __name__ == "__main__":
    main()
