"""The options --plot and --json, which several commands share, and files that are refused before the work."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from poolsize.errors import BadInput

if TYPE_CHECKING:  # Matplotlib and pathlib stay out of a command without --plot
    from pathlib import Path

    from matplotlib.figure import Figure

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
