"""A network path with delay and loss, between this machine and a network namespace, through two tunnels.

Each packet that enters one tunnel leaves the other later, or never. The kernels' TCP does the rest, as on a real path.
"""

import fcntl
import os
import random
import select
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.machines import ip

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LONGEST_PACKET = 65_536
LOOK_SECONDS = 0.2


def tunnel(name: str) -> int:
    """Make a tunnel, and return the file descriptor at which its packets arrive."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


class Path:
    """Carries packets both ways between two tunnels. delay_ms: of one way. loss: share of the packets; changeable."""

    def __init__(self, ends: tuple[int, int], delay_ms: float, loss: float) -> None:
        self.loss = loss
        self._other = dict(zip(ends, reversed(ends), strict=True))
        self._delay = delay_ms / 1000
        self._random = random.Random(1)
        self._ended = threading.Event()
        self._carrying = threading.Thread(target=self._carry)
        self._carrying.start()

    def close(self) -> None:
        """Carry no more packets."""
        self._ended.set()
        self._carrying.join()
        for end in self._other:
            os.close(end)

    def _carry(self) -> None:
        under_way: deque[tuple[float, int, bytes]] = deque()
        while not self._ended.is_set():
            due = max(0.0, under_way[0][0] - time.monotonic()) if under_way else LOOK_SECONDS
            arrived, _, _ = select.select(list(self._other), [], [], due)
            for end in arrived:
                packet = os.read(end, LONGEST_PACKET)
                if self._random.random() >= self.loss:
                    under_way.append((time.monotonic() + self._delay, self._other[end], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, end, packet = under_way.popleft()
                with suppress(OSError):  # the other end is not up yet
                    os.write(end, packet)


@contextmanager
def bad_path(name: str, here: str, there: str, delay_ms: float, loss: float) -> Iterator[Path]:
    """A path to an existing network namespace. here, there: the addresses of its ends."""
    ends = tunnel("poolsize-here"), tunnel("poolsize-there")
    path = Path(ends, delay_ms, loss)
    try:
        ip(
            f"address add {here} peer {there} dev poolsize-here",
            "link set poolsize-here up",
            f"link set poolsize-there netns {name}",
            f"-n {name} address add {there} peer {here} dev poolsize-there",
            f"-n {name} link set poolsize-there up",
        )
        yield path
    finally:
        path.close()
