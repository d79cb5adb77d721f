"""Options that several commands share: --json, --plot, --current and the latency limits."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from poolsize.errors import BadInput

if TYPE_CHECKING:  # Matplotlib and pathlib stay out of a command without --plot
    from pathlib import Path

    from matplotlib.figure import Figure


from poolsize.answer.latency_limit import LatencyLimits
from poolsize.sweep.readers import positive_milliseconds, read_optional

PLOT_ENDINGS = (".png", ".svg")

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


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
