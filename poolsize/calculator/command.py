"""`poolsize calculator`: a web page with the formula and the traffic model."""

from pathlib import Path

import click

from poolsize.calculator.page import calculator_html
from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import require_writable, save_page


@click.command(
    cls=GroupedCommand, examples={"A page for a browser, without a network": "poolsize calculator --output page.html"}
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="A .html page. An existing file is overwritten.",
)
def calculator(output: Path) -> None:
    """Write a web page that computes the formula and the pool size for your traffic.

    The page needs no network and no poolsize. Its answers are those of `poolsize recommend --rate`.
    """
    require_writable("--output", output, (".html",), "a file that ends in .html")
    save_page(calculator_html(), output)
