"""Parameters -> flags: the command line names its options where an error names parameters in backticks."""

import os
import sys

import click

from poolsize.sweep.options import FLAGS, OPTIONS, with_flags

UNREACHED = ("`url`: no server answers", "`url`: the server refuses")
"""Beginnings of errors that a command without a server would not have."""


def in_flags(message: str, command: click.Command | None) -> str:
    """Return a message in which flags replace the parameters in backticks: a command's own flags, else a sweep's.

    Where an environment variable gave a parameter its value, the variable's name replaces it.
    """
    own = {option.name: option.opts[0] for option in command.params if option.name} if command else {}
    given = {word.split("=", 1)[0] for word in sys.argv[1:]}
    variables = {
        name: option.variable
        for name, option in OPTIONS.items()
        if option.variable and option.variable in os.environ and option.flag not in given
    }
    way_out = "; or unset POOLSIZE_URL" if "url" in variables and message.startswith(UNREACHED) else ""
    return with_flags(message, {**FLAGS, **own, **variables}) + way_out
