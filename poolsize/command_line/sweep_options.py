"""The options of a sweep as options of a command, with their completions, and their flags in errors."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from poolsize.command_line.options import complete_files, complete_runs, completed_by
from poolsize.sweep.option import Group
from poolsize.sweep.options import FLAGS, OPTIONS, with_flags
from poolsize.sweep.readers import optional_path, path

Command = Callable[..., None]
PATHS = (path, optional_path)
"""Readers of options whose values the shell completes as files."""
GROUPS = {group.value: tuple(name for name, option in OPTIONS.items() if option.group is group) for group in Group}
"""Heading -> the parameters of a group of a sweep's options."""


def _workloads(_: str) -> Iterable[str]:
    from poolsize.files import workloads

    return workloads()


def _recordings(_: str) -> Iterable[str]:
    from poolsize.recordings.published import published_curves

    return published_curves()


OF_SWEEP = {
    "workload": completed_by(_workloads, else_files=True),
    "replay": completed_by(_recordings, else_files=True),
    "resume": complete_runs,
}
"""Parameter of a sweep's option -> its completion. Other options complete files, if they name a path, or nothing."""


def sweep_options(names: Iterable[str], usage: Mapping[str, str] | None = None) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options; its parameters have the names of SweepOptions' fields.

    usage: name of an option -> its help text, where it differs from that of a sweep.
    """
    texts: Mapping[str, Any] = {name: OPTIONS[name].usage for name in names} | dict(usage or {})

    def decorated(command: Command) -> Command:
        for name, text in reversed(list(texts.items())):
            option = OPTIONS[name]
            command = click.option(
                option.flag,
                name,
                type=option.kind,
                is_flag=option.switch,
                default=None,
                multiple=option.repeatable,
                envvar=option.variable,
                metavar=option.metavar,
                shell_complete=OF_SWEEP.get(name) or (complete_files if option.reader in PATHS else None),
                help=text,
            )(command)
        return command

    return decorated


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
