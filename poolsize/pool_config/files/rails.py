"""Rails' database.yml -> the pool of each database in each environment."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import yaml

from poolsize.pool_config.files.documents import fields_of, text_of, yaml_documents
from poolsize.pool_config.files.urls import url_settings
from poolsize.pool_config.files.values import ENVIRONMENT, is_number, names_mysql, setting_of, value_of
from poolsize.pool_config.libraries.other_languages import RAILS, RAILS_8_1
from poolsize.pool_config.pool import FilePool, Value

ERB = re.compile(r"<%(?P<prints>=?)(?P<code>[^%]{0,500}(?:%(?!>)[^%]{0,100}){0,9})%>")
"""A tag of Ruby in the file: <%= it prints, <% it does not."""
NUMBER = r"['\"]?(?P<number>-?\d{1,9}(?:\.\d{1,3})?)['\"]?"
ENV = r"ENV(?:\[\s{0,9}['\"]\w{1,99}['\"]\s{0,9}\]|\.fetch\(?\s{0,9}['\"]\w{1,99}['\"]\s{0,9}\)?)"
NAMED = r"\(\s{0,9}['\"]\w{1,99}['\"]\s{0,9}"
VARIABLE = re.compile(r"ENV(?:\[|\.fetch\(?)\s{0,9}['\"](?P<name>\w{1,99})")
DEFAULTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"ENV\.fetch{NAMED},\s{{0,9}}{NUMBER}\s{{0,9}}\)",
        rf"ENV\.fetch{NAMED}\)\s{{0,9}}\{{\s{{0,9}}{NUMBER}\s{{0,9}}\}}",
        rf"ENV\.fetch{NAMED}\)\s{{0,9}}do\s{{1,9}}{NUMBER}\s{{1,9}}end",
        rf"{ENV}(?:&?\.(?:presence|to_[is]))?\s{{0,9}}(?:\|\||or)\s{{0,9}}{NUMBER}",
        rf"(?:Integer|Float)\(\s{{0,9}}{NUMBER}\s{{0,9}}\)",
        rf"(?<![\w)\]])\(\s{{0,9}}{NUMBER}\s{{0,9}}\)",
        rf"{NUMBER}\.to_[fis]\b",
    )
)
"""Ruby with a default -> the default. Where the environment gives no other value, it holds."""
PRODUCT = re.compile(r"(\d{1,9})\s{0,9}([*+])\s{0,9}(\d{1,9})")
ASSIGNMENT = re.compile(r"(?P<name>[a-z_]\w{0,60})\s{0,9}=\s{0,9}(?P<code>[^=\n][^\n]{0,400})")
MARK = re.compile(r"__ruby_(\d{1,6})__")
USUAL = {"development", "test", "staging", "production"}
UNKNOWN_URL = "URL"
"""In place of an adapter, which the URL in a variable has."""
URL_OF_DATABASE = re.compile(r"<%.{0,200}(?:DATABASE|MYSQL|MARIADB|(?<![A-Z])DB)", re.IGNORECASE | re.DOTALL)
MYSQL = ("mysql", "trilogy")
"""Beginnings of the names of adapters, also of mysql2 and mysql2_makara."""


def is_rails(text: str, file_name: str) -> bool:
    """Return whether a YAML file is Rails' database.yml, by its name or by its tags of Ruby and its adapters."""
    return file_name.startswith("database") or bool(
        re.search(r"^[ \t]{0,40}adapter:[ \t]{1,9}[\"']?(?:mysql2|trilogy)", text, re.MULTILINE)
    )


def rails_pools(text: str) -> list[FilePool]:
    """Return the pools of MySQL in a database.yml; environments are its profiles. Raises BadInput for no YAML."""
    tags: list[str] = []
    variables: dict[str, str] = {}
    documents = yaml_documents(ERB.sub(lambda match: _marked(match, tags, variables), text))
    environments = _mappings(documents[0]) if documents else {}
    databases = [inner for node in environments.values() for inner in _mappings(node).values()]
    merged = {id(each) for node in (*environments.values(), *databases) for each in _merged(node)}
    known = {_database(_values(node, tags)) for node in (*environments.values(), *databases)} - {"", UNKNOWN_URL}
    are_mysql = {database.startswith(MYSQL) for database in known}
    return [
        pool
        for name, node in environments.items()
        if id(node) not in merged or name in USUAL
        for pool in _of_environment(name, node, tags, are_mysql)
    ]


def _mappings(node: yaml.Node) -> dict[str, yaml.MappingNode]:
    """Return the mappings in a mapping, also in those that it merges (<<)."""
    return {name: each for name, each in fields_of(node).items() if isinstance(each, yaml.MappingNode)}


def _values(node: yaml.Node, tags: list[str]) -> dict[str, tuple[str, int]]:
    """Return the values of a mapping, also of those that it merges: name -> text, with the tags of Ruby, and line."""
    texts = {name: text for name, each in fields_of(node).items() if (text := text_of(each))}
    return {
        name: (MARK.sub(lambda match: f"<%={tags[int(match[1])]}%>", text.text), text.line)
        for name, text in texts.items()
    }


def _marked(match: re.Match[str], tags: list[str], variables: dict[str, str]) -> str:
    """Return what YAML can read in place of a tag, with as many lines. variables: their code; of earlier tags."""
    lines = "\n" * match[0].count("\n")
    code = match["code"].strip("- \t\n")
    if not match["prints"]:
        if assignment := ASSIGNMENT.fullmatch(code):
            variables[assignment["name"]] = assignment["code"]
        return lines
    tags.append(variables.get(code, code))
    return f"__ruby_{len(tags) - 1}__{lines}"


def _merged(node: yaml.MappingNode) -> Iterator[yaml.Node]:
    for key, value in node.value:
        if key.value == "<<":
            yield from value.value if isinstance(value, yaml.SequenceNode) else [value]


def _of_environment(name: str, node: yaml.MappingNode, tags: list[str], are_mysql: set[bool]) -> list[FilePool]:
    """Return the pools of an environment: of its only database, or of each.

    are_mysql: whether the file's known adapters are MySQL's; an unknown URL has one of them.
    """
    databases = {"primary": node} if _database(_values(node, tags)) else _mappings(node)
    values = {database: _values(each, tags) for database, each in databases.items()}
    return [
        replace(
            _pool(database, each),
            alternative=f"profile {name}",
            database_known=_database(each) != UNKNOWN_URL or are_mysql == {True},
        )
        for database, each in values.items()
        if _database(each).startswith(MYSQL) or (_database(each) == UNKNOWN_URL and True in are_mysql)
    ]


def _database(values: Mapping[str, tuple[str, int]]) -> str:
    """Return the adapter, or the scheme of the URL, which overrides it; UNKNOWN_URL for such a URL, "" for none."""
    adapter, url = (values.get(name, ("", 0))[0] for name in ("adapter", "url"))
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme.isalnum():
        return scheme
    if not adapter and URL_OF_DATABASE.match(url) and names_mysql(url) is not False:
        return UNKNOWN_URL
    quoted = re.findall(r"['\"]([a-z]\w{1,20})['\"]", adapter)  # <%= ENV["X"] || "mysql2" %>
    return quoted[-1] if "<%" in adapter and quoted else adapter


def _pool(place: str, values: Mapping[str, tuple[str, int]]) -> FilePool:
    url, line = values.get("url", ("", 0))
    library = RAILS_8_1 if "max_connections" in values or "max_connections=" in url else RAILS
    settings = {
        name: setting_of(name, text, at, partial(_value, text))
        for name, (text, at) in values.items()
        if library.setting(name)
    }
    is_known = "<%" not in url
    if is_known:
        settings |= url_settings(url, library, line)
    return FilePool(library, place, settings, complete=is_known)


def _value(text: str) -> Value:
    if "<%" not in text:
        return value_of(text)
    match = ERB.fullmatch(text.strip())
    return ruby_number(match["code"]) if match else None


def _number(match: re.Match[str]) -> str:
    named = VARIABLE.search(match[0])
    given = ENVIRONMENT.text(named["name"]) if named else None
    return given if given and given.isdecimal() else match["number"]


def ruby_number(code: str) -> int | float | None:
    """Return the number that Ruby code has as its value or its default; None where the code does not contain it."""
    code = code[:500].strip()
    for _ in range(9):
        before = code
        for pattern in DEFAULTS:
            code = pattern.sub(_number, code, count=9)
        if code == before:
            break
    while match := PRODUCT.fullmatch(code):
        left, right = int(match[1]), int(match[3])
        code = str(left * right if match[2] == "*" else left + right)
    value = value_of(code.strip("'\""))
    return value if is_number(value) else None
