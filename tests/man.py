"""The manual pages, made from the help: python -m tests.man FOLDER."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from poolsize.command_line.grouped_command import GroupedCommand
from poolsize.commands import COMMANDS, GROUPS, START, cli


def escaped(text: str) -> str:
    """Return a text that roff prints as it is: backslashes, hyphens that can be copied, dots and quotes in front."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^([.'])", r"\\&\1", plain, flags=re.MULTILINE)


def item(term: str, text: str) -> Iterator[str]:
    """Yield the lines of an entry of a list."""
    yield from (".TP", f"\\fB{escaped(term)}\\fR", escaped(" ".join(text.split())))


def commands_listed(commands: dict[str, str]) -> Iterator[str]:
    """Yield the lines of an example section: what each command does, and the command."""
    for purpose, command in commands.items():
        yield from (".PP", escaped(f"{purpose}:"), ".PP", ".EX", escaped(f"    {command}"), ".EE")


def heading(name: str, short: str) -> Iterator[str]:
    """Yield the first lines of a page. short: what the command does."""
    title, release = name.upper(), f"poolsize {version('poolsize')}"
    yield from (f'.TH "{escaped(title)}" 1 "" "{release}" "{release}"', ".SH NAME")
    yield f"{escaped(name)} \\- {escaped(short.rstrip('.'))}"


def main_page() -> Iterator[str]:
    """Yield the lines of poolsize(1)."""
    yield from heading("poolsize", str(cli.help).splitlines()[0])
    yield from (".SH SYNOPSIS", "\\fBpoolsize\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]", ".SH EXAMPLES")
    yield from commands_listed(START)
    for title, commands in GROUPS.items():
        yield f'.SH "{escaped(title.upper())}"'
        for name, text in commands.items():
            yield from item(f"poolsize-{name}(1)", text)


def page(name: str) -> Iterator[str]:
    """Yield the lines of a command's page, with all of its options."""
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, GroupedCommand)
    context = click.Context(command, click.Context(cli, info_name="poolsize"), info_name=name)
    yield from heading(f"poolsize-{name}", COMMANDS[name])
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", f"\\fBpoolsize {name}\\fR {escaped(usage)}", ".SH DESCRIPTION")
    for paragraph in str(command.help).split("\n\n"):
        yield from (".PP", escaped(" ".join(paragraph.split())))
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    for title, group in command.in_groups(options).items():
        yield f'.SH "{escaped(title.upper())}"'
        for option in group:
            names, text = option.get_help_record(context) or ("", "")
            yield from item(names, text)
    yield ".SH EXAMPLES"
    yield from commands_listed(dict(command.examples))
    yield from (".SH SEE ALSO", "\\fBpoolsize\\fR(1)")


def main(folder: Path) -> None:
    """Write every page into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"poolsize": main_page(), **{f"poolsize-{name}": page(name) for name in COMMANDS}}
    for name, lines in pages.items():
        (folder / f"{name}.1").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
