"""Files with values in braces -> pools: HOCON, and the libconfig of ProxySQL, also in SQL for its admin interface."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from poolsize.errors import BadInput
from poolsize.pool_config.files.keys import pools_of
from poolsize.pool_config.files.values import Entry, is_mysql, parts_of, value_of
from poolsize.pool_config.libraries.java import HIKARICP
from poolsize.pool_config.libraries.java_frameworks import PLAY, SLICK
from poolsize.pool_config.libraries.server import PROXYSQL
from poolsize.pool_config.pool import FilePool, FileSetting

TOKEN = re.compile(
    r"(?P<comment>(?:#|//)[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"
    r'|"""(?P<long>(?:[^"]|"(?!"")){0,1000})"""|"(?P<string>(?:[^"\\\n]|\\.){0,1000})"'
    r'|(?P<sign>\+?=|[{}()\[\]:;,\n])|(?P<word>\$\{[^{}\n]{0,200}\}|[^\s{}()\[\]=:;,"#]+)'
)
REFERENCE = re.compile(r"\$\{(?P<optional>\??)(?P<name>[^{}]{1,200})\}")
"""Of HOCON: a value of the file or of the environment; an optional reference without a value keeps the value before."""

DEEPEST = 100
"""Braces in each other; configurations have fewer."""
INCLUDE = re.compile(r"^\s{0,40}include\s[^\n]{0,100}", re.MULTILINE)
OF_FPM = re.compile(r"^\s{0,40}(?:pm\.|\[)", re.MULTILINE)
"""Of PHP-FPM's files, which have the same ending."""
PROTOTYPE = "play.db.prototype.hikaricp"
"""The key of the settings that all of Play's pools share."""


class _Reader:
    """Makes values of tokens. prefix: the keys of the open braces."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.prefix: tuple[str, ...] = ()
        self._around: list[tuple[str, ...]] = []
        """The prefixes before each open brace."""
        self._items: dict[tuple[str, ...], int] = {}
        """Key of a list -> the place of its last item."""
        self._key: tuple[str, ...] = ()
        self._words: list[tuple[str, str, int]] = []
        """Text, text in the file, and line of the words since the last key or value."""

    def word(self, text: str, written: str, line: int) -> None:
        self._words.append((text, written, line))

    def end_line(self) -> None:
        if self._key and self._words:
            self.end()

    def end(self) -> None:
        """End a value. Its line is that of its first word."""
        if self._key and self._words:
            text = " ".join(text for text, _, _ in self._words)
            self.entries.append(Entry((*self.prefix, *self._key), text, self._words[0][2]))
        self._key, self._words = (), []

    def assign(self) -> None:
        if self._words:
            key = parts_of(self._words.pop()[1])
            self.end()
            self._key = key

    def open(self) -> None:
        if len(self._around) > DEEPEST:
            raise BadInput("its braces are nested too deeply")
        self._around.append(self.prefix)
        if not self._key and self._words:
            self._key = parts_of(self._words[-1][1])
        if self._key:
            self.prefix += self._key
        elif self.prefix:  # an item of a list
            place = self._items[self.prefix] = self._items.get(self.prefix, -1) + 1
            self.prefix = (*self.prefix[:-1], f"{self.prefix[-1]}[{place}]")
        self._key, self._words = (), []

    def close(self) -> None:
        self.end()
        self.prefix = self._around.pop() if self._around else ()


def brace_entries(text: str) -> list[Entry]:
    """Return the values of a file, in its order. A reference to a value of the file has this value."""
    read, line, end = _Reader(), 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        sign = match["sign"]
        if sign == "\n":
            read.end_line()
        elif sign in {"=", ":", "+="}:
            read.assign()
        elif sign in {",", ";"}:
            read.end()
        elif sign:
            (read.open if sign in "{([" else read.close)()
        elif not match["comment"]:
            read.word(next((match[name] for name in ("long", "string", "word") if match[name]), ""), match[0], line)
    read.close()
    values: dict[tuple[str, ...], str] = {}
    entries = []
    for entry in read.entries:
        reference = REFERENCE.fullmatch(entry.text)
        known = values.get(parts_of(reference["name"])) if reference else None
        if reference and reference["optional"] and known is None and entry.path in values:
            if not isinstance(value_of(values[entry.path], durations=True), int | float):
                continue
            known = f"${{{reference['name']}:{values[entry.path]}}}"
        entries.append(Entry(entry.path, entry.text if known is None else known, entry.line))
        values[entry.path] = entries[-1].text
    return entries


def is_hocon(text: str, _: str) -> bool:
    """Return whether a .conf file is HOCON: PHP-FPM's files have the same ending, and sections."""
    return not OF_FPM.search(text)


def hocon_pools(text: str) -> list[FilePool]:
    """Return the pools of an application.conf: of Play, of Slick, and of the libraries that other files have."""
    entries = brace_entries(text)
    includes = tuple(
        FileSetting("include", match[0].partition("include")[2].strip(), None, text.count("\n", 0, match.end()) + 1)
        for match in INCLUDE.finditer(text)
    )
    pools = [_of_slick(pool, entries) if pool.library is SLICK else pool for pool in pools_of(entries)]
    if not any(pool.library is SLICK for pool in pools):  # which then has the pools of db, too
        pools = list(_of_play(pools, entries))
    return [replace(pool, elsewhere=includes) for pool in pools]


def _of_play(pools: Sequence[FilePool], entries: Sequence[Entry]) -> Iterator[FilePool]:
    """Yield the pools. In Play each data source below db has a pool, with the settings of the prototype."""
    shared = next((pool.settings for pool in pools if pool.place == PROTOTYPE), {})
    own = [replace(pool, settings={**shared, **pool.settings}) if pool.library is PLAY else pool for pool in pools]
    yield from (pool for pool in own if pool.place != PROTOTYPE)
    places = {tuple(pool.place.split(".")[:2]) for pool in own}
    sources = [entry.path for entry in entries if entry.path[0] == "db" and is_mysql(entry)]
    for prefix in dict.fromkeys(path[:2] for path in sources if len(path) > 2 or not own):
        if prefix not in places:
            yield FilePool(PLAY, ".".join(prefix), shared)


def _of_slick(pool: FilePool, entries: Sequence[Entry]) -> FilePool:
    """Return a pool of Slick; settings of HikariCP among those of the driver are unread."""
    unread = (
        FileSetting(entry.path[-1], entry.text, None, entry.line)
        for entry in entries
        if ".".join(entry.path[:-1]) == f"{pool.place}.properties" and HIKARICP.setting(entry.path[-1])
    )
    return replace(pool, unread=(*pool.unread, *unread))


# ProxySQL: its file in the form of libconfig, and SQL for its admin interface.
SERVERS, VARIABLES = "mysql_servers", "mysql_variables"
UPDATE = re.compile(
    rf"\s{{0,20}}UPDATE\s{{1,9}}{SERVERS}\s{{1,9}}SET\s{{1,9}}max_connections\s{{0,9}}=\s{{0,9}}(?P<value>-?\d{{1,9}})"
    r"(?:\s{1,9}WHERE\s{1,9}(?P<servers>[^;]{1,200}))?",
    re.IGNORECASE,
)
SET = re.compile(r"\s{0,20}SET\s{1,9}mysql-(?P<name>\w{1,60})\s{0,9}=\s{0,9}(?P<value>[^;\s]{1,60})", re.IGNORECASE)
SWITCHES = {"multiplexing"}
"""Variables that are true or false; the file may write 1 and 0."""

Group = dict[str, tuple[str, int]]
"""Name -> its value and its line."""


def is_proxysql(text: str, _: str) -> bool:
    """Return whether a file is ProxySQL's, whose endings other kinds have, too."""
    return re.search(rf"^\s{{0,40}}(?:{SERVERS}|{VARIABLES})\s{{0,40}}[=:]", text, re.MULTILINE) is not None


def proxysql_pools(text: str) -> list[FilePool]:
    """Return the connections of a ProxySQL to each of its servers."""
    groups: dict[str, Group] = {}
    for entry in brace_entries(text):
        groups.setdefault(entry.path[0], {})[entry.path[-1]] = (entry.text, entry.line)
    variables = _settings(groups.get(VARIABLES, {}), of_server=False)
    return [
        FilePool(PROXYSQL, SERVERS, _settings(group) | variables, alternative=_server(group))
        for name, group in groups.items()
        if name.partition("[")[0] == SERVERS
    ]


def proxysql_sql_pools(text: str) -> list[FilePool]:
    """Return the connections that commands for ProxySQL's admin interface set, for each UPDATE of servers."""
    updates: list[tuple[str, FileSetting]] = []
    variables: dict[str, FileSetting] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := UPDATE.match(line):
            setting = FileSetting("max_connections", match["value"], value_of(match["value"]), number)
            updates.append((match["servers"] or "all", setting))
        elif match := SET.match(line):
            variables |= _settings({match["name"]: (match["value"].strip("'\""), number)}, of_server=False)
    return [
        FilePool(PROXYSQL, SERVERS, {"max_connections": setting, **variables}, alternative=f"server {servers}")
        for servers, setting in updates
    ]


def _server(group: Group) -> str:
    host, hostgroup = (
        next((group[name][0] for name in names if name in group), "")
        for names in (("address", "hostname"), ("hostgroup", "hostgroup_id"))
    )
    return f"server {host}, hostgroup {hostgroup or 0}"


def _settings(group: Group, *, of_server: bool = True) -> dict[str, FileSetting]:
    """Return the settings of a server, or the variables, of which max_connections limits the clients."""
    settings = {}
    for written, (text, line) in group.items():
        name = written if of_server else written.removeprefix("mysql-")
        if name == "max_connections" and not of_server:
            name = "mysql-max_connections"
        if name in PROXYSQL.defaults:
            value = value_of(text)
            settings[name] = FileSetting(written, text, bool(value) if name in SWITCHES else value, line)
    return settings
