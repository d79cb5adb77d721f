"""XML -> pools: Tomcat's resources, Spring's beans, Hibernate, JPA, MyBatis, c3p0, WildFly, and .NET's Web.config."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, XMLParser

from poolsize.errors import BadInput
from poolsize.pool_config.files.connection_strings import string_pool
from poolsize.pool_config.files.keys import pool_of, pools_of
from poolsize.pool_config.files.places import named_library
from poolsize.pool_config.files.values import ENVIRONMENT, PLACEHOLDER, Entry, has_only_others, names_mysql, parts_of
from poolsize.pool_config.libraries.java import C3P0, DBCP2
from poolsize.pool_config.libraries.java_frameworks import DBCP1, MYBATIS, TOMCAT_7, WILDFLY
from poolsize.pool_config.pool import FilePool, FileSetting, Library, normalized

DEEPEST = 200
"""Elements in each other; configurations have fewer."""
OF_JPA = ("javax.persistence.jdbc.", "jakarta.persistence.jdbc.")
MOST_PARENTS = 10
"""Beans that are parents of each other; those that name themselves end here."""
PLACES = ("name", "id", "pool-name", "jndi-name", "key")
"""Attributes that name an element, the first that it has."""
OF_ENTITIES = re.compile(
    r"\bprovider\s{0,9}=\s{0,9}([\w.]{1,100});\s{0,9}provider connection string\s{0,9}=\s{0,9}([\"'])(.{0,4000})\2",
    re.IGNORECASE,
)
"""Entity Framework's connection string has the provider's own in quotes."""
HIKARI_CONFIG = "com.zaxxer.hikari.HikariConfig"
WILDFLYS = {"datasource", "xa-datasource", "local-tx-datasource", "no-tx-datasource"}


@dataclass
class Element:
    """An element of XML. name: without its namespace. line: of its start. text: its own, before other elements."""

    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self) -> Iterator["Element"]:
        """Yield this element and all in it, in the order of the file."""
        left = [self]
        while left:
            element = left.pop()
            yield element
            left += reversed(element.children)


class _Tree:
    """Builds elements with their lines, which ElementTree's own builder does not keep."""

    def __init__(self) -> None:
        self.parser: Any = XMLParser(target=self)
        self.open = [Element("", {}, 1)]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) > DEEPEST:
            raise BadInput("the XML is nested too deeply")
        plain = {_local(key): value for key, value in attributes.items()}
        element = Element(_local(name), plain, self.parser.parser.CurrentLineNumber)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, name: str) -> None:  # noqa: ARG002
        self.open.pop()

    def data(self, text: str) -> None:
        if not self.open[-1].children and len(self.open[-1].text) < 1000:
            self.open[-1].text += text

    def close(self) -> Element:
        return self.open[0]


def _local(name: str) -> str:
    """Return a name without its namespace, {http://...}name."""
    return name.rpartition("}")[2]


def xml_pools(text: str) -> list[FilePool]:
    """Return the pools of an XML file. Raises BadInput for a text that is not XML, and for one with entities."""
    tree = _Tree()
    try:
        tree.parser.feed(text)
        tree.parser.close()
    except ParseError as error:
        raise BadInput(f"this is not XML: line {error.position[0]}") from None
    except DefusedXmlException:
        raise BadInput("the XML declares entities, which poolsize does not read") from None
    root = tree.open[0]
    elements = list(root.all())
    has_config = any(element.attributes.get("class") == HIKARI_CONFIG for element in elements)
    is_changed = any(element.name == "property-override" for element in elements)
    beans = {element.attributes.get("id"): element for element in elements if element.name == "bean"}
    pools = [
        replace(pool, complete=pool.complete and not is_changed)
        for element in elements
        if not (has_config and _has_argument(element)) and (pool := _pool_of(element, beans))
    ]
    return pools or list(_of_hibernate(root))  # beside a data source, Hibernate has no pool of its own


def _pool_of(element: Element, beans: Mapping[str | None, Element]) -> FilePool | None:
    """Return the pool that an element configures; None for another element, and for another database's.

    beans: id -> bean; a bean has the properties of its parent, too.
    """
    complete = not _has_argument(element)
    entries = _attributes(element)
    library: Library | None = None
    place = next((element.attributes[key] for key in PLACES if key in element.attributes), "")
    if element.name == "add":  # in connectionStrings or appSettings of .NET
        text = element.attributes.get("connectionString") or element.attributes.get("value", "")
        provider = element.attributes.get("providerName", "")
        if inner := OF_ENTITIES.search(text):
            provider, text = inner[1], inner[3]
        is_mysql = bool(names_mysql(provider))  # without a provider it may be SQL Server's
        pool = string_pool([(text, element.line)], f"add {place}", is_mysql=is_mysql)
        return pool if pool and pool.database_known else None
    if element.name == "Resource" and "DataSource" in element.attributes.get("type", ""):
        of_factory = [each for each in entries if each.path[-1] == "factory"]
        library = named_library(of_factory) or (None if of_factory else _of_tomcat(element))
        library = TOMCAT_7 if library is DBCP1 else library
    elif element.name == "bean" and element.attributes.get("abstract") != "true":
        family = _family(element, beans)
        entries = [entry for each in reversed(family) for entry in (*_attributes(each), *_properties(each))]
        complete = complete and "parent" not in family[-1].attributes
        library = named_library([Entry(("class",), each.attributes.get("class", ""), 0) for each in family])
    elif element.name == "dataSource" and element.attributes.get("type") == "POOLED":
        entries += list(_properties(element))
        library = MYBATIS
    elif element.name in {"default-config", "named-config"}:
        entries += list(_properties(element))
        library = C3P0
    elif element.name in WILDFLYS:
        entries += [Entry((each.name,), each.text.strip(), each.line) for each in element.all()]
        is_xa = element.name == "xa-datasource" and any(each.name == "xa-pool" for each in element.children)
        library = WILDFLY if is_xa or any(each.name == "connection-url" for each in element.all()) else None
    if library is None or has_only_others(map(_resolved, entries)):
        return None
    pool = pool_of(library, [*map(_resolved, entries)])
    keys = [(each, PLACEHOLDER.fullmatch(each.text)) for each in entries if normalized(each.path[-1]).endswith("url")]
    urls = tuple(FileSetting(each.path[-1], each.text, None, each.line, (key["name"],)) for each, key in keys if key)
    return replace(pool, place=f"{element.name} {place}".strip(), complete=complete, beside=urls)


def _resolved(entry: Entry) -> Entry:
    """Return a setting with the text that the named properties files have for its placeholder."""
    keys = PLACEHOLDER.fullmatch(entry.text)
    return replace(entry, text=ENVIRONMENT.keys.get(keys["name"], entry.text)) if keys else entry


def _attributes(element: Element) -> list[Entry]:
    return [Entry((name,), value, element.line) for name, value in element.attributes.items()]


def _family(element: Element, beans: Mapping[str | None, Element]) -> list[Element]:
    """Return a bean and the beans of the file that it has properties of, the nearest first."""
    family = [element]
    while len(family) < MOST_PARENTS and (parent := beans.get(family[-1].attributes.get("parent", ""))):
        family.append(parent)
    return family


def _has_argument(element: Element) -> bool:
    """Return whether a bean of HikariCP has its settings from a HikariConfig."""
    return element.attributes.get("class", "").endswith(".HikariDataSource") and any(
        child.name == "constructor-arg" for child in element.children
    )


def _of_tomcat(element: Element) -> Library:
    """Return the library of a resource without a factory: DBCP 1 until Tomcat 7, then DBCP 2."""
    names = set(element.attributes)
    return TOMCAT_7 if names & {"maxActive", "maxWait"} and not names & {"maxTotal", "maxWaitMillis"} else DBCP2


def _properties(element: Element) -> Iterator[Entry]:
    """Yield the properties of an element: <property name= value=>, or with the value as text, or in a <value>."""
    for child in element.children:
        if child.name in {"property", "prop"}:
            name = child.attributes.get("name") or child.attributes.get("key") or ""
            inner = next((each.text for each in child.children if each.name == "value"), child.text)
            yield Entry(parts_of(name), child.attributes.get("value", inner).strip(), child.line)


def _of_hibernate(root: Element) -> Iterator[FilePool]:
    """Yield the pools that the properties of Hibernate configure, in its own file, in JPA's and in Spring's."""
    for element in root.all():
        entries = [_of_jpa(entry) for entry in _properties(element)]
        if element.name == "session-factory":
            entries = [
                entry if entry.path[0] == "hibernate" else replace(entry, path=("hibernate", *entry.path))
                for entry in entries
            ]
        elif element.name not in {"properties", "props"}:
            continue
        yield from pools_of([entry for entry in entries if normalized(entry.path[0]) == "hibernate"])


def _of_jpa(entry: Entry) -> Entry:
    """Return a property of JPA, such as javax.persistence.jdbc.url, under Hibernate's name."""
    key = ".".join(entry.path)
    jpa = next((start for start in OF_JPA if key.startswith(start)), None)
    return replace(entry, path=("hibernate", "connection", key.removeprefix(jpa))) if jpa else entry
