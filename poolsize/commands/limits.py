"""The options --current, --max-p95 and --max-p99, which several commands share."""

from collections.abc import Callable
from typing import Any

import click

from poolsize.answer.latency_limit import LatencyLimits
from poolsize.sweep.readers import positive_milliseconds, read_optional

LIMITS = ("current", "max_p95_ms", "max_p99_ms")
"""The options' parameters."""


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the three options."""
    options: list[Callable[[Any], Any]] = [
        click.option("--current", type=int, help="The pool size that you use today, to compare with the answer."),
        click.option("--max-p95", "max_p95_ms", help="Latency limit: highest p95 of the total time, e.g. 20ms."),
        click.option("--max-p99", "max_p99_ms", help="Latency limit: highest p99 of the total time, e.g. 50ms."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def limits_of(max_p95: str | None, max_p99: str | None) -> LatencyLimits:
    """Return the latency limits of the options' texts; None for no limit. Raises BadInput for no time above 0."""
    return LatencyLimits(
        read_optional("max_p95_ms", max_p95, positive_milliseconds),
        read_optional("max_p99_ms", max_p99, positive_milliseconds),
    )
