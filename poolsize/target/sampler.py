"""Reads the server's counters once a second, and those of its process where that runs on this machine."""

from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import gevent
import psutil
import pymysql
from gevent.event import Event
from sqlalchemy import URL

from poolsize.facts.status import over_a_second, read_status
from poolsize.target.connection import connect, is_local
from poolsize.target.private_server import NAMES

BEGINNING = 4
"""Words of a command line among which the program is, if a loader started it."""
MOST_THREADS = 30
"""Context switches are read thread by thread, 50 us each; with more threads the load would be late for that."""

BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
"""Kinds of processor time that nobody else can use; waiting for the disk is not one."""


class ServerSampler:
    """Samples in the background between start and stop. What can't be read is left out; `notes` says so, once."""

    def __init__(self, url: URL) -> None:
        self._connection = connect(url)
        self._process = server_process(url)
        self._samples: list[dict[str, float]] = []
        self._sampling: gevent.Greenlet[..., None] | None = None
        self._over = Event()
        self.notes = self._notes(local=is_local(url))

    def start(self) -> None:
        """Begin with a first reading now, and one each second from here on."""
        self.stop()
        self._samples = []
        self._over.clear()
        self._sampling = gevent.spawn(self._sample)

    def stop(self) -> None:
        """End sampling; what was read stays."""
        self._over.set()
        if self._sampling is not None:
            self._sampling.join()  # never killed: in the middle of a query that would cost the connection
            self._sampling = None

    def series(self, seconds: int) -> dict[str, tuple[float | None, ...]]:
        """Each counter's value in each of the first seconds since start."""
        names = sorted({name for sample in self._samples for name in sample})
        samples = [*self._samples, *[{}] * seconds][:seconds]
        return {name: tuple(_rounded(sample.get(name)) for sample in samples) for name in names}

    def close(self) -> None:
        """Stop, and close the connection."""
        self.stop()
        with closing(self._connection):
            pass

    def _sample(self) -> None:
        started = monotonic()
        with suppress(pymysql.MySQLError):  # a server that went away is told of by the load, which needs it
            before, read_at = self._read(), started
            while not self._over.wait(max(0.0, started + len(self._samples) + 1 - monotonic())):
                after, now = self._read(), monotonic()
                self._samples.append(over_a_second(before, after, now - read_at))
                before, read_at = after, now

    def _read(self) -> dict[str, float]:
        with self._connection.cursor() as cursor:
            read = read_status(cursor)
        for name, reading in self._readings():
            with suppress(psutil.Error, AttributeError, OSError):
                if (value := reading()) is not None:
                    read[name] = value
        return read

    def _readings(self) -> Iterable[tuple[str, Callable[[], float | None]]]:
        """What can be asked about the server's process; any of it may be missing here."""
        process = self._process
        if process is None:
            return ()
        return (
            ("process_cpu", lambda: float(sum(process.cpu_times()[:2]))),
            ("process_cores", lambda: float(len(process.cpu_affinity()))),
            ("process_context_switches", lambda: _context_switches(process)),
            ("process_read_bytes", lambda: float(process.io_counters().read_bytes)),
            ("process_written_bytes", lambda: float(process.io_counters().write_bytes)),
            ("machine_cpu", _machine_cpu_seconds),
            ("machine_cores", lambda: float(psutil.cpu_count() or 1)),
        )

    def _notes(self, *, local: bool) -> tuple[str, ...]:
        if self._process is None:
            why = "its process can't be seen from this account" if local else "it runs on another machine"
            return (f"the server's processor time is not recorded: {why}",)
        read = self._read()
        missing = [name for name, _ in self._readings() if name not in read]
        return (f"not recorded, as this account may not read it: {', '.join(missing)}",) if missing else ()


def server_process(url: URL) -> "psutil.Process | None":
    """The process of a server on this machine, or None: elsewhere, not visible to this account, or not certain.

    By the port it listens on; by a socket, the only server there is.
    """
    if not is_local(url):
        return None
    running = list(psutil.process_iter())
    servers = [process for process in running if _name(process) in NAMES]
    servers = servers or [process for process in running if _beginning(process).intersection(NAMES)]
    if "unix_socket" not in url.query:
        servers = [process for process in servers if (url.port or 3306) in _ports(process)]
    return servers[0] if len(servers) == 1 else None


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def _beginning(process: psutil.Process) -> set[str]:
    """What begins its command line, without folders: behind a loader the program is there."""
    try:
        return {Path(word).name for word in process.cmdline()[:BEGINNING]}
    except psutil.Error:
        return set()


def _ports(process: psutil.Process) -> set[int]:
    try:
        connections: list[Any] = process.net_connections("tcp")
    except psutil.Error:
        return set()
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}


def _context_switches(process: psutil.Process) -> float | None:
    """Of all threads, for the process's own figure is its main thread's; None for too many to ask."""
    if process.num_threads() > MOST_THREADS:
        return None
    switches = 0
    for thread in process.threads():
        with suppress(psutil.Error):
            switches += sum(psutil.Process(thread.id).num_ctx_switches())
    return float(switches)


def _machine_cpu_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(getattr(times, kind, 0.0) for kind in BUSY))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
