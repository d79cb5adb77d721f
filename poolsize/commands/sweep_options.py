"""The options of a sweep as options of a command."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from poolsize.sweep.options import OPTIONS

Command = Callable[..., None]


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
                help=text,
            )(command)
        return command

    return decorated
