"""`poolsize calculator`: a web page with the formula and the traffic model."""

from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import FILE, require_writable, save_page

if TYPE_CHECKING:  # pathlib stays out of --help
    from pathlib import Path


@click.command(
    cls=GroupedCommand, examples={"A page for a browser, without a network": "poolsize calculator --output page.html"}
)
@click.option(
    "--output",
    type=FILE,
    required=True,
    metavar="FILE",
    help="A .html page. An existing file is overwritten.",
)
def calculator(output: "Path") -> None:
    """Write a web page that computes the formula and the pool size for your traffic.

    The page needs no network and no poolsize. Its answers are those of `poolsize recommend --rate`.
    """
    from poolsize.calculator.page import calculator_html  # --help starts without the model

    require_writable("--output", output, (".html",), "a file that ends in .html")
    save_page(calculator_html(), output)
