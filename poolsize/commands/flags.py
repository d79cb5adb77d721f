"""Parameters -> flags: what a refusal names in backticks reads as an option of the command line."""

import click

from poolsize.sweep.options import FLAGS, with_flags


def in_flags(message: str, command: click.Command | None) -> str:
    """Return a message in which flags replace the parameters in backticks: the command's own, then a sweep's."""
    own = {option.name: option.opts[0] for option in command.params if option.name} if command else {}
    return with_flags(message, {**FLAGS, **own})
