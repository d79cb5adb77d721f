"""Options that several commands share: --json, --plot, --current and the latency limits."""

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from poolsize.errors import BadInput
from poolsize.sweep.readers import positive_milliseconds, read_optional

if TYPE_CHECKING:  # Matplotlib and pathlib stay out of a command without --plot
    from pathlib import Path

    from matplotlib.figure import Figure

PLOT_ENDINGS = (".png", ".svg")
LIMITS = ("current", "max_p95_ms", "max_p99_ms")
"""Parameters of the options of limit_options."""
Callback = Callable[[click.Context, click.Parameter, str | None], Any]
"""What click calls with an option's text, and whose result is the option's value."""


def read_by(reader: Callable[[str], Any]) -> Callback:
    """Return the callback of an option whose value a reader of poolsize.sweep.readers makes of its text.

    An option that was not typed and has no default stays None. Raises BadInput for a text that the reader refuses.
    """
    return lambda _, parameter, text: read_optional(str(parameter.name), text, reader)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
current_option = click.option(
    "--current", type=int, help="The pool size that you use today, to compare with the answer."
)


def plot_option(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --plot, which refuses a file that can't be written before the command begins."""
    from pathlib import Path

    return click.option(
        "--plot",
        type=click.Path(path_type=Path),
        metavar="FILE",
        callback=_checked_plot,
        help="Also write a plot to this .png or .svg file.",
    )(command)


def save_plot(figure: "Figure", path: "Path") -> None:
    """Write a figure to the file of --plot, and print that. Raises BadInput for a file that can't be written."""
    from poolsize.present.plots import save_figure

    save_figure(figure, path)
    click.echo(f"poolsize: drew {path}", err=True)


def require_writable(flag: str, path: "Path", endings: Sequence[str], expected: str) -> None:
    """Raise BadInput for another ending, a folder that does not exist, and a file that may not be written.

    expected: the end of the sentence "name ...".
    """
    if path.suffix not in endings:
        raise BadInput(f"{flag} {path}: name {expected}")
    if not path.parent.is_dir():
        raise BadInput(f"{flag} {path}: there is no folder {path.parent}; make it, or name a file elsewhere")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"{flag} {path} can't be written: name another file")


def _checked_plot(_: click.Context, parameter: click.Parameter, path: "Path | None") -> "Path | None":
    if path is not None:
        require_writable(parameter.opts[0], path, PLOT_ENDINGS, "a .png or an .svg file")
    return path


def is_typed(name: str) -> bool:
    """Return whether this parameter's option was given on the command line, and not by the environment or a default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def flag(name: str) -> str:
    """Return the flag of a parameter: --max-connections of max_connections."""
    return f"--{name.replace('_', '-')}"


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with --current, --max-p95 and --max-p99.

    The latter give the parameter `limits`: LatencyLimits, or None without any, for the limits that the run's sweep had.
    """

    @wraps(command)
    def with_limits(max_p95_ms: float | None, max_p99_ms: float | None, **others: Any) -> None:
        limits = None
        if (max_p95_ms, max_p99_ms) != (None, None):
            from poolsize.answer.latency_limit import LatencyLimits  # only a run's answer needs it

            limits = LatencyLimits(max_p95_ms, max_p99_ms)
        command(limits=limits, **others)

    for quantile, example in (("99", "50ms"), ("95", "20ms")):
        with_limits = click.option(
            f"--max-p{quantile}",
            f"max_p{quantile}_ms",
            metavar="DURATION",
            callback=read_by(positive_milliseconds),
            help=f"Latency limit: highest p{quantile} of the total time, e.g. {example}.  "
            "[default: the limit that the sweep had, if any]",
        )(with_limits)
    return current_option(with_limits)
