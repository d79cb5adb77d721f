"""The server's option file, my.cnf -> the settings of the server."""

import configparser
from collections.abc import Sequence

from poolsize.errors import BadInput
from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.server import SERVER
from poolsize.pool_config.pool import FilePool, FileSetting

SECTIONS = ("mysqld", "server", "mariadb", "mariadbd")
"""Sections of an option file that the server reads; their names may end in a version, after a hyphen."""


def server_pools(text: str) -> list[FilePool]:
    """Return the settings of the server's sections. Raises BadInput for a text that is not an option file."""
    parser = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, delimiters=("=",), inline_comment_prefixes=("#",),
        default_section="",
    )  # fmt: skip
    lines = [line.strip() for line in text.splitlines()]
    try:
        parser.read_string("\n".join("" if line.startswith("!") else line for line in lines))  # !includedir
    except configparser.Error as error:  # its text would quote the line, which may hold a password
        first = getattr(error, "errors", [(getattr(error, "lineno", 1), "")])[0][0]
        raise BadInput(
            f"this is not an option file: line {first} is neither [section] nor NAME=VALUE in a section"
        ) from None
    settings: dict[str, FileSetting] = {}
    place = ""
    for section in parser.sections():
        if section.split("-")[0] not in SECTIONS:
            continue
        for name, value in parser[section].items():
            if value is not None and (setting := SERVER.setting(name, relaxed=True)):
                settings[setting] = FileSetting(name, value, value_of(value.strip("'\"")), _line(lines, section, name))
                place = f"[{section}]"
    return [FilePool(SERVER, place, settings)] if settings else []


def _line(lines: Sequence[str], section: str, name: str) -> int:
    """Return the last line of a section that sets a name."""
    found, inside = 1, False
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            inside = line.startswith(f"[{section}]")
        elif inside and line.split("=")[0].strip().lower() == name:
            found = number
    return found
