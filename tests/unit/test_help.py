"""The help: where to start, the groups of commands and options, and examples that work."""

import re
import shlex
import shutil
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from poolsize.command_line.grouped_command import OUTPUT, GroupedCommand
from poolsize.commands import COMMANDS, GROUPS, START, cli
from poolsize.files import shipped
from tests.conftest import EXAMPLES, Command

CONTEXT = click.Context(cli, info_name="poolsize")
LONGEST_LINE = 80
NEEDS_MORE = (
    "sweep", "observe", "capture", "notebook", "import", "scenario exhaustion", "application check", "explain <",
    "config --check", "demo",
)  # fmt: skip
"""Beginnings of examples that need a server, a program or files of the user's, or 20 s."""
ARGUMENTS = ("run", "further", "more")
"""Names of arguments, which are in no group of the help."""


def command_of(name: str) -> GroupedCommand:
    command = cli.get_command(CONTEXT, name)
    assert isinstance(command, GroupedCommand)
    return command


SHOWN = [*START.values(), *(line for name in COMMANDS for line in command_of(name).examples.values())]
"""All commands that the help shows."""


def test_the_help_begins_with_where_to_start_and_lists_every_command_in_its_group(poolsize_here: Command) -> None:
    text = poolsize_here("--help").stdout
    headings = [line.removesuffix(":") for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Start here", *GROUPS, "Options"]
    start = text.partition("Start here:\n")[2].partition("\n\n")[0].splitlines()
    assert [line[16:] for line in start] == list(START.values())
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_one_to_three_examples(poolsize_here: Command, name: str) -> None:
    examples = command_of(name).examples
    lines = [part for purpose, command in examples.items() for part in (f"  # {purpose}", f"  {command}")]
    assert poolsize_here(name, "--help").stdout.splitlines()[-len(lines) - 1 :] == ["Examples:", *lines]
    assert 1 <= len(examples) <= 3
    assert max(map(len, lines)) <= LONGEST_LINE


@pytest.mark.costly
@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_the_help_shows_works(poolsize_here: Command, tmp_path: Path, line: str) -> None:
    for name, run in {"run": "search-mariadb", "before": "scan-mariadb", "after": "scan-mysql"}.items():
        shutil.copy(EXAMPLES[run], tmp_path / f"{name}.jsonl")
    shutil.copy(shipped("data/examples/observation.jsonl"), tmp_path)
    typed = re.split(" [<>] ", line.removeprefix('eval "$(').removesuffix(')"'))[0]
    program, name, *words = shlex.split(typed)
    assert program == "poolsize"
    command_of(name).make_context(name, [*words], CONTEXT)  # parses them
    if not line.removeprefix("poolsize ").startswith(NEEDS_MORE):
        done = poolsize_here(name, *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["recommend", "completion"])
def test_help_before_a_command_is_the_help_of_the_command(poolsize_here: Command, name: str) -> None:
    assert poolsize_here("help", name).stdout == poolsize_here(name, "--help").stdout
    assert poolsize_here("help").stdout == poolsize_here("--help").stdout
    assert poolsize_here("help", "frob").stderr.startswith("poolsize: error: frob is not a command")


def test_a_capital_v_prints_the_version(poolsize_here: Command) -> None:
    assert poolsize_here("-V").stdout == poolsize_here("--version").stdout
    assert poolsize_here("-V").stdout.endswith(f", version {version('poolsize')}\n")


@pytest.mark.parametrize("name", ["recommend", "fleet", "config", "analyze"])
def test_the_options_of_a_command_are_in_groups_that_end_with_the_output(poolsize_here: Command, name: str) -> None:
    command = command_of(name)
    of_output = {parameter.name for parameter in command.in_groups(command.params)[OUTPUT]}
    assert of_output <= {"why", "as_json", "form", "plot", "help_all", *ARGUMENTS}
    text = poolsize_here(name, "--help").stdout
    headings = [line.removesuffix(":") for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [*command.groups, OUTPUT, "Examples"]


def test_what_the_help_leaves_out_is_in_the_full_help(poolsize_here: Command) -> None:
    short, full = poolsize_here("recommend", "--help").stdout, poolsize_here("recommend", "--help-all").stdout
    assert "poolsize recommend --help-all" in short
    assert ("[default: this machine's]" in short, "[default: this machine's]" in full) == (False, True)
