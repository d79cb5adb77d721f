"""The guard process from its parent's side: requests and replies through pipes."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from poolsize.errors import WorkFailed


class Guarded:
    """An application in the care of a guard process (see guard), which cleans up however this process ends."""

    def __init__(self, directory: Path, log: Path) -> None:
        """Start the guard. directory: where the application's commands run. log: file for their output."""
        self._place = {"directory": str(directory), "log": str(log.resolve())}
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "poolsize.target.application.guard"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def start(self, words: list[str], environment: dict[str, str]) -> int:
        """Start the application, and return its process number. Raises WorkFailed for a program that can't be run."""
        reply = self._ask({"start": words, "environment": environment} | self._place)
        if "error" in reply:
            raise WorkFailed(f"the application can't be started: {reply['error']}")
        return int(reply["pid"])

    def exit_code(self) -> int | None:
        """Return the exit code of an application that has ended by itself; None while it runs."""
        code: int | None = self._ask({"poll": True})["code"]
        return code

    def end(self) -> None:
        """End the application, with every process of its group."""
        self._ask({"end": True})

    def restore_with(self, words: list[str], environment: dict[str, str]) -> None:
        """Let the guard run this command when this process ends."""
        self._ask({"restore": words, "environment": environment} | self._place)

    def forget_restore(self) -> None:
        """Let the guard run no command at the end, because the old size is back."""
        self._ask({"forget": True})

    def close(self) -> None:
        """End the application, and wait until the guard has cleaned up."""
        assert self._guard.stdin is not None
        with suppress(BrokenPipeError):
            self._guard.stdin.close()
        self._guard.wait()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
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
        return reply
