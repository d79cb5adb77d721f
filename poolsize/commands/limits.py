"""The options of latency limits and of the pool size today, which several commands share."""

from collections.abc import Callable
from typing import Any

import click

from poolsize.answer.latency_limit import LatencyLimits
from poolsize.sweep.readers import positive_milliseconds, read

LIMITS = ("current", "max_p95_ms", "max_p99_ms")


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command."""
    options: list[Callable[[Any], Any]] = [
        click.option("--current", type=int, help="Your pool's size today, to be told what it costs."),
        click.option("--max-p95", "max_p95_ms", help="Longest p95 of wait and usage together, e.g. 20ms."),
        click.option("--max-p99", "max_p99_ms", help="Longest p99 of wait and usage together, e.g. 50ms."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def limits_of(max_p95: str | None, max_p99: str | None) -> LatencyLimits:
    """Return the latency limits. Raises BadInput for a text that is no time above 0."""
    return LatencyLimits(
        None if max_p95 is None else read("max_p95_ms", max_p95, positive_milliseconds),
        None if max_p99 is None else read("max_p99_ms", max_p99, positive_milliseconds),
    )
