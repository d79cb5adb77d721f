"""What SHOW GLOBAL STATUS and SHOW VARIABLES print -> the server's counters and settings."""

import re
from collections.abc import Iterator

from poolsize.pool_config.files.option_file import server_settings
from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.server import SERVER, STATUS
from poolsize.pool_config.pool import FilePool, FileSetting

LINE = re.compile(
    r"\s*\|?\s*['\"]?(?P<name>[A-Za-z_]{3,64})['\"]?\s*[|\t,;=: ]\s*['\"]?(?P<value>[\w.+-]{1,64})['\"]?\s*\|?\s*"
)
"""A row with a name and a value: of a table, separated by a tab or a comma, or NAME=VALUE."""
VERTICAL = re.compile(r"\s*(?P<what>Variable_name|VARIABLE_NAME|Value|VARIABLE_VALUE):\s(?P<text>.{0,200})")
"""A line of a row that \\G prints on two lines."""


def status_pools(text: str) -> list[FilePool]:
    """Return the server's counters, and its settings where the text has any."""
    rows = list(_rows(text))
    counters = {
        name: FileSetting(name, value, value_of(value), line)
        for name, value, line in rows
        if name in STATUS.defaults and value.isdecimal()
    }
    settings = server_settings([(name, value, line) for name, value, line in rows if name == name.lower()])
    pools = [FilePool(STATUS, "", counters)] if counters else []
    return [*pools, FilePool(SERVER, "SHOW VARIABLES", settings)] if settings else pools


def _rows(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, value and line of each row."""
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := VERTICAL.fullmatch(line):
            if match["what"].lower() == "variable_name":
                name = match["text"].strip()
            else:
                yield name, match["text"].strip(), number
        elif match := LINE.fullmatch(line[:300]):
            yield match["name"], match["value"], number
