"""The application under test: given a pool size, ready, alive, and put back at the end."""

import time
from pathlib import Path

from poolsize.errors import BadInput, WorkFailed
from poolsize.files import opened
from poolsize.service_under_test.counters import ProcessFamily, pool_metrics
from poolsize.service_under_test.description import PLACEHOLDER, DescribedService
from poolsize.service_under_test.guard import Guarded
from poolsize.web_page import read_page

COMMAND_SECONDS = 300.0
"""The longest time that `resize` and `settled` may take, and after them the metrics to show the new size."""
LOOK_SECONDS, ANSWER_SECONDS = 0.1, 5.0
"""Between two looks whether the service is ready, and the longest time that its pages may take to answer."""
METRICS_SECONDS = 0.5
"""The longest time that the metrics page may take in a step: a late page must not delay other counters."""
LATE_SECONDS = 2.0
"""How long the metrics may come later than `ready`, and a dying application may close its sockets before it ends."""
STARTING_SECONDS, IDLE_SECONDS, IDLE_CORES = 30.0, 0.5, 0.1
"""How long processes may still start after the first is ready; they are ready when they use less than so many cores
together, for so many seconds."""
COLD_JVM = (
    "start: a JVM compiles its code anew after each start, and is slow until then; it stays warm with `resize` in "
    "place of `start`"
)
SHOWN_LINES, SHOWN_BYTES = 3, 8_192
"""Last lines of the application's output in an error, and how much of the output is read for them."""


class RunningService:
    """The application of a sweep. `close` ends an application that was started, or restores the size of before."""

    def __init__(self, described: DescribedService, log: Path) -> None:
        self._described = described
        self._ready, self._metrics = described.file.page("ready"), described.file.page("metrics")
        self._log = log
        self._guarded = Guarded(described.directory, log)
        self._pool_size: int | None = None
        self._is_started = False
        self._family = ProcessFamily(None)
        self._unusable: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on a JVM that is started for each size, and on a metrics page with values that no pool can have."""
        notes = (COLD_JVM,) if self._described.starts_jvm else ()
        if self._metrics is None or self._unusable is None:
            return notes
        unusable = f"{self._unusable}: values that no pool can have are not recorded"
        return (*notes, f"metrics {self._metrics.shown}: {unusable}")

    def set_pool_size(self, pool_size: int) -> float:
        """Let the application run with this pool size, wait until it is ready, and return the seconds that took.

        An application that has this size already goes on. Raises WorkFailed where it does not become ready.
        """
        began = time.monotonic()
        if pool_size == self._pool_size:
            self.require_alive()
            self._family = self._new_family()
            return 0.0
        self._pool_size = None
        if self._described.file.start is not None:
            self._start(pool_size)
        else:
            self._run("resize", pool_size)
            self._run("settled", pool_size)
        self._await_ready()
        self._require_metrics(pool_size)
        self._pool_size = pool_size
        self._family = self._new_family()
        return time.monotonic() - began

    def require_alive(self) -> None:
        """Raise WorkFailed where an application that the sweep started has ended by itself."""
        if self._is_started and (code := self._guarded.exit_code()) is not None:
            self._pool_size = None
            stay = "" if code else "; `start` must stay in the foreground"
            raise WorkFailed(f"the application ended by itself, with exit code {code}{stay}{self._last_lines()}")

    def counters(self) -> dict[str, float]:
        """Return the application's counters now: of its processes, if the sweep started them, and of its pools."""
        return self._family.counters() | self._pool_metrics(METRICS_SECONDS)

    def close(self, seconds: float | None = None) -> None:
        """End the application, or put the size of before back. Raises WorkFailed where that fails.

        seconds: the longest wait for that, which then goes on by itself; None to wait for its end.
        """
        if not self._guarded.close(seconds):
            raise WorkFailed(f"restore failed, so the application may have another pool size now{self._last_lines()}")

    def _new_family(self) -> ProcessFamily:
        """Return the application's processes, with their CPU times of now; none of an application that ran before."""
        return ProcessFamily(self._guarded.pid if self._is_started else None, self._described.measured.pools)

    def _start(self, pool_size: int) -> None:
        described = self._described
        self._is_started = False
        self._family = ProcessFamily(None)
        self._guarded.end()
        if self._ready is not None and read_page(self._ready, ANSWER_SECONDS).failure is None:
            raise BadInput(
                f"`application` {described.typed}: {self._ready.shown} answers before the application was "
                "started: end the program that answers there"
            )
        try:
            self._guarded.start(described.command("start", pool_size))
        except WorkFailed as error:
            raise WorkFailed(f"start {error}") from None
        self._is_started = True

    def _run(self, name: str, pool_size: int) -> None:
        """Run a command of the file, if it has that; from now on `restore` is due. Raises WorkFailed if it fails."""
        described = self._described
        if getattr(described.file, name) is None:
            return
        restore = described.command("restore", pool_size) if described.file.restore else None
        try:
            code = self._guarded.run(described.command(name, pool_size), COMMAND_SECONDS, restore)
        except WorkFailed as error:
            raise WorkFailed(f"{name} {error}") from None
        if code is None:
            raise WorkFailed(f"{name} took more than {COMMAND_SECONDS:g} s")
        if code:
            raise WorkFailed(f"{name} failed with exit code {code}{self._last_lines()}")

    def _await_ready(self) -> None:
        ready, seconds = self._ready, self._described.file.ready_seconds
        deadline = time.monotonic() + seconds
        while ready is not None and (failure := read_page(ready, ANSWER_SECONDS).failure) is not None:
            self.require_alive()
            if time.monotonic() > deadline:
                raise WorkFailed(
                    f"the application was not ready within {seconds:g} s: {ready.shown}: {failure}{self._last_lines()}"
                )
            time.sleep(LOOK_SECONDS)
        if self._is_started and self._described.measured.pools > 1:
            self._await_processes()

    def _await_processes(self) -> None:
        """Wait until every process of several has started, up to STARTING_SECONDS: one of them answers `ready`.

        A process that starts uses CPU time, and one that is ready waits for requests. The users' connections would all
        go to the first that is ready, and stay with it.
        """
        family, deadline = self._new_family(), time.monotonic() + STARTING_SECONDS
        before = family.counters().get("application_cpu", 0.0)
        while time.monotonic() < deadline:
            time.sleep(IDLE_SECONDS)
            self.require_alive()
            after = family.counters().get("application_cpu", 0.0)
            if after - before < IDLE_CORES * IDLE_SECONDS:
                return
            before = after

    def _pool_metrics(self, seconds: float) -> dict[str, float]:
        """Return the counters of the metrics page; empty without a page, and where it takes longer than the seconds."""
        if self._metrics is None:
            return {}
        counters, unusable = pool_metrics(read_page(self._metrics, seconds).text)
        self._unusable = self._unusable or unusable
        return counters

    def _require_metrics(self, pool_size: int) -> None:
        """Raise WorkFailed for a metrics page without a pool, and for a pool that does not have the size.

        A pool that was resized may show its old size for a while: HikariCP's metrics are up to 1 s old.
        """
        if self._metrics is None:
            return
        began = time.monotonic()
        while True:
            counters = self._pool_metrics(ANSWER_SECONDS)
            size = counters.get("pool_max", 0.0) / counters["pool_count"] if counters else 0.0
            if counters and size in {0, pool_size}:
                return
            is_stale = counters and self._described.file.resize is not None
            if time.monotonic() - began >= (COMMAND_SECONDS if is_stale else LATE_SECONDS):
                break
            self.require_alive()
            time.sleep(LOOK_SECONDS)
        if not counters:
            failure = read_page(self._metrics, ANSWER_SECONDS).failure
            problem = failure or self._unusable or "the page has no metrics of a pool that poolsize knows"
            raise WorkFailed(f"metrics {self._metrics.shown}: {problem}")
        raise WorkFailed(
            f"by its metrics, the application's pool has at most {size:g} connections, and not {pool_size}: "
            f"{PLACEHOLDER} does not set the size of that pool"
        )

    def _last_lines(self) -> str:
        """Return the last lines of the application's output, after a colon; empty without any."""
        try:
            with opened(self._log) as log:
                log.seek(max(0, self._log.stat().st_size - SHOWN_BYTES))
                text = log.read(SHOWN_BYTES).decode(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()][-SHOWN_LINES:]
        return f": {' | '.join(lines)} (all of its output: {self._log})" if lines else ""
