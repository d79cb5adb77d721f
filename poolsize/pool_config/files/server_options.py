"""An option file of MySQL or MariaDB (my.cnf) -> the server's limits."""

import configparser

from poolsize.errors import BadInput
from poolsize.pool_config.files.pool import FilePool, FileSetting, value_of
from poolsize.pool_config.library import SERVER

SECTIONS = ("mysqld", "server", "mariadb", "mariadbd")


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
        for name, text_value in parser[section].items():
            setting = SERVER.setting(name, relaxed=True)
            if text_value is not None and setting:
                value = value_of(text_value.strip("'\""))
                settings[setting] = FileSetting(name, text_value, value, _line(lines, section, name))
                place = f"[{section}]"
    return [FilePool(SERVER, place, settings)] if settings else []


def _line(lines: list[str], section: str, name: str) -> int:
    """Return the last line of a section that sets a name."""
    found, inside = 1, False
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            inside = line.startswith(f"[{section}]")
        elif inside and line.split("=")[0].strip().lower() == name:
            found = number
    return found
