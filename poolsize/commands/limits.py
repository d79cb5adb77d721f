"""The options --current, --max-p95 and --max-p99, which several commands share."""

from collections.abc import Callable

import click

from poolsize.answer.latency_limit import LatencyLimits
from poolsize.sweep.readers import positive_milliseconds, read_optional

LIMITS = ("current", "max_p95_ms", "max_p99_ms")
"""The options' parameters."""

current_option = click.option(
    "--current", type=int, help="The pool size that you use today, to compare with the answer."
)


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that answers from a stored run with the three options."""
    of_run = "[default: the limit that the sweep had, if any]"
    for option in (
        click.option(
            "--max-p99", "max_p99_ms", help=f"Latency limit: highest p99 of the total time, e.g. 50ms.  {of_run}"
        ),
        click.option(
            "--max-p95", "max_p95_ms", help=f"Latency limit: highest p95 of the total time, e.g. 20ms.  {of_run}"
        ),
        current_option,
    ):
        command = option(command)
    return command


def limits_of(max_p95: str | None, max_p99: str | None) -> LatencyLimits | None:
    """Return the latency limits of the options' texts, or None without any: the limits of the run's sweep hold.

    Raises BadInput for no time above 0.
    """
    if max_p95 is None and max_p99 is None:
        return None
    return LatencyLimits(
        read_optional("max_p95_ms", max_p95, positive_milliseconds),
        read_optional("max_p99_ms", max_p99, positive_milliseconds),
    )
