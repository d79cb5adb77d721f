"""Starts and ends an application for a parent process, and outlives the parent to clean up.

The parent starts ``python -m poolsize.target.application.guard`` with pipes as standard input and output. Each line of
input is a JSON object, a request, and gets a line of output, the reply:

    {"start": [word, ...], "environment": {...}, "directory": ..., "log": ...}   ->  {"pid": number}
    {"poll": true}                                                               ->  {"code": exit code or null}
    {"end": true}                                                                ->  {"code": exit code or null}
    {"restore": [word, ...], "environment": {...}, "directory": ..., "log": ...} ->  {}
    {"forget": true}, the restore command                                        ->  {}

A failed start has the reply {"error": reason}. However the parent ends, kill -9 included, the operating system closes
the pipe. The guard then ends the application, with every process of its group, and runs the restore command.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

TERM_SECONDS = 10.0
"""How long the application may take to end after SIGTERM, before SIGKILL."""
LOOK_SECONDS = 0.02


class Guard:
    """The application, if it runs, and the command that restores it, if there is one."""

    def __init__(self) -> None:
        """Guard nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._restore: Mapping[str, Any] | None = None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a request, and return its reply."""
        if "start" in request:
            return self._start(request)
        if "restore" in request:
            self._restore = request
        if "forget" in request:
            self._restore = None
        if "end" in request:
            return {"code": self.end()}
        if "poll" in request:
            return {"code": self._process.poll() if self._process else None}
        return {}

    def end(self) -> int | None:
        """End every process of the application's group, and return its exit code; None if it does not run."""
        process, self._process = self._process, None
        if process is None:
            return None
        _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + TERM_SECONDS
        while _group_is_alive(process) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        _signal_group(process, signal.SIGKILL)
        while _group_is_alive(process):
            time.sleep(LOOK_SECONDS)
        return process.wait()

    def clean_up(self) -> None:
        """End the application, and run the restore command."""
        self.end()
        if self._restore is not None:
            with suppress(OSError):
                _popen(self._restore, self._restore["restore"]).wait()

    def _start(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._process = _popen(request, request["start"])
        except OSError as error:
            return {"error": f"{request['start'][0]}: {error.strerror}"}
        return {"pid": self._process.pid}


def _popen(request: Mapping[str, Any], words: list[str]) -> "subprocess.Popen[bytes]":
    with Path(request["log"]).open("ab") as log:
        return subprocess.Popen(
            words, env=os.environ | request["environment"], cwd=request["directory"], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _group_is_alive(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether any process of the group is left; the leader counts until it was waited for."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """Answer requests until standard input closes, then clean up.

    Signals are caught, not ignored: a program started from here would inherit an ignored signal.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    guard = Guard()
    with suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            sys.stdout.write(json.dumps(guard.answer(json.loads(line))) + "\n")
            sys.stdout.flush()
    guard.clean_up()


if __name__ == "__main__":
    main()
