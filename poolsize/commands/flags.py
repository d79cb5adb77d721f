"""Parameters -> flags: the command line names its options where an error names parameters in backticks."""

import click

from poolsize.sweep.options import FLAGS, with_flags


def in_flags(message: str, command: click.Command | None) -> str:
    """Return a message in which flags replace the parameters in backticks: a command's own flags, else a sweep's."""
    own = {option.name: option.opts[0] for option in command.params if option.name} if command else {}
    return with_flags(message, {**FLAGS, **own})
