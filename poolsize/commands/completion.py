"""`poolsize completion`: the script that a shell runs to complete poolsize's commands, options and names."""

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
    """Print the script that completes commands, options, workloads, stacks, scenarios and run files in your shell."""
    from click.shell_completion import get_completion_class

    from poolsize.commands import cli

    made_by = get_completion_class(shell)
    assert made_by is not None
    click.echo(made_by(cli, {}, "poolsize", "_POOLSIZE_COMPLETE").source())
