"""Files of sections with NAME = VALUE -> pools: of PHP-FPM (www.conf) and MaxScale (maxscale.cnf)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.frameworks import PHP_FPM
from poolsize.pool_config.libraries.proxies import MAXSCALE
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value

OF_PHP = re.compile(r"php_(?:admin_)?(?:value|flag)\[([\w.]{1,60})\]")
"""A setting of PHP itself in a file of PHP-FPM."""
Section = Mapping[str, tuple[str, int]]
"""Name -> its value and its line."""


def fpm_pools(text: str) -> list[FilePool]:
    """Return the pools of workers of PHP-FPM; none of another .conf file."""
    if "pm.max_children" not in text:
        return []
    sections = _sections(text, comments=";#")
    return [_pool(PHP_FPM, name, values, value_of) for name, values in sections.items() if "pm.max_children" in values]


def is_maxscale(text: str, _: str) -> bool:
    """Return whether an option file is MaxScale's, not the server's."""
    return re.search(r"^[ \t]{0,40}type[ \t]{0,40}=[ \t]{0,40}server\b", text, re.MULTILINE) is not None


def maxscale_pools(text: str) -> list[FilePool]:
    """Return the servers that a MaxScale connects to, each with the settings of its services."""
    sections = _sections(text, comments="#;")
    services = [values for values in sections.values() if _text(values, "type") == "service"]
    return [
        replace(
            _pool(MAXSCALE, "maxscale", _of_services(name, services) | values, _seconds), alternative=f"server {name}"
        )
        for name, values in sections.items()
        if _text(values, "type") == "server"
    ]


def _of_services(server: str, services: Sequence[Section]) -> dict[str, tuple[str, int]]:
    """Return the settings of the services with a server; a service that names no servers may have any."""
    settings: dict[str, tuple[str, int]] = {}
    for service in services:
        if "servers" not in service or server in re.split(r"[,\s]{1,40}", _text(service, "servers")):
            settings |= service
    return settings


def _text(section: Section, name: str) -> str:
    return section[name][0] if name in section else ""


def _pool(library: Library, name: str, section: Section, value: Callable[[str], Value]) -> FilePool:
    settings = {
        setting: FileSetting(name, text, value(text), line)
        for name, (text, line) in section.items()
        if (setting := library.setting(OF_PHP.sub(r"\1", name), relaxed=True))
    }
    return FilePool(library, name, settings)


def _sections(text: str, comments: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Return the values of each section; under "", those before the first.

    comments: signs that begin a comment, also after a value and a space.
    """
    values: dict[str, tuple[str, int]] = {}
    sections = {"": values}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("[") and line.endswith("]"):
            values = sections.setdefault(line[1:-1].strip(), {})
        elif line and line[0] not in comments:
            name, _, value = line.partition("=")
            for sign in comments:
                value = value.split(f" {sign}")[0]
            values[name.strip()] = (value.strip().strip("\"'"), number)
    return sections


def _seconds(text: str) -> Value:
    """Return a number; of a duration of MaxScale, such as 300s, its seconds."""
    value = value_of(text.removeprefix("-"), durations=True)
    if not isinstance(value, int | float):
        return value
    seconds = value / 1000 if text[-1:].isalpha() else value
    return -seconds if text.startswith("-") else seconds
