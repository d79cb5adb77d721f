"""The guard process from its parent's side: requests and replies through pipes."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from poolsize.errors import BadInput, WorkFailed
from poolsize.files import why_missing
from poolsize.sweep.secret import VARIABLE

Command = tuple[list[str], dict[str, str]]
"""The words of a command, and the variables that are added to its environment."""


class Guarded:
    """An application in the care of a guard process (see guard), which cleans up however this process ends."""

    def __init__(self, directory: Path, log: Path) -> None:
        """Start the guard. directory: where the application and its commands run. log: file for their output.

        Raises BadInput for a log that is a link or no regular file, as it may come with a run of somebody else.
        """
        if log.is_symlink():
            raise BadInput(f"{log} is a link, and the application's output would go where it leads: move it away")
        if log.exists() and (why := why_missing(log)):
            raise BadInput(f"{log} is for the application's output, and {why}: move it away")
        self._place = {"directory": str(directory), "log": str(log.absolute())}
        self._guard = subprocess.Popen(
            [sys.executable, "-P", "-m", "poolsize.server.application.guard"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != VARIABLE},  # it is not a worker
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """The number of the guard's process, whose descendants are the application's processes."""
        return self._guard.pid

    def start(self, command: Command) -> None:
        """Start the application. Raises WorkFailed for a program that can't be run."""
        self._ask({"start": self._request(command)})

    def exit_code(self) -> int | None:
        """Return the exit code of an application that has ended by itself; None while it runs."""
        code: int | None = self._ask({"poll": True})["code"]
        return code

    def end(self) -> None:
        """End the application, with every process that it started."""
        self._ask({"end": True})

    def run(self, command: Command, seconds: float, restore: Command | None = None) -> int | None:
        """Run a command, and return its exit code; None where it took longer than the seconds.

        restore: the command that the guard runs when it is closed, or when this process ends; None for no such command.
        """
        due = self._request(restore) if restore else None
        code: int | None = self._ask({"run": self._request(command), "seconds": seconds, "restore": due})["code"]
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

    def _request(self, command: Command) -> dict[str, Any]:
        words, environment = command
        return {"words": words, "environment": environment} | self._place

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
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
