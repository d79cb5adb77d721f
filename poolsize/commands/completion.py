"""`poolsize completion`: the script with which a shell completes commands, options and names."""

import click

from poolsize.command_line.grouped_command import GroupedCommand


@click.command(
    cls=GroupedCommand,
    examples={
        "Bash, in ~/.bashrc": 'eval "$(poolsize completion bash)"',
        "Zsh, in ~/.zshrc after compinit": 'eval "$(poolsize completion zsh)"',
        "Fish": "poolsize completion fish > ~/.config/fish/completions/poolsize.fish",
    },
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script with which this SHELL completes commands, options, names and files of runs."""
    from click.shell_completion import get_completion_class

    from poolsize.commands import cli

    shell_completion = get_completion_class(shell)
    assert shell_completion is not None
    click.echo(shell_completion(cli, {}, "poolsize", "_POOLSIZE_COMPLETE").source())
