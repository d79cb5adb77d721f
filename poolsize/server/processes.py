"""The processes of this machine: the server's, other programs that use its cores, and why the system ended one."""

import signal
from collections.abc import Sequence
from contextlib import suppress
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:  # SQLAlchemy stays out of what starts Locust
    from sqlalchemy import URL

SERVER_PROGRAMS = ("mariadbd", "mysqld")
LEADING_WORDS = 4
"""The server's program is among so many leading words of the process's command line, even if a loader started it."""
LEAST_CORES = 0.05
"""A program that uses fewer cores is left out."""
MOST_PROGRAMS = 5
OF_SHELL = 128
"""A shell's exit code is this number and that of the signal that killed its last command."""


def server_process(url: "URL") -> psutil.Process | None:
    """Return the process of the local server at a URL.

    For a URL with a port it is the server process that listens on the port; for a URL with a socket, the only server
    process. None for a process that this account can't see, and in case of doubt.
    """
    processes = list(psutil.process_iter(["name", "cmdline"]))
    servers = [each for each in processes if each.info["name"] in SERVER_PROGRAMS]
    started = [
        each
        for each in processes
        if any(Path(word).name in SERVER_PROGRAMS for word in (each.info["cmdline"] or ())[:LEADING_WORDS])
    ]
    if "unix_socket" not in url.query:
        servers, started = _listening(servers, url.port or 3306), _listening(started, url.port or 3306)
    candidates = servers or started
    return candidates[0] if len(candidates) == 1 else None


def _listening(processes: Sequence[psutil.Process], port: int) -> list[psutil.Process]:
    listening = []
    for process in processes:
        with suppress(psutil.Error):
            connections = process.net_connections("tcp")
            if any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections):
                listening.append(process)
    return listening


class OtherPrograms:
    """The CPU time of every process at the moment when this was made, to compare with a later moment."""

    def __init__(self) -> None:
        self._cpu_seconds = {key: seconds for key, (_, seconds) in _processes().items()}
        self._taken_at = monotonic()

    def cores_since(self, server: psutil.Process | None) -> dict[str, float]:
        """Return name of a program -> cores that its processes used since then, the busiest first.

        The five busiest programs with at least 0.05 cores, as far as this account sees them. Without this process, its
        ancestors and descendants, and the server. A process that ended in between is not seen.
        """
        span_seconds, this = monotonic() - self._taken_at, psutil.Process()
        own = {process.pid for process in (this, server, *this.parents(), *this.children(recursive=True)) if process}
        cores: dict[str, float] = {}
        for key, (name, seconds) in _processes().items():
            if key[0] not in own:
                cores[name] = cores.get(name, 0.0) + (seconds - self._cpu_seconds.get(key, 0.0)) / span_seconds
        busiest = nlargest(MOST_PROGRAMS, cores.items(), key=itemgetter(1))
        return {name: round(used, 2) for name, used in busiest if used >= LEAST_CORES}


def _processes() -> dict[tuple[int, float], tuple[str, float]]:
    """Return process number and start time -> name and CPU time, for every process that this account sees."""
    processes = {}
    for process in psutil.process_iter(["name", "cpu_times", "create_time"]):
        facts = process.info
        if facts["cpu_times"] is not None:
            key = (process.pid, facts["create_time"])
            processes[key] = (facts["name"] or str(process.pid), sum(facts["cpu_times"][:2]))
    return processes


def oom_kills() -> int:
    """Return how many processes this machine has killed for want of memory since it started; 0 where not known."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def killed_by(code: int, oom_kills_before: int) -> str | None:
    """Return "killed by SIGKILL", for example, with the want of memory if that may be why; None without a signal.

    code: the exit code, negative for a signal. oom_kills_before: of when the process started.
    """
    starved = oom_kills() > oom_kills_before
    try:
        name = signal.Signals(-code if code < 0 else code - OF_SHELL).name
    except ValueError:
        return "killed: out of memory" if code and starved else None
    return f"killed by {name}" + (": out of memory" if starved else "")
