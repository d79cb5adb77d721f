"""`poolsize demo`: its help."""

import click

from poolsize.command_line.grouped_command import GroupedCommand


@click.command(cls=GroupedCommand, examples={"A search and its answer, without a database": "poolsize demo"})
def demo() -> None:
    """Play a stored search again, in 20 s and without a database, and show its answer.

    The search measured a MariaDB server on two cores for three minutes. The command copies its run to data/runs in the
    current folder, and draws a plot beside it. Try the other commands on this run.
    """
    from poolsize.commands.run_demo import run_demo  # --help starts without the analysis

    run_demo()
