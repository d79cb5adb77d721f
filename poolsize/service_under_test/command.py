"""`poolsize application`: its options and its help."""

from typing import TYPE_CHECKING

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.command_line.options import FILE

if TYPE_CHECKING:  # pathlib stays out of --help
    from pathlib import Path


@click.command(
    cls=GroupedCommand,
    examples={
        "Create the file": "poolsize application init shop.toml",
        "Test each part of the file once": "poolsize application check shop.toml",
    },
)
@click.argument("action", type=click.Choice(["init", "check"]))
@click.argument("file", type=FILE)
@click.option(
    "--pool-size", "pool_size", type=click.IntRange(1), default=2, show_default=True, help="Size to try, with check."
)
def application(action: str, file: "Path", pool_size: int) -> None:
    """Create or test the FILE that describes your application, for `poolsize sweep --application FILE`.

    init creates a FILE with an explanation of each key. check loads the Locust file, gives the application a pool
    size, waits until it is ready, reads its metrics and its database, and ends it or restores its size.
    """
    from poolsize.service_under_test.run_application import run_application  # --help starts without what it runs

    run_application(action, file, pool_size)
