"""Text <-> value: readers of the command line's options, and writers of their values.

A reader returns the value of a text and raises ValueError with the way out; `read` adds the parameter's name to that.
A writer is the inverse of a reader: `seconds(write_seconds(value)) == value`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from poolsize.bounds import LARGEST_POOL
from poolsize.errors import BadInput

if TYPE_CHECKING:  # pathlib and pydantic stay out of `poolsize recommend --cores 8`
    from pathlib import Path

    from poolsize.runs.plan import PoolKind

T = TypeVar("T")

MILLISECONDS = {"ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
"""Milliseconds in each unit of a duration. The unit is required: people mean ms as often as s."""
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "": 1.0}
"""Seconds in each unit; a duration of a step, a search or a timeout without a unit is in seconds.

A table of its own, so that a written number of seconds is read again to the last digit.
"""
OWN_SCHEMA = "poolsize"
"""The schema that a sweep makes and drops, where it uses no schema of the user's."""
RESERVED_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys"}
LONGEST_SCHEMA = 64
RESERVED = frozenset({
    "admin_address", "admin_port", "basedir", "bind_address", "bootstrap", "chroot", "daemonize", "datadir",
    "defaults_extra_file", "defaults_file", "defaults_group_suffix", "help", "init_file", "initialize",
    "initialize_insecure", "local_infile", "login_path", "mysqlx", "mysqlx_bind_address", "mysqlx_port",
    "mysqlx_socket", "no_defaults", "pid_file", "port", "print_defaults", "secure_file_priv", "skip_grant_tables",
    "skip_name_resolve", "skip_networking", "socket", "user", "version",
})  # fmt: skip
"""Variables of a private server that are poolsize's own: its files, where it listens, who may log in, its life."""
PER = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600}
"""Unit of a rate -> its seconds."""
_VARIABLE = r"[a-z][a-z0-9_.]*"
_WITH_SEPARATORS = r"[0-9]{1,3}(?:,[0-9]{3})+"
_PREFIX = r"(?:loose|skip|disable|enable|maximum)_"
"""Regular expressions, which only the readers that need them compile."""


def read(name: str, text: str, reader: Callable[[str], T]) -> T:
    """Return the value of a parameter's text. Raises BadInput that names the parameter, the text and the way out."""
    try:
        return reader(text)
    except ValueError as error:
        raise BadInput(f"`{name}` {text}: {error}") from None


def milliseconds(text: str) -> float:
    """Return a duration with its unit ("550ms", "15s", "2m") in milliseconds; 0 needs no unit. Raises ValueError."""
    try:
        unitless = float(text)
    except ValueError:
        return _duration(text, MILLISECONDS)
    if unitless:
        raise ValueError(f"a time needs a unit: write {text.strip()}ms or {text.strip()}s")
    return 0.0


def positive_milliseconds(text: str) -> float:
    """Return a duration above 0 in milliseconds. Raises ValueError."""
    value = 0.0 if not text.strip() or text.strip().startswith("-") else milliseconds(text)
    if not value:
        raise ValueError("give a time above 0, such as 20ms")
    return value


def seconds(text: str) -> float:
    """Return a duration ("550ms", "15s", "2m" or seconds, "15") in seconds. Raises ValueError."""
    return _duration(text, SECONDS)


def whole_seconds(text: str) -> int:
    """Return a duration in whole seconds: steps are recorded by the second. Raises ValueError for a fraction."""
    value = seconds(text)
    if value != int(value):
        raise ValueError(f"give whole seconds, such as {round(value) or 1}s")
    return int(value)


def whole_number(text: str) -> int:
    """Return a whole number. Raises ValueError."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("give a whole number, such as 4") from None


def decimal(text: str) -> float:
    """Return a number; 20,000 as well as 20000. Raises ValueError."""
    try:
        return float(text.replace(",", "") if re.fullmatch(_WITH_SEPARATORS, text.strip()) else text)
    except ValueError:
        raise ValueError("give a number, such as 500") from None


def rate_per_second(text: str) -> float:
    """Return "400/s", "400" or "24000/min" as a rate per second, above 0. Raises ValueError."""
    number, per, unit = text.partition("/")
    try:
        rate = decimal(number) / (PER[unit.strip()] if per else 1)
    except (KeyError, ValueError):
        rate = 0.0
    if not rate > 0:
        raise ValueError("give a rate per second, such as 400/s, or per minute, such as 24000/min")
    return rate


def share(text: str) -> float:
    """Return "2%" or "0.02" as a share above 0 and below 1. Raises ValueError."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError("give a share between 0 and 100 %, such as 2%")
    return value


def pool_sizes(text: str) -> tuple[int, ...]:
    """Return "1,4,8,16" as ascending pool sizes without repetition. Raises ValueError naming the wrong part."""
    return _whole_numbers(text, LARGEST_POOL, "a pool size", "1,4,8,16")


def percentages(text: str) -> tuple[int, ...]:
    """Return "70,80,90" as ascending percentages from 1 to 99. Raises ValueError naming the wrong part."""
    return _whole_numbers(text, 99, "a percentage of the capacity", "70,80,90")


def server_variable(text: str) -> tuple[str, str]:
    """Return "NAME=VALUE" as a server variable's name, with underscores, and value. Raises ValueError."""
    name, equals, value = text.partition("=")
    name = name.strip("-").replace("-", "_")
    if not equals or not re.fullmatch(_VARIABLE, name):
        raise ValueError("write NAME=VALUE, for example thread_handling=pool-of-threads")
    if own := reserved_by(name):
        raise ValueError(f"{own} is poolsize's own to set; leave it out")
    return name, value


def reserved_by(name: str) -> str | None:
    """Return the variable of poolsize's own that a name would set; None where it sets none of them."""
    names = [name]  # servers also take the beginning of a name for the whole, and prefixes such as `loose_`
    while prefix := re.match(_PREFIX, names[-1]):
        names.append(names[-1][prefix.end() :])
    return next((own for own in sorted(RESERVED) for each in names if each and own.startswith(each)), None)


def pool_kind(text: str) -> "PoolKind":
    """Return the kind of pool of this name. Raises ValueError."""
    from poolsize.runs.plan import PoolKind

    try:
        return PoolKind(text)
    except ValueError:
        raise ValueError(f"give {' or '.join(PoolKind)}") from None


def schema_name(text: str) -> str | None:
    """Return the name of a schema that holds a user's own data, or None for an empty text. Raises ValueError."""
    if text in RESERVED_SCHEMAS:
        raise ValueError("that schema is the server's own; name a schema that holds your data")
    if text == OWN_SCHEMA:
        raise ValueError(f"a sweep uses poolsize's schema {OWN_SCHEMA} by itself; leave it out")
    if len(text) > LONGEST_SCHEMA or "`" in text:
        raise ValueError(f"a schema's name has up to {LONGEST_SCHEMA} characters and no backtick")
    return text or None


def switched_on(_: str) -> bool:
    """Return True: a switch has no value."""
    return True


def optional_text(text: str) -> str | None:
    """Return the text, or None where it is empty."""
    return text or None


def path(text: str) -> "Path":
    """Return the path."""
    from pathlib import Path

    return Path(text)


def optional_path(text: str) -> "Path | None":
    """Return the path, or None where the text is empty."""
    return path(text) if text else None


def write_decimal(value: float) -> str:
    """Write a number: 500, 1.5; in full where six digits are too few."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def write_milliseconds(value: float) -> str:
    """Write milliseconds: 5.5ms."""
    return f"{write_decimal(value)}ms"


def write_seconds(value: float) -> str:
    """Write seconds: 30s."""
    return f"{write_decimal(value)}s"


def write_whole_numbers(values: Iterable[int]) -> str:
    """Write whole numbers: 1,4,8,16."""
    return ",".join(map(str, values))


def write_server_variable(variable: tuple[str, str]) -> str:
    """Write a server variable: thread_handling=pool-of-threads."""
    return "=".join(variable)


def _duration(text: str, units: Mapping[str, float]) -> float:
    number = text.rstrip("msdh")
    try:
        value = float(number) * units[text[len(number) :]]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError("give a duration such as 550ms, 15s or 2m; its units are ms, s, m, h and d")
    return value


def _whole_numbers(text: str, most: int, meaning: str, example: str) -> tuple[int, ...]:
    """Return "1,4,8" as ascending numbers from 1 to most, without repetition. Raises ValueError."""
    values = set()
    for part in map(str.strip, text.split(",")):
        if not part.isdecimal() or not 1 <= int(part) <= most:
            raise ValueError(
                f"{part or 'an empty place'!r} is not {meaning}; give whole numbers from 1 to {most:,}, separated by "
                f"commas, e.g. {example}"
            )
        values.add(int(part))
    return tuple(sorted(values))
