"""TOML -> pools: the databases of Rocket, and settings of a project's own code."""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from poolsize.errors import BadInput
from poolsize.pool_config.files.keys import pool_of, pools_of
from poolsize.pool_config.files.values import Entry
from poolsize.pool_config.libraries.other_languages import ROCKET, ROCKET_SYNC
from poolsize.pool_config.pool import FilePool


def toml_pools(text: str) -> list[FilePool]:
    """Return the pools of MySQL in TOML. Raises BadInput for a text that is not TOML."""
    try:
        root = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # its text does not quote the file
        raise BadInput(f"this is not TOML: {error}") from None
    lines = text.splitlines()
    headers: dict[str, list[int]] = {}
    for number, each in enumerate(lines):
        if each.startswith("[["):
            headers.setdefault(each.partition("]]")[0][2:], []).append(number)
    entries = list(_entries(root, (), lines, headers, 0))
    return list(_of_rocket(entries)) or pools_of(entries)


def _entries(
    table: Mapping[str, Any], path: tuple[str, ...], lines: Sequence[str], headers: Mapping[str, list[int]], start: int
) -> Iterator[Entry]:
    """Yield the values of a table that begins at a line: each at the next line with its name.

    headers: name of an array of tables -> the lines with it in [[ ]].
    """
    for name, value in table.items():
        start = next(_lines_with(name, lines, start), start)
        if isinstance(value, dict):
            yield from _entries(value, (*path, name), lines, headers, start)
        elif isinstance(value, list):
            tables = [each for each in value if isinstance(each, dict)]
            own = headers.get(".".join(part for part in (*path, name) if not part.isdigit()), [])
            first = next((key for each in tables for key in each), "")  # inline tables have no header
            found = iter(own[bisect_left(own, start) :]) if own else _lines_with(first, lines, start)
            for place, each in enumerate(tables):
                yield from _entries(each, (*path, name, str(place)), lines, headers, next(found, start))
        elif isinstance(value, str | int | float):
            yield Entry((*path, name), str(value), start + 1)


def _lines_with(name: str, lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the lines from a line on that have a name: a line as often as it has the name."""
    named = re.compile(rf"(?:^|[\s.{{,\[\"']){re.escape(name)}[\"'\s]*[=.\]]")
    return (number for number in range(start, len(lines)) for _ in named.finditer(lines[number]))


def _of_rocket(entries: Sequence[Entry]) -> Iterator[FilePool]:
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.path[:-1], []).append(entry)
    for prefix, group in groups.items():
        texts = {entry.path[-1]: entry.text for entry in group}
        if prefix[-2:-1] == ("databases",) and texts.get("url", "").startswith(("mysql://", "mariadb://")):
            pool = pool_of(ROCKET_SYNC if "pool_size" in texts else ROCKET, group)
            profile = f"profile {prefix[0]}" if len(prefix) > 2 else ""
            yield replace(pool, place=".".join(prefix[-2:]), alternative=profile)
