"""Starts and ends an application for a parent process, runs its commands, and outlives the parent to clean up.

The parent starts ``python -m poolsize.server.application.guard`` with pipes as standard input and output. Each line of
input is a JSON object, a request, and gets a line of output, the reply:

    {"start": COMMAND}      start the application                             ->  {}
    {"poll": true}          has it ended by itself?                           ->  {"code": exit code or null}
    {"end": true}           end it, with every process that it started        ->  {}
    {"run": COMMAND, "seconds": number, "restore": COMMAND or null}
                            run a command; from now on, the restore command   ->  {"code": exit code, null for too long}
                            is due at the end

A COMMAND is {"words": [...], "environment": {...}, "directory": ..., "log": ...}. A program that can't be run has the
reply {"error": reason}. However the parent ends, kill -9 included, the operating system closes the pipe. The guard then
ends what runs, the application or a command, with every process of it, and runs the restore command if it is due. Its
exit code is 1 if that command failed, else 0.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import psutil

from poolsize.server.watchdog import outlive_signals

TERM_SECONDS, KILL_SECONDS = 8.0, 5.0
"""How long processes may take to end after SIGTERM, and after SIGKILL."""
RESTORE_SECONDS = 300.0
"""How long the restore command may take after the parent's end."""
LOOK_SECONDS = 0.02
SET_CHILD_SUBREAPER = 36
"""Of Linux's prctl: orphans of this process become its children, so that it sees and reaps them."""

Command = Mapping[str, Any]
Process = subprocess.Popen[bytes]


class Guard:
    """The application, if it runs, and the command that restores it, if that is due."""

    def __init__(self) -> None:
        """Guard nothing yet."""
        self._requests: SimpleQueue[bytes] = SimpleQueue()
        self._application: Process | None = None
        self._restore: Command | None = None
        self._parent_is_gone = False

    def serve(self) -> bool:
        """Answer requests until standard input closes, then clean up; return whether that succeeded."""
        threading.Thread(target=self._read, daemon=True).start()
        while line := self._requests.get():
            reply = self._answer(json.loads(line))
            with suppress(BrokenPipeError):
                sys.stdout.write(json.dumps(reply) + "\n")
                sys.stdout.flush()
        _end_children()
        return self._restored()

    def _restored(self) -> bool:
        """Run the restore command if it is due, and return whether it succeeded."""
        if self._restore is None:
            return True
        try:
            code = _wait(_popen(self._restore), RESTORE_SECONDS, lambda: False)
        except OSError:
            return False
        _end_children()
        return code == 0

    def _read(self) -> None:
        """Put every request into the queue, and an empty one at the parent's end."""
        for line in sys.stdin.buffer:
            self._requests.put(line)
        self._parent_is_gone = True
        self._requests.put(b"")

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if "start" in request:
                self._application = _popen(request["start"])
                return {}
            if "run" in request:
                return {"code": self._run(request["run"], request["seconds"], request["restore"])}
        except OSError as error:
            return {"error": f"{error.filename}: {error.strerror}"}
        if "end" in request:
            self._application = None
            _end_children()
            return {}
        return {"code": self._application.poll() if self._application else None}

    def _run(self, command: Command, seconds: float, restore: Command | None) -> int | None:
        """Run a command, and return its exit code; None where it takes longer, or the parent ends meanwhile."""
        if restore is not None:
            self._restore = restore
        process = _popen(command)
        code = _wait(process, seconds, lambda: self._parent_is_gone)
        if code is None:
            _end_children()
        return code


def _popen(command: Command) -> Process:
    with _log(command["log"]) as log:
        return subprocess.Popen(
            command["words"], env=os.environ | command["environment"], cwd=command["directory"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


WITHOUT_LINKS = os.O_NOFOLLOW | os.O_NONBLOCK
"""The output goes into a file of this name, and not where a link leads; nothing waits for the reader of a FIFO."""


def _log(path: str) -> IO[bytes]:
    """Return the file for the output; where it can't be had, output is lost, and no command that restores is."""
    try:
        return open(path, "ab", opener=lambda path, flags: os.open(path, flags | WITHOUT_LINKS, 0o600))
    except OSError:
        return Path(os.devnull).open("ab")


def _wait(process: Process, seconds: float, is_over: Callable[[], bool]) -> int | None:
    """Return the exit code of a process; None if it takes longer, or if is_over() becomes true meanwhile."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > deadline or is_over():
            return None
        time.sleep(LOOK_SECONDS)
    return process.returncode


def _end_children() -> None:
    """End every process that was started from here, in whatever session or group it is now."""
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        deadline = time.monotonic() + seconds
        for process in _children():
            with suppress(psutil.Error):
                process.send_signal(number)
        while _children() and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)


def _children() -> list[psutil.Process]:
    """Return the running processes below this one, after reaping those that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    return [process for process in psutil.Process().children(recursive=True) if _is_running(process)]


def _is_running(process: psutil.Process) -> bool:
    """Return whether a process has a running thread: its first thread may end, a zombie, long before the others."""
    with suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    return False


def main() -> None:
    """Adopt orphans where the system allows it, and serve."""
    outlive_signals()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
    sys.exit(not Guard().serve())


if __name__ == "__main__":
    main()
