"""A server that answers as Prometheus does, with a day of 200 instances: `python -m tests.observe.day_of_prometheus`.

It prints its port. Each instance has 8 metrics of HikariCP, scraped each 30 s, and as many connections in use as all
others, at other times.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import numpy as np

from tests.observe.sources import answering
from tests.observe.workload import Floats

INSTANCES, SCRAPE, SCRAPES = 200, 30, 2_882
SIZE, USES, WAIT = 20, 120, 0.3
"""Connections of each pool; requests between two scrapes, and the sum of their wait times in seconds."""
EXPRESSION = re.compile(r'(?:(\w+)\()?\{__name__="hikaricp_connections_(\w+)"\}(?:\[(\d+)s\])?')
OVER_TIME: dict[str, Callable[..., Floats]] = {
    "avg_over_time": np.mean, "max_over_time": np.max, "stdvar_over_time": np.var, "last_over_time": lambda a, _: a[-1],
    "count_over_time": lambda a, _: np.full(a.shape[1:], len(a)),
}  # fmt: skip
IN_USE = np.random.default_rng(1).poisson(5, SCRAPES).astype(float)
METRICS: dict[str, Floats] = {
    "active": IN_USE,
    "pending": 0 * IN_USE,
    "max": 0 * IN_USE + SIZE,
    "timeout_total": 0 * IN_USE,
    "usage_seconds_sum": np.cumsum(IN_USE) * SCRAPE,
    "usage_seconds_count": np.arange(float(SCRAPES)) * USES,
    "acquire_seconds_sum": np.arange(float(SCRAPES)) * WAIT,
    "acquire_seconds_count": np.arange(float(SCRAPES)) * USES,
}
BEGIN = time.time() // SCRAPE * SCRAPE - SCRAPE * (SCRAPES - 1)
"""Of the first scrape, in seconds since the epoch."""


def result(expression: str, times: Floats) -> list[dict[str, object]]:
    """Return the series of an expression at the times from the first scrape to the last."""
    function, name, window = EXPRESSION.fullmatch(expression.removesuffix(")")).groups()  # type: ignore[union-attr]
    last = np.floor((times - BEGIN) / SCRAPE).astype(int)
    scrapes = last - np.arange(int(window or SCRAPE) // SCRAPE)[::-1, None]
    known = (scrapes[0] >= 0) & (last < SCRAPES)
    times, scrapes = times[known], scrapes[:, known]
    is_counter = name.endswith(("_sum", "_count", "_total"))
    series: list[dict[str, object]] = []
    for instance in range(INSTANCES):
        values = METRICS[name]
        if not is_counter:
            values = np.roll(values, 7 * instance)
        elif name == "usage_seconds_sum":
            values = np.cumsum(np.roll(IN_USE, 7 * instance)) * SCRAPE
        at_times = OVER_TIME[function](values[scrapes], 0) if function else values[scrapes[-1]]
        labels = {"instance": f"10.0.0.{instance}:80", "job": "shop", "pool": "main"}
        if function in (None, "last_over_time"):  # the other functions drop the name
            labels["__name__"] = f"hikaricp_connections_{name}"
        texts = map("{:g}".format, at_times.tolist())
        series.append({"metric": labels, "values": [*zip(times.tolist(), texts, strict=True)]})
    return series


def answer(target: str) -> object:
    """Return the data of an answer to a request."""
    address = urlsplit(target)
    given = {name: values[0] for name, values in parse_qs(address.query).items()}
    if address.path.endswith("/label/__name__/values"):
        return ["up", *(f"hikaricp_connections_{name}" for name in METRICS)]
    if address.path.endswith("/query_range"):
        start, end, step = (float(given[name]) for name in ("start", "end", "step"))
        times: Floats = np.arange(start, end + step / 2, step)
        return {"resultType": "matrix", "result": result(given["query"], times)}
    newest = np.asarray(BEGIN + SCRAPE * np.arange(SCRAPES - 10, SCRAPES), float)
    return {"resultType": "matrix", "result": result(given["query"].partition("[")[0], newest)}


def serve_day() -> None:
    """Print the port, and answer until somebody ends this process."""

    def reply(target: str, _: str | None) -> tuple[int, bytes]:
        return 200, json.dumps({"status": "success", "data": answer(target)}, separators=(",", ":")).encode()

    with answering(reply) as port:
        print(port, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    serve_day()
