"""ProxySQL's configuration file -> its connections to each server."""

import re

from poolsize.pool_config.files.braces import brace_entries
from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.server import PROXYSQL
from poolsize.pool_config.pool import FilePool, FileSetting

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
