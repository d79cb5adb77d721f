"""The help: where to start, the groups of commands and options, and examples that work.

Every command has a manual page with all of its options. A shell itself completes commands, options, names and files.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from poolsize.command_line.grouped_command import OUTPUT, GroupedCommand
from poolsize.commands import COMMANDS, GROUPS, START, cli
from poolsize.files import shipped, workloads
from tests.conftest import EXAMPLES, Command
from tests.man import main

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
    assert ("[default: this machine's;" in short, "[default: this machine's;" in full) == (False, True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    main(folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option_of_its_command(pages: Path, name: str) -> None:
    text = (pages / f"poolsize-{name}.1").read_text().replace("\\-", "-")
    flags = [flag for option in command_of(name).params if isinstance(option, click.Option) for flag in option.opts]
    assert [flag for flag in flags if f"\\fB{flag}" not in text] == []
    assert f"poolsize-{name}(1)" in (pages / "poolsize.1").read_text().replace("\\-", "-")


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("groff"), reason="no groff on this machine")
def test_groff_formats_the_pages_without_a_warning(pages: Path) -> None:
    command = ["groff", "-man", "-Kutf8", "-ww", "-z", *sorted(map(str, pages.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


BASH = """
eval "$(poolsize completion bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { COMPREPLY=("files:$*"); }
_poolsize_completion poolsize
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { }
_path_files() { print files }
compadd() { print -l -- $completions }
_describe() { print -l -- ${completions_with_descriptions%%:*} }
eval "$(poolsize completion zsh)"
words=("$@") CURRENT=$#
_poolsize_completion
"""
FISH = """
poolsize completion fish | source
complete --do-complete "$argv" | string replace --regex '\\t.*' ''
"""
SHELLS = {
    "bash": ["bash", "--norc", "-c", BASH, "bash"],
    "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
    "fish": ["fish", "--no-config", "-c", FISH],
}
"""Shell -> how it completes the last of the words that follow; click's functions run, without a terminal."""


def completed(shell: str, folder: Path, words: list[str]) -> list[str]:
    """What a shell offers in a folder for the last of the words."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    given = [" ".join(words)] if shell == "fish" else words
    done = subprocess.run(
        [*SHELLS[shell], *given], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_names(shell: str, tmp_path: Path) -> None:
    asked = ["poolsize", "sweep", "--workload", "oltp"]
    assert completed(shell, tmp_path, asked) == [name for name in workloads() if name.startswith("oltp")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("not", ["notebook"]),
        ("help rec", ["recommend"]),
        ("recommend --max-p", ["--max-p95", "--max-p99"]),
        ("config --for hik", ["hikaricp"]),
        ("scenario exh", ["exhaustion"]),
        ("completion f", ["fish"]),
        ("analyze a", ["a.jsonl"]),
        ("recommend --run ./", ["./a.jsonl"]),
        ("sweep --resume ", ["a.jsonl"]),
        ("sweep --workload my", ["files:-o", "default"]),
        ("sweep --application ", ["files:-o", "default"]),
        ("config --for x", []),
    ],
)
def test_bash_completes_what_comes_next(tmp_path: Path, words: str, offered: list[str]) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "a.txt").touch()
    assert completed("bash", tmp_path, ["poolsize", *words.split(" ")]) == offered


@pytest.mark.long
def test_without_a_run_here_those_of_sweeps_are_completed(tmp_path: Path) -> None:
    runs = tmp_path / "data" / "runs"
    runs.mkdir(parents=True)
    (runs / "b.jsonl").touch()
    assert completed("bash", tmp_path, ["poolsize", "report", ""]) == ["data/runs/b.jsonl"]
