"""What a user wants besides throughput: the options that `recommend` and `sweep` share."""

from collections.abc import Callable
from typing import Any

import click

from poolsize.answer.latency_limit import LatencyLimits
from poolsize.errors import BadInput
from poolsize.units import seconds_of

WISHES = ("current", "max_p95", "max_p99")


def wish_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command."""
    options: list[Callable[[Any], Any]] = [
        click.option("--current", type=int, help="Your pool's size today, to be told what it costs."),
        click.option("--max-p95", help="Longest p95 of wait and usage together, e.g. 20ms."),
        click.option("--max-p99", help="Longest p99 of wait and usage together, e.g. 50ms."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def limits_of(max_p95: str | None, max_p99: str | None) -> LatencyLimits:
    """Read the options. Raises BadInput."""
    return LatencyLimits(_limit_ms(max_p95, "--max-p95"), _limit_ms(max_p99, "--max-p99"))


def _limit_ms(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    limit = 1000 * seconds_of(text, option)
    if limit <= 0:
        raise BadInput(f"{option} {text}: give a time above 0, such as 20ms")
    return limit
