"""Settings in sections, of servers, PHP-FPM and .ini files; of the server's command; and what SHOW STATUS prints."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from poolsize.errors import BadInput
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.values import Entry, is_number, plain, value_of
from poolsize.pool_config.libraries.other_languages import PHP_FPM
from poolsize.pool_config.libraries.server import MAXSCALE, SERVER, STATUS
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value, Variable

SECTION = re.compile(r"(?:mysqld|server|mariadbd?|galera)(?P<own>-\d[\d.]{0,9}|\d{1,9})?")
"""Sections of an option file that the server reads. own: of a single version, or of a single server of mysqld_multi."""
SIZE = re.compile(r"(\d{1,15})([KMGTPE])", re.IGNORECASE)
UNITS = "KMGTPE"
"""Of a size: 2K is 2,048."""
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
            size = SIZE.fullmatch(value)
            number = int(size[1]) * 1024 ** (UNITS.index(size[2].upper()) + 1) if size else value_of(plain(value))
            settings[setting] = FileSetting(name, value, number, line)
    return settings


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def command_options(words: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield name, value and line of each option among the words of a command: --NAME=VALUE or --NAME VALUE."""
    for (word, line), (following, _) in pairwise([*words, ("", 0)]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name, value if equals else "" if following.startswith("-") else following, line


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
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := VERTICAL.fullmatch(line):
            if match["what"].lower() == "variable_name":
                name = match["text"].strip()
            else:
                yield name, match["text"].strip(), number
        elif match := LINE.fullmatch(line[:300]):
            yield match["name"], match["value"], number


OF_PHP = re.compile(r"php_(?:admin_)?(?:value|flag)\[([\w.]{1,60})\]")
"""A setting of PHP itself in a file of PHP-FPM."""
Section = Mapping[str, tuple[str, int]]
"""Name -> its value and its line."""


def section_pools(text: str) -> list[FilePool]:
    """Return the pools of an application's file with sections, as those of Pyramid, Pylons and Airflow."""
    entries = [
        Entry((of, re.sub("sql_?alchemy[._]", "", name)), *value)
        for of, values in _sections(text).items()
        for name, value in values.items()
    ]
    return pools_of(entries)


def ini_pools(text: str) -> list[FilePool]:
    """Return the pools of an application's .ini file; else the server's settings. Raises BadInput as server_pools."""
    return section_pools(text) or server_pools(text)


def fpm_pools(text: str) -> list[FilePool]:
    """Return the pools of workers of PHP-FPM; none of another .conf file."""
    if "pm.max_children" not in text:
        return []
    sections = _sections(text)
    return [_pool(PHP_FPM, name, values, value_of) for name, values in sections.items() if "pm.max_children" in values]


OF_BEEGO = re.compile(r"^[ \t]{0,40}(?:appname|httpport|runmode)[ \t]{0,40}=", re.IGNORECASE | re.MULTILINE)
"""A key that most configurations of beego have."""


def is_beego(text: str, file_name: str) -> bool:
    """Return whether a .conf file is the configuration of an application of beego, conf/app.conf."""
    return file_name.lower() == "app.conf" and OF_BEEGO.search(text) is not None


def beego_variables(text: str) -> list[Variable]:
    """Return the numbers of beego's configuration, by the keys that code asks for: mysql::max in the section mysql.

    The keys are in small letters: beego ignores case. Those in the section of the run mode replace those before it.
    """
    sections = _sections(text.lower())
    mode = _text(sections[""], "runmode")
    keys = {
        name if of in ("", mode) else f"{of}::{name}": value
        for of, values in sections.items()
        for name, value in values.items()
    }
    return [
        Variable(FileSetting(key, written, value, line))
        for key, (written, line) in keys.items()
        if is_number(value := value_of(written, durations=True))
    ]


def is_maxscale(text: str, _: str) -> bool:
    """Return whether an option file is MaxScale's, not the server's."""
    return re.search(r"^[ \t]{0,40}type[ \t]{0,40}=[ \t]{0,40}server\b", text, re.MULTILINE) is not None


def maxscale_pools(text: str) -> list[FilePool]:
    """Return the servers that a MaxScale connects to, each with the settings of its services."""
    sections = _sections(text)
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


def _sections(text: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Return the values of each section, without comments; under "", those before the first."""
    values: dict[str, tuple[str, int]] = {}
    sections = {"": values}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("[") and line.endswith("]"):
            values = sections.setdefault(line[1:-1].strip(), {})
        elif line and line[0] not in "#;":
            name, _, value = line.partition("=")
            value = re.split(" [#;]", value, maxsplit=1)[0]
            values[name.strip()] = (value.strip().strip("\"'"), number)
    return sections


def _seconds(text: str) -> Value:
    """Return a number; of a duration of MaxScale, such as 300s, its seconds."""
    value = value_of(text.removeprefix("-"), durations=True)
    if not isinstance(value, int | float):
        return value
    seconds = value / 1000 if text[-1:].isalpha() else value
    return -seconds if text.startswith("-") else seconds
