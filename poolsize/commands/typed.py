"""Which options were typed: the environment and the defaults give values too."""

import click


def is_typed(name: str) -> bool:
    """Return whether this parameter's option was given on the command line, and not by the environment or a default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
