"""An option file of MySQL or MariaDB (my.cnf) -> the server's limits."""

import configparser

from poolsize.errors import BadInput
from poolsize.pool_files.found import FoundPool, FoundSetting, value_of
from poolsize.pool_files.library import SERVER, normalized

SECTIONS = ("mysqld", "server", "mariadb", "mariadbd")


def server_pools(text: str) -> list[FoundPool]:
    """Return the settings of the server's sections. Raises BadInput for a text that is no option file."""
    parser = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, delimiters=("=",), inline_comment_prefixes=("#",)
    )
    lines = ["" if line.startswith("!") else line for line in text.splitlines()]  # !includedir
    try:
        parser.read_string("\n".join(lines))
    except configparser.Error as error:
        raise BadInput(f"no option file: {' '.join(str(error).split())}") from None
    settings: dict[str, FoundSetting] = {}
    for section in parser.sections():
        if section.split("-")[0] in SECTIONS:
            for name, value in parser[section].items():
                if value is not None and (setting := SERVER.setting(name)):
                    settings[setting] = FoundSetting(name, value, value_of(value), _line(lines, section, name))
    return [FoundPool(SERVER, "[mysqld]", settings)] if settings else []


def _line(lines: list[str], section: str, name: str) -> int:
    """Return the last line of a section that sets a name."""
    found, inside = 1, False
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("["):
            inside = line.strip() == f"[{section}]"
        elif inside and normalized(line.split("=")[0].strip()) == normalized(name):
            found = number
    return found
