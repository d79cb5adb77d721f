"""ProxySQL's configuration file -> its connections to each server."""

import re
from collections.abc import Iterator

from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.server import PROXYSQL
from poolsize.pool_config.pool import FilePool, FileSetting

TOKEN = re.compile(
    r"(?P<comment>(?:#|//)[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"
    r'|"(?P<string>(?:[^"\\\n]|\\.){0,1000})"|(?P<sign>[{}()\[\]=:;,])|(?P<word>[^\s{}()\[\]=:;,"#]+)'
)
"""Of libconfig, whose syntax the file has."""
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
    """Return whether an option file is ProxySQL's, not the server's."""
    return re.search(rf"^\s{{0,40}}(?:{SERVERS}|{VARIABLES})\s{{0,40}}[=:]", text, re.MULTILINE) is not None


def proxysql_pools(text: str) -> list[FilePool]:
    """Return the connections of a ProxySQL to each of its servers."""
    groups = list(_groups(text))
    variables: dict[str, FileSetting] = {}
    for section, group in groups:
        if section == VARIABLES:
            variables |= _settings(group, of_server=False)
    return [
        FilePool(PROXYSQL, SERVERS, _settings(group) | variables, alternative=_server(group))
        for section, group in groups
        if section == SERVERS
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


def _groups(text: str) -> Iterator[tuple[str, Group]]:
    """Yield the groups with the name of the setting that has them: a group itself, or those in its list."""
    section, name = "", ""
    group: Group = {}
    depth, line, end = 0, 1, 0
    after_name = False
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        if match["comment"]:
            continue
        sign = match["sign"] or ""
        if sign and sign in "{([":
            depth += 1
            group = {}
        elif sign and sign in "})]":
            if group:
                yield section, group
            depth, group = max(0, depth - 1), {}
        elif sign in {"=", ":"}:
            after_name = True
            section = name if depth == 0 else section
            continue
        elif not sign and after_name:
            group[name] = (match["string"] or match["word"] or "", line)
        elif not sign:
            name = match["word"] or ""
        after_name = False
