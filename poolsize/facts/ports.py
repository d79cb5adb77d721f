"""The ports that connections use up on this machine.

A closed TCP connection keeps its port for a minute, in the state TIME_WAIT, on the side that closed it.
"""

from contextlib import suppress
from functools import cache
from pathlib import Path

TIME_WAIT_SECONDS = 60
"""How long Linux keeps a port in TIME_WAIT."""


def time_wait_sockets() -> int | None:
    """Return the number of sockets in TIME_WAIT in this network namespace; None where the system does not say."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/net/sockstat").read_text("ascii").splitlines():
            words = line.split()
            if words[0] == "TCP:":
                return int(words[words.index("tw") + 1])
    return None


@cache
def most_time_wait_sockets() -> int | None:
    """Return how many sockets Linux keeps in TIME_WAIT; it frees the port of any other at once. None where unknown."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/sys/net/ipv4/tcp_max_tw_buckets").read_text("ascii"))
    return None


@cache
def outgoing_ports() -> int | None:
    """Return the number of ports that the system gives to outgoing connections; None where it does not say."""
    with suppress(OSError, ValueError):
        lowest, highest = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split())
        return highest - lowest + 1
    return None
