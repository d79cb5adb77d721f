"""The server's option file, my.cnf, and the options of its command -> the settings of the server."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from poolsize.errors import BadInput
from poolsize.pool_config.files.values import plain, value_of
from poolsize.pool_config.libraries.server import SERVER
from poolsize.pool_config.pool import FilePool, FileSetting, Value

SECTION = re.compile(r"(?:mysqld|server|mariadbd?|galera)(?P<own>-\d[\d.]{0,9}|\d{1,9})?")
"""Sections of an option file that the server reads. own: of a single version, or of a single server of mysqld_multi."""
SIZE = re.compile(r"(\d{1,15})([KMGTPE])", re.IGNORECASE)
UNITS = "KMGTPE"
VALUE = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|([^#]*))")
"""A value in quotes, or up to a comment."""
LOOSE, SET = "loose_", "set_variable"
"""A prefix that lets other servers ignore an option, and the syntax of MySQL 4: set-variable = NAME=VALUE."""


def server_pools(text: str) -> list[FilePool]:
    """Return the settings of the server's sections; those of a single version or server have all others, too.

    Raises BadInput for a text that is not an option file.
    """
    included: list[FileSetting] = []
    sections: dict[str, dict[str, FileSetting]] = {"": {}}
    own, place, started = None, "", False
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            name, _, folder = line.partition(" ")
            included.append(FileSetting(name, folder.strip(), None, number))
        elif line[0] == "[":
            started, match = True, SECTION.fullmatch(line[1:].partition("]")[0].strip())
            own = match and (line.partition("]")[0] + "]" if match["own"] else "")
            place = place or (line.partition("]")[0] + "]" if own == "" else "")
        elif not started:
            raise BadInput(f"this is not an option file: line {number} is neither [section] nor in a section")
        elif own is not None:
            name, equals, value = line.partition("=")
            sections.setdefault(own, {}).update(server_settings([(name, value, number)] if equals else []))
    shared = sections.pop("")
    every = [(place, shared), *((name, {**shared, **settings}) for name, settings in sections.items())]
    return [
        FilePool(SERVER, name, settings, complete=not included, elsewhere=tuple(included))
        for name, settings in every
        if settings or (included and name == place)
    ]


def server_settings(options: Sequence[tuple[str, str, int]]) -> dict[str, FileSetting]:
    """Return the server's settings among options: name, value and line of each. A later value replaces an earlier one.

    Names may have dashes, underscores and the prefix loose_.
    """
    settings = {}
    for written, text, line in options:
        name, value = written.strip(), text
        if _plain(name) == SET:
            name, _, value = (part.strip() for part in value.partition("="))
        if setting := SERVER.setting(_plain(name).removeprefix(LOOSE), relaxed=True):
            match = VALUE.match(value)
            value = next((part for part in match.groups() if part is not None), "").strip() if match else ""
            settings[setting] = FileSetting(name, value, server_value(value), line)
    return settings


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def server_value(text: str) -> Value:
    """Return the value of an option of the server, in which 2K is 2,048."""
    match = SIZE.fullmatch(text)
    return int(match[1]) * 1024 ** (UNITS.index(match[2].upper()) + 1) if match else value_of(plain(text))


def command_options(words: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield name, value and line of each option among the words of a command: --NAME=VALUE or --NAME VALUE."""
    for (word, line), (following, _) in pairwise([*words, ("", 0)]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name, value if equals else "" if following.startswith("-") else following, line
