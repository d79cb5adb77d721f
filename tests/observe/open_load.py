"""Requests that arrive at random times: `python -m tests.observe.open_load RATE DAY SECONDS URL...`.

Each task service gets RATE requests a second on average, DAY of it more and less in the course of a day of SECONDS.
They arrive at their times, however long the services take.
"""

import asyncio
import sys
from urllib.parse import urlsplit

import numpy as np

from tests.observe.workload import Workload

TIMEOUT_SECONDS = 60


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
    workload = Workload(rate, usage_s=0.0, day=day, day_s=seconds)  # the services decide how long they use
    arrivals = (workload.arrivals(seconds, np.random.default_rng(seed)).tolist() for seed, _ in enumerate(urls))
    plan = sorted((at, url) for url, times in zip(urls, arrivals, strict=True) for at in times)
    clock = asyncio.get_running_loop().time
    begin = clock()
    async with asyncio.TaskGroup() as group:
        for at, url in plan:
            await asyncio.sleep(max(0.0, begin + at - clock()))
            group.create_task(request(url))


if __name__ == "__main__":
    rate, day, seconds = map(float, sys.argv[1:4])
    asyncio.run(send(rate, day, seconds, sys.argv[4:]))
