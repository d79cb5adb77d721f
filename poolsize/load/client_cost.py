"""What making the load costs a load process, second by second: its processor time and its event loop's lateness."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time

import gevent

LAG_INTERVAL_SECONDS = 0.02
RUN_QUEUE = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True)
class Cost:
    """Over some seconds, each as run.Worker has it: cpu and cpu_wait in cores, loop_lag_ms the 99th percentile."""

    cpu: float
    cpu_wait: float
    loop_lag_ms: float


class ProcessWatch:
    """Watches this process from its making until it is closed."""

    def __init__(self) -> None:
        self._cpu = [process_time()]
        self._cpu_wait = [_run_queue_seconds()]
        self._at = [monotonic()]
        self._late_ms: list[list[float]] = [[]]
        self._watcher = gevent.spawn(self._watch)

    def end_second(self) -> None:
        """Close the current second."""
        self._cpu.append(process_time())
        self._cpu_wait.append(_run_queue_seconds())
        self._at.append(monotonic())
        self._late_ms.append([])

    def cost(self, first: int, last: int) -> Cost:
        """Of the seconds from first until before last."""
        span = self._at[last] - self._at[first]
        late = sorted(late for second in self._late_ms[first:last] for late in second) or [0.0]
        return Cost(
            cpu=(self._cpu[last] - self._cpu[first]) / span if span else 0.0,
            cpu_wait=(self._cpu_wait[last] - self._cpu_wait[first]) / span if span else 0.0,
            loop_lag_ms=late[int(0.99 * (len(late) - 1))],
        )

    def close(self) -> None:
        """Stop watching."""
        self._watcher.kill()

    def _watch(self) -> None:
        while True:
            asleep_from = monotonic()
            gevent.sleep(LAG_INTERVAL_SECONDS)
            self._late_ms[-1].append((monotonic() - asleep_from - LAG_INTERVAL_SECONDS) * 1000)


def _run_queue_seconds() -> float:
    """Time that this thread was ready to run and had to wait for a core, where the system tells."""
    with suppress(OSError, ValueError, IndexError):
        return int(RUN_QUEUE.read_text().split()[1]) / 1e9
    return 0.0
