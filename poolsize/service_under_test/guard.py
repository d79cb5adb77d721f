"""Starts and ends an application for a parent process, runs its commands, and outlives the parent to clean up.

The parent, a Guarded, starts ``python -m poolsize.service_under_test.guard DIRECTORY LOG`` with pipes as standard
input and output. Each line of input is a JSON object, the request of a method of Guarded, and gets a line of output,
the reply. A command in it is [words, variables]; it runs in the directory, and its output goes to the log. However the
parent ends, kill -9 included, the operating system closes the pipe. The guard then ends what runs, the application or
a command, with every process of it, and runs the restore command if it is due. Its exit code is 1 if that command
failed, else 0.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import psutil

from poolsize.errors import BadInput, WorkFailed
from poolsize.files import why_missing
from poolsize.server.watchdog import outlive_signals
from poolsize.sweep.secret import VARIABLE

TERM_SECONDS, KILL_SECONDS = 8.0, 5.0
"""How long processes may take to end after SIGTERM, and after SIGKILL."""
RESTORE_SECONDS = 300.0
"""How long the restore command may take after the parent's end."""
LOOK_SECONDS = 0.02
SET_CHILD_SUBREAPER = 36
"""Of Linux's prctl: orphans of this process become its children, so that it sees and reaps them."""
WITHOUT_LINKS = os.O_NOFOLLOW | os.O_NONBLOCK
"""The output goes into a file of this name, and not where a link leads; nothing waits for the reader of a FIFO."""

Command = tuple[list[str], dict[str, str]]
"""The words of a command, and the variables that are added to its environment."""
Process = subprocess.Popen[bytes]


class Guarded:
    """An application in the care of a guard process, which cleans up however this process ends."""

    def __init__(self, directory: Path, log: Path) -> None:
        """Start the guard. directory: where the application and its commands run. log: file for their output.

        Raises BadInput for a log that is a link or no regular file, as it may come with a run of somebody else.
        """
        if log.is_symlink():
            raise BadInput(f"{log} is a link, and the application's output would go where it leads: move it away")
        if log.exists() and (why := why_missing(log)):
            raise BadInput(f"{log} is for the application's output, and {why}: move it away")
        self._guard = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(directory), str(log.absolute())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != VARIABLE},  # it is not a worker
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """The number of the guard's process, whose descendants are the application's processes."""
        return self._guard.pid

    def start(self, command: Command) -> None:
        """Start the application. Raises WorkFailed for a program that can't be run."""
        self._ask({"start": command})

    def exit_code(self) -> int | None:
        """Return the exit code of an application that has ended by itself; None while it runs."""
        code: int | None = self._ask({"poll": True})["code"]
        return code

    def end(self) -> None:
        """End the application, with every process that it started."""
        self._ask({"end": True})

    def run(self, command: Command, seconds: float, restore: Command | None) -> int | None:
        """Run a command, and return its exit code; None where it took longer than the seconds.

        restore: the command that the guard runs when it is closed, or when this process ends; None for no such command.
        """
        code: int | None = self._ask({"run": command, "seconds": seconds, "restore": restore})["code"]
        return code

    def close(self, seconds: float | None = None) -> bool:
        """Let the guard clean up, wait for it, and return whether a restore command that was due succeeded.

        seconds: the longest wait; a guard that takes longer goes on by itself, and the result is True.
        """
        assert self._guard.stdin is not None
        with suppress(BrokenPipeError):
            self._guard.stdin.close()
        try:
            return self._guard.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return True

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request. Raises WorkFailed for a program that can't be run, and without a guard."""
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        line = b""
        with suppress(BrokenPipeError):
            self._guard.stdin.write(json.dumps(request).encode() + b"\n")
            self._guard.stdin.flush()
            line = self._guard.stdout.readline()
        if not line:
            raise WorkFailed("the process that guards the application is gone")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise WorkFailed(f"can't be run: {reply['error']}")
        return reply


class Guard:
    """The guard process: the application, if it runs, and the command that restores it, if that is due."""

    def __init__(self, directory: str, log: str) -> None:
        """Guard nothing yet. directory, log: as in Guarded."""
        self._directory = directory
        self._log = log
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
        if self._restore is None:
            return True
        with suppress(OSError):
            return self._run(self._restore, RESTORE_SECONDS, is_last=True) == 0
        return False

    def _read(self) -> None:
        """Put every request into the queue, and an empty one at the parent's end."""
        for line in sys.stdin.buffer:
            self._requests.put(line)
        self._parent_is_gone = True
        self._requests.put(b"")

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if "start" in request:
                self._application = self._popen(request["start"])
                return {}
            if "run" in request:
                self._restore = request["restore"] or self._restore
                return {"code": self._run(request["run"], request["seconds"])}
        except OSError as error:
            return {"error": f"{error.filename}: {error.strerror}"}
        if "end" in request:
            self._application = None
            _end_children()
            return {}
        return {"code": self._application.poll() if self._application else None}

    def _run(self, command: Command, seconds: float, *, is_last: bool = False) -> int | None:
        """Return the exit code of a command; None where it takes longer, or the parent ends meanwhile.

        is_last: whether the parent is gone, and every process of the command ends with it.
        """
        process, deadline = self._popen(command), time.monotonic() + seconds
        while process.poll() is None and time.monotonic() <= deadline and (is_last or not self._parent_is_gone):
            time.sleep(LOOK_SECONDS)
        code = process.returncode
        if is_last or code is None:
            _end_children()
        return code

    def _popen(self, command: Command) -> Process:
        words, variables = command
        with self._opened_log() as log:
            return subprocess.Popen(
                words, env=os.environ | variables, cwd=self._directory,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _opened_log(self) -> IO[bytes]:
        """Return the log; where it can't be had, output is lost, and no command that restores is."""
        try:
            return open(self._log, "ab", opener=lambda path, flags: os.open(path, flags | WITHOUT_LINKS, 0o600))
        except OSError:
            return Path(os.devnull).open("ab")


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


if __name__ == "__main__":
    outlive_signals()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
    sys.exit(not Guard(*sys.argv[1:]).serve())
