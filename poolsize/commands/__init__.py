"""The command line: a file for each command; here errors become text and exit codes."""

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from poolsize.errors import BadInput, Interrupted, PoolsizeError, did_you_mean
from poolsize.terminal import guarded_output

START = {
    "In a second": "poolsize recommend --cores 8",
    "Your traffic": "poolsize recommend --rate 400/s --usage-time 15ms --instances 6",
    "In production": "poolsize observe --prometheus http://localhost:9090",
    "Measured": "poolsize sweep",
}
"""Kind of answer -> the command to start with."""
GROUPS = {
    "Get a number": {
        "recommend": "Recommend a pool size: from the formula, from a measured run, or for a traffic.",
        "demo": "Play a stored search again, in 20 s and without a database, and show its answer.",
        "calculator": "Write a web page that computes the formula and the pool size for your traffic.",
        "explain": "Explain an error of a pool or of the server: causes, and what to look at next.",
    },
    "Measure": {
        "sweep": "Measure pool sizes on a real server, and recommend a pool size.",
        "observe": "Read what the pools of production count, without load, and recommend a pool size.",
        "capture": "Write a workload for a sweep from what a server in production ran.",
        "application": "Create or test the file that describes your application, for sweep --application.",
    },
    "Put it to use": {
        "config": "Write the configuration of a connection pool, with the reason of each setting.",
        "fleet": "Divide the database's connections among services, instances and processes.",
        "analyze": "Show the figures of a run by pool size, and plot them.",
        "compare": "Compare runs, and show which differences are significant.",
        "report": "Write the answer, reasons and plots of a run or an observation to a file.",
    },
    "Advanced": {
        "predict": "Predict throughput and latency with other cores, round trips or users.",
        "scenario": "Repeat a published experiment on this machine.",
        "import": "Convert the files of other load tools to a recording or a run.",
        "notebook": "Open a notebook on a run, on several runs, or on an observation.",
        "completion": "Print the script that completes commands, options and names in your shell.",
    },
}
"""Heading -> its commands and what they do. The documentation's pages have the same headings."""
COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}
MODULES = {
    "calculator": "poolsize.calculator.command",
    "capture": "poolsize.capture.command",
    "compare": "poolsize.comparison.command",
    "explain": "poolsize.explanation.command",
    "config": "poolsize.pool_config.command",
    "import": "poolsize.commands.import_logs",
    "observe": "poolsize.observe.command",
    "predict": "poolsize.predict.command",
    "scenario": "poolsize.experiments.command",
    "application": "poolsize.service_under_test.command",
}
"""Command -> its module, where that is a wing's, or has another name than the command."""
LEFT_OUT = {
    ("config", "--cores"): "config needs no cores: the pool size follows from --rate, --size or --run",
    ("config", "--observation"): "its answer ends with the command for the configuration",
    ("config", "--wait-limit"): "in config, the pool's timeout follows from --caller-timeout",
}
"""Command and an option of another command -> why the former does not have it."""


def module_of(command: str) -> str:
    """Return the name of a command's module."""
    return MODULES.get(command, f"poolsize.commands.{command}")


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, so that a quick command starts quickly."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line; `help COMMAND` means `COMMAND --help`, and no words mean `--help`."""
        asks_for_help = args[:1] == ["help"] or not (args or ctx.resilient_parsing)
        return super().parse_args(ctx, [*args[1:], "--help"] if asks_for_help else args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the names of all commands, in the order in which a user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        """Return a command, imported from its module; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        function = "import_logs" if cmd_name == "import" else cmd_name  # a keyword of Python names no function
        command: click.Command = getattr(import_module(module_of(cmd_name)), function)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands to start with, all commands without importing them, and the options."""
        with formatter.section("Start here"):
            formatter.write("".join(f"  {answer:<14}{command}\n" for answer, command in START.items()))
        width = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in commands.items()])
        click.Command.format_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command's name, the command and its arguments. Raises BadInput for an unknown name."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            way_out = did_you_mean(args[0], COMMANDS) or f": the commands are {', '.join(COMMANDS)}"
            raise BadInput(f"{args[0]} is not a command{way_out}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Raises its PoolsizeError again, with flags in place of the parameters in backticks."""
        try:
            return super().invoke(ctx)
        except PoolsizeError as error:
            from poolsize.command_line.sweep_options import in_flags

            command = self.get_command(ctx, ctx.invoked_subcommand) if ctx.invoked_subcommand else None
            error.args = (in_flags(str(error), command),)
            raise
        except OSError as error:
            if error.filename is None:
                raise
            raise BadInput(f"{error.filename}: {error.strerror}") from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(None, "-V", "--version", package_name="poolsize")
def cli() -> None:
    """Measure MySQL and MariaDB, and recommend the size of a connection pool.

    `poolsize help COMMAND` shows the options of a command.
    """


def main() -> None:
    """Run a command; an error becomes a line on standard error and an exit code."""
    # The matrices here are small: threads would cost more than they save, and take cores from the load.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without the letters that draw a curve shows others
    with guarded_output():
        try:
            cli(standalone_mode=False)
            _die_of_ctrl_c()
        except PoolsizeError as error:
            _end(str(error), error.exit_code)
        except click.ClickException as error:
            _end(" ".join(message_of(error).split()), BadInput.exit_code)
        except (click.Abort, KeyboardInterrupt):
            _end("interrupted", Interrupted.exit_code)


def message_of(error: click.ClickException) -> str:
    """Return an error's text, with the way out of an argument or an option that a command does not have."""
    text, context = error.format_message(), error.ctx if isinstance(error, click.UsageError) else None
    if context is None or context.info_name is None:
        return text
    if isinstance(error, click.NoSuchOption):
        command, option = context.info_name, error.option_name
        others = [name for name in COMMANDS if name != command and _has_option(name, option)]
        why = LEFT_OUT.get((command, option))
        return f"{error.message} poolsize {others[0]} has it{f'; {why}' if why else ''}." if others else text
    has_run = any("--run" in parameter.opts for parameter in context.command.params)
    return f"{text}: name a run with --run" if has_run and "unexpected extra argument" in text else text


def _has_option(name: str, option: str) -> bool:
    command = cli.get_command(click.Context(cli), name)
    return command is not None and any(option in parameter.opts for parameter in command.params)


def _end(message: str, code: int) -> None:
    _die_of_ctrl_c()
    click.echo(f"poolsize: error: {message}", err=True)
    sys.exit(code)


def _die_of_ctrl_c() -> None:
    """Let a further Ctrl-C end the process at once: Python, which waits for its threads at the end, has a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
