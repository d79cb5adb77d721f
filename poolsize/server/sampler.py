"""Samples counters once a second: of the database server, and of the processes on this machine that are measured."""

from collections.abc import Callable
from contextlib import suppress
from math import floor
from time import monotonic
from typing import Any

import gevent
import psutil
import pymysql
from gevent.event import Event
from sqlalchemy import URL

from poolsize.errors import BadInput
from poolsize.facts.ports import most_time_wait_sockets, outgoing_ports, time_wait_sockets
from poolsize.facts.status import increases_per_second, read_status
from poolsize.server.bounded import OWN
from poolsize.server.connection import NoAnswer, connect, error_kind
from poolsize.server.encryption import is_local
from poolsize.server.processes import OtherPrograms, server_process
from poolsize.server.speed_probe import SpeedProbe, usable_cores

MOST_THREADS = 30
"""Context switches are read thread by thread, 50 us each; reading more threads would delay the load."""
BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
"""Kinds of CPU time that no other work can use; time spent waiting for the disk is free for others."""


class Sampler:
    """Samples counters in the background between start and stop: of the server, of its process, and of this machine.

    A counter that can't be read is left out. Where the connection to the server is lost, the sampler connects again,
    and the counters of this machine's processes are read meanwhile.
    """

    def __init__(self, url: URL | None, read_application: Callable[[], dict[str, float]] | None = None) -> None:
        """Connect to the server. Raises BadInput when it can't be reached.

        url: of the server, or None where an application's database is not known.
        read_application: returns the counters of the application that is measured; None if none is.
        """
        self._url = url
        self._read_application = read_application
        self._connection: Any = None
        self._process: psutil.Process | None = None
        self._connecting: Any = None
        self._lost: str | None = None
        self._probe = SpeedProbe()
        self._before = OtherPrograms()
        self._samples: list[dict[str, float]] = []
        self._stopping = Event()
        self._sampling = gevent.Greenlet(self._sample)
        self._unrecorded: tuple[str, ...] = ()
        if url is not None:
            self._connection, self._process = _connected(url)
            self._unrecorded = self._notes(local=is_local(url))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name the counters that are not recorded, and the reason; a lost connection may add one."""
        return self._unrecorded if self._lost is None else (*self._unrecorded, self._lost)

    def start(self) -> None:
        """Drop earlier samples, and read the counters now and then once a second."""
        self.stop()
        self._probe.start(usable_cores(self._process))
        self._before = OtherPrograms()
        self._samples = []
        self._stopping.clear()
        self._sampling = gevent.spawn(self._sample)

    def stop(self) -> None:
        """Stop sampling. The samples remain."""
        self._probe.stop()
        self._stopping.set()
        if self._sampling.started:
            self._sampling.join()  # a kill in the middle of a query would break the connection

    def series(self, seconds: int) -> dict[str, tuple[float | None, ...]]:
        """Return counter -> its value in each of the first seconds since start; None where it was not read.

        Values are increases per second; gauges (facts.status.GAUGES) have their value at the second's end.
        """
        names = sorted({name for sample in self._samples for name in sample})
        samples = [*self._samples, *[{}] * seconds][:seconds]
        values = {name: [sample.get(name) for sample in samples] for name in names}
        return {name: tuple(value and round(value, 3) for value in values[name]) for name in names}

    def programs(self) -> dict[str, float]:
        """Return name of another program on this machine -> cores that it used since start, the busiest first."""
        return self._before.cores_since(self._process)

    def speed(self) -> float | None:
        """Return the mean speed of this machine's cores in the next second; None where it can't be measured.

        They are those that the load or a local server may use. Not while it samples.
        """
        if not (cores := usable_cores(self._process)):
            return None
        self._probe.start(cores)
        gevent.sleep(1)
        self._probe.stop()
        return self._probe.take()

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the sampler's own connection; empty without a server."""
        return {self._connection.thread_id()} if self._connection is not None else set()

    def reconnect(self) -> None:
        """Connect to the server anew, whose process may be another now. Raises BadInput when it can't be reached."""
        if self._url is not None:
            connection, process = _connected(self._url)
            self.close()
            self._connection, self._process, self._connecting, self._lost = connection, process, None, None

    def close(self) -> None:
        """Stop sampling, and close the connection."""
        self.stop()
        if self._connecting is not None:
            self._connecting.kill()
        if self._connection is not None:
            with suppress(pymysql.MySQLError):  # closed by the server
                self._connection.close()

    def _sample(self) -> None:
        """Read once a second. The increase over a longer reading counts in each of its seconds.

        A server answers late where its thread pool is full, or the machine.
        """
        started = monotonic()
        before, before_at = self._read(), monotonic()
        self._samples += [{}] * floor(before_at - started)  # before the first reading, no increase is known
        while not self._stopping.wait(max(0.0, started + len(self._samples) + 1 - monotonic())):
            after, after_at = self._read(), monotonic()
            passed = max(1, floor(after_at - started) - len(self._samples))
            self._samples += [increases_per_second(before, after, after_at - before_at)] * passed
            before, before_at = after, after_at

    def _read(self) -> dict[str, float]:
        counters = self._read_status()
        for name, read in self._machine_counters().items():
            with suppress(psutil.Error, AttributeError, OSError):
                if (value := read()) is not None:
                    counters[name] = float(value)
        return counters | (self._read_application() if self._read_application else {})

    def _read_status(self) -> dict[str, float]:
        """Return the server's own counters; empty without a connection, and then connect in the background."""
        if self._url is None:
            return {}
        if self._connection is None:
            if self._connecting is None:
                self._connecting = gevent.spawn(self._connect, self._url)
            return {}
        try:
            with self._connection.cursor() as cursor:
                return read_status(cursor)
        except pymysql.MySQLError as error:
            self._connection.close()
            self._connection = None
            self._lost = self._lost or (
                "some seconds have no counters of the server: the connection that reads them was lost "
                f"({error_kind(error)}), and poolsize tries to connect again"
            )
            return self._read_status()

    def _connect(self, url: URL) -> None:
        """Connect to the server anew. The next reading tries it again, unless the server refuses the account."""
        try:
            self._connection, self._process = _connected(url)
        except BadInput as error:
            if not isinstance(error, NoAnswer):
                self._lost = "the server refuses the account that reads its counters: from here on, there are none"
                return
        self._connecting = None

    def _machine_counters(self) -> dict[str, Callable[[], float | None]]:
        """Return each counter of this machine and of its processes, and the function that reads it."""
        process = self._process
        counters: dict[str, Callable[[], float | None]] = {
            "machine_speed": self._probe.take,
            "machine_steal": lambda: getattr(psutil.cpu_times(), "steal", None),
            "machine_ports": outgoing_ports,
            "machine_time_wait": time_wait_sockets,
            "machine_time_wait_limit": most_time_wait_sockets,
        }
        if process is not None or self._read_application is not None:
            counters |= {
                "machine_cpu": lambda: _cpu_seconds(*BUSY),
                "machine_interrupts": lambda: _cpu_seconds("irq", "softirq"),
                "machine_context_switches": lambda: psutil.cpu_stats().ctx_switches,
                "machine_cores": lambda: psutil.cpu_count() or 1,
            }
        if process is not None:
            counters |= {
                "process_cpu": lambda: sum(process.cpu_times()[:2]),
                "process_cores": lambda: len(process.cpu_affinity()),
                "process_memory_bytes": lambda: process.memory_info().rss,
                "process_context_switches": lambda: _context_switches(process),
                "process_written_bytes": lambda: process.io_counters().write_bytes,
            }
        return counters

    def _notes(self, *, local: bool) -> tuple[str, ...]:
        if self._process is None:
            reason = "its process could not be identified from this account" if local else "it runs on another machine"
            figures = "CPU time is" if local else "CPU time and speed are"
            return (f"the server's {figures} not recorded: {reason}",)
        refused = []
        for name, read in self._machine_counters().items():
            with suppress(psutil.NoSuchProcess, AttributeError, OSError):
                try:
                    read()
                except psutil.AccessDenied:
                    refused.append(name)
        if not refused:
            return ()
        return (f"not recorded, because this operating system account may not read them: {', '.join(refused)}",)


def _connected(url: URL) -> tuple[Any, psutil.Process | None]:
    """Return a connection to the server at a URL, and the server's process where it runs on this machine."""
    return connect(url, bounds=OWN), server_process(url) if is_local(url) else None


def _context_switches(process: psutil.Process) -> int | None:
    """Return the context switches of all threads, not only of the main one; None for too many threads."""
    if process.num_threads() > MOST_THREADS:
        return None
    switches = 0
    for thread in process.threads():
        with suppress(psutil.Error):
            switches += sum(psutil.Process(thread.id).num_ctx_switches())
    return switches


def _cpu_seconds(*kinds: str) -> float:
    """Return the CPU time of these kinds that the whole machine has used, as far as the system counts it."""
    times = psutil.cpu_times()
    return sum(getattr(times, kind, 0.0) for kind in kinds)
