"""Requests that arrive at random times: `python -m tests.observe.open_load RATE DAY SECONDS URL...`.

Each task service gets RATE requests a second on average, DAY of it more and less in the course of a day of SECONDS.
They arrive at their times, however long the services take.
"""

import asyncio
import sys
from math import pi
from urllib.parse import urlsplit

import numpy as np

TIMEOUT_SECONDS = 60


def arrivals(rate: float, day: float, seconds: float, seed: int) -> list[float]:
    """Return the times of Poisson arrivals."""
    random = np.random.default_rng(seed)
    highest = rate * (1 + day)
    times = np.cumsum(random.exponential(1 / highest, int(highest * seconds * 1.2 + 100)))
    rates = rate * (1 - day * np.cos(2 * pi * times / seconds))
    return [float(time) for time in times[(random.random(len(times)) * highest < rates) & (times < seconds)]]


async def request(url: str) -> None:
    """Send a request for the newest tasks, and read the answer. Raises what went wrong, which ends all requests."""
    address = urlsplit(url)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"GET /tasks HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
    assert b" 200 " in answer.partition(b"\n")[0], answer


async def send(rate: float, day: float, seconds: float, urls: list[str]) -> None:
    """Send all requests."""
    plan = sorted((at, url) for seed, url in enumerate(urls) for at in arrivals(rate, day, seconds, seed))
    clock = asyncio.get_running_loop().time
    begin = clock()
    async with asyncio.TaskGroup() as group:
        for at, url in plan:
            await asyncio.sleep(max(0.0, begin + at - clock()))
            group.create_task(request(url))


if __name__ == "__main__":
    rate, day, seconds = map(float, sys.argv[1:4])
    asyncio.run(send(rate, day, seconds, sys.argv[4:]))
