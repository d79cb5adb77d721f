"""The service under test: given a pool size, ready, alive, and put back at the end."""

import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import psutil

from poolsize.errors import BadInput, WorkFailed
from poolsize.sweep.application_file import Application
from poolsize.target.application.guarded import Guarded

COMMAND_SECONDS = 300
"""The longest time that `resize`, `settled` and `restore` may take."""
LOOK_SECONDS, ANSWER_SECONDS = 0.1, 5.0
"""Between two looks whether the service is ready, and the longest time that the page may take to answer."""
ONE_CORE = ("python", "node", "ruby", "php")
"""Beginnings of the names of programs that run one thread at a time."""
SHOWN_LINES = 3
"""Last lines of the application's output in an error."""


class Service:
    """The application of a sweep. A context manager: leaving it ends the application, or restores its old size."""

    def __init__(self, application: Application, log: Path) -> None:
        """Start the guard. log: file for the output of the application and of its commands."""
        self._application = application
        self._log = log
        self._guarded = Guarded(application.directory, log)
        self._pool_size: int | None = None
        self._pid: int | None = None
        self._processes: list[psutil.Process] = []

    def set_pool_size(self, pool_size: int) -> float:
        """Let the application run with this pool size, wait until it is ready, and return the seconds that took.

        An application that has this size already goes on. Raises WorkFailed where it does not become ready.
        """
        began = time.monotonic()
        if pool_size == self._pool_size:
            self.require_alive()
            return 0.0
        self._processes = []
        self._pool_size = None
        if self._application.file.start is not None:
            self._start(self._application.file.start, pool_size)
        else:
            self._resize(pool_size)
        self._await_ready()
        self._pool_size = pool_size
        self._processes = self._family()
        return time.monotonic() - began

    def require_alive(self) -> None:
        """Raise WorkFailed where an application that the sweep started has ended by itself."""
        if self._pid is not None and (code := self._guarded.exit_code()) is not None:
            self._pool_size = None
            raise WorkFailed(f"the application ended by itself, with exit code {code}{self._last_lines()}")

    @property
    def counters(self) -> Mapping[str, Callable[[], float | None]]:
        """Counter -> the function that reads it; empty for an application that the sweep does not start."""
        if self._application.file.start is None:
            return {}
        return {"application_cpu": self.cpu_seconds, "application_cores": self.cores}

    def cores(self) -> float | None:
        """Return the number of cores that the application's processes may use; None before it is ready.

        A process of an interpreter that runs one thread at a time uses one core.
        """
        if not self._processes:
            return None
        cores, alone = 0, 0
        for process in self._processes:
            with suppress(psutil.Error, AttributeError):
                if process.name().startswith(ONE_CORE):
                    alone += 1
                else:
                    cores = max(cores, len(process.cpu_affinity()))
        return float(min(cores + alone, psutil.cpu_count() or 1)) or None

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of the application's processes so far; None for an application that runs elsewhere."""
        if not self._processes:
            return None
        seconds = 0.0
        for process in self._processes:
            with suppress(psutil.Error):
                seconds += sum(process.cpu_times()[:2])
        return seconds

    def close(self) -> None:
        """End the application, or put its old size back. Raises WorkFailed where that fails."""
        restore = self._application.file.restore
        try:
            if restore is not None and self._application.file.start is None:
                self._guarded.forget_restore()  # the guard runs the command where this process can't
                self._run("restore", self._application.words(restore, 0))
        finally:
            self._guarded.close()

    def _family(self) -> list[psutil.Process]:
        """Return the application's processes now; empty for an application that the sweep did not start."""
        if self._pid is None:
            return []
        with suppress(psutil.Error):
            leader = psutil.Process(self._pid)
            return [leader, *leader.children(recursive=True)]
        return []

    def _start(self, command: str, pool_size: int) -> None:
        self._pid = None
        self._guarded.end()
        self._require_nothing_answers()
        environment = self._application.environment(pool_size)
        self._pid = self._guarded.start(self._application.words(command, pool_size), environment)

    def _require_nothing_answers(self) -> None:
        """Raise BadInput where another program answers in the application's place."""
        if self._failure() is None:
            raise BadInput(
                f"`application` {self._application.typed}: {self._application.file.ready} answers before the "
                "application was started: end the program that answers there"
            )

    def _resize(self, pool_size: int) -> None:
        file = self._application.file
        assert file.resize is not None
        if file.restore is not None:
            self._guarded.restore_with(self._application.words(file.restore, pool_size), dict(file.environment))
        self._run("resize", self._application.words(file.resize, pool_size), pool_size)
        if file.settled is not None:
            self._run("settled", self._application.words(file.settled, pool_size), pool_size)

    def _run(self, name: str, words: list[str], pool_size: int = 0) -> None:
        """Run a command of the file. Raises WorkFailed for one that fails, or takes too long."""
        environment = os.environ | self._application.environment(pool_size)
        with self._log.open("ab") as log:
            try:
                done = subprocess.run(
                    words, env=environment, cwd=self._application.directory, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, timeout=COMMAND_SECONDS, check=False,
                )  # fmt: skip
            except OSError as error:
                raise WorkFailed(f"{name} can't be run: {words[0]}: {error.strerror}") from None
            except subprocess.TimeoutExpired:
                raise WorkFailed(f"{name} took more than {COMMAND_SECONDS} s: {words[0]}") from None
        if done.returncode:
            raise WorkFailed(f"{name} failed with exit code {done.returncode}{self._last_lines()}")

    def _await_ready(self) -> None:
        file = self._application.file
        deadline = time.monotonic() + file.ready_seconds
        while file.ready is not None and (failure := self._failure()) is not None:
            self.require_alive()
            if time.monotonic() > deadline:
                raise WorkFailed(
                    f"the application was not ready within {file.ready_seconds:g} s: {file.ready}: {failure}"
                    f"{self._last_lines()}"
                )
            time.sleep(LOOK_SECONDS)

    def _failure(self) -> str | None:
        """Return why the page `ready` does not answer as it should, or None."""
        assert self._application.file.ready is not None
        try:
            with urllib.request.urlopen(self._application.file.ready, timeout=ANSWER_SECONDS):  # noqa: S310
                return None  # S310: the file's reader accepts http and https alone
        except urllib.error.HTTPError as error:
            return f"status {error.code}"
        except (OSError, HTTPException) as error:
            return str(getattr(error, "reason", error)) or type(error).__name__

    def _last_lines(self) -> str:
        """Return the last lines of the application's output, after a colon; empty without any."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()][-SHOWN_LINES:]
        return f": {' | '.join(lines)}" if lines else ""
