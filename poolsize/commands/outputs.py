"""The options --plot and --json, which several commands share, and the writing of a plot."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # Matplotlib stays out of a command without --plot
    from matplotlib.figure import Figure

plot_option = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it, to a .png or .svg."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def save_plot(figure: "Figure", path: Path) -> None:
    """Write a figure to the file of --plot, and print that. Raises BadInput for a file that can't be written."""
    from poolsize.present.plots import save_figure

    save_figure(figure, path)
    click.echo(f"poolsize: drew {path}", err=True)
