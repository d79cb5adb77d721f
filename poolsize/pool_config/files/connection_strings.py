"""Connection strings of .NET, in C# source and in appsettings.json -> pools. The strings themselves are not kept."""

import re
from collections.abc import Sequence
from functools import cached_property

import tree_sitter_c_sharp
from tree_sitter import Language, Node

from poolsize.pool_config.files.documents import json_entries
from poolsize.pool_config.files.source_tree import DEEPEST, Grammar, SourceTree, children, line
from poolsize.pool_config.files.values import value_of
from poolsize.pool_config.libraries.other_languages import DOTNET
from poolsize.pool_config.pool import FilePool, FileSetting, Value

SERVER_KEYS = {"server", "host", "datasource", "address", "addr", "networkaddress"}
OF_MYSQL = {
    "allowuservariables", "allowpublickeyretrieval", "allowzerodatetime", "convertzerodatetime", "charset",
    "characterset", "treattinyasboolean", "defaultcommandtimeout", "guidformat", "oldguids", "connectionidletimeout",
    "useaffectedrows", "sslca", "allowloadlocalinfile",
}  # fmt: skip
"""Keys, without spaces, by which a string is one for MySQL."""
WITHOUT_SPACES = re.compile(r"(?:^|;)\s{0,9}(?:maximum|minimum)poolsize\s{0,9}=", re.IGNORECASE)
"""Npgsql has these names with spaces only."""
OFTEN_OF_MYSQL = {"uid", "user"}
OF_OTHERS = {
    "trustedconnection", "integratedsecurity", "multipleactiveresultsets", "trustservercertificate",
    "attachdbfilename", "encrypt", "applicationintent", "searchpath", "includeerrordetail", "filename", "sid",
    "columnencryptionsetting", "multisubnetfailover",
}  # fmt: skip
"""Keys of strings for other databases."""
OTHER_PORTS = {"5432", "1433", "1521", "6379", "5236", "54321"}
"""Of PostgreSQL, SQL Server, Oracle, Redis, Dameng and KingbaseES."""
OTHER_SERVER = re.compile(r"\\|\(local|tcp:|,\s?\d|^\.$|\.database\.windows\.net|^[^/]{1,100}/", re.IGNORECASE)
"""In the name of a server of SQL Server, or of Oracle's host/service."""
MYSQL_PROVIDER = re.compile(
    r"(?:provider|db_?type)\w{0,20}[\"']?\s{0,9}[:=]\s{0,9}[\"'](?:mysql|mariadb)", re.IGNORECASE
)
LONGEST = 4_000
LARGEST_JSON = 2**18
USES_MYSQL = re.compile(r"My(?:Sql|SQL)|MYSQL|MariaD[bB]")
USES_OTHERS = re.compile(r"UseSqlServer|UseNpgsql|UseSqlite|UseOracle|SqlClient|\bSqlConnection|Npgsql")
GRAMMAR = Grammar(
    Language(tree_sitter_c_sharp.language()),
    {"parameter": ("name", "")},
    frozenset({"method_declaration", "constructor_declaration", "local_function_statement"}),
)
STRINGS = ("string_literal", "verbatim_string_literal", "interpolated_string_expression", "raw_string_literal")
BUILDER = "MySqlConnectionStringBuilder"


def string_pool(pieces: Sequence[tuple[str, int]], place: str, *, is_mysql: bool | None) -> FilePool | None:
    """Return the pool of a connection string; None for another text, and for one of another database.

    pieces: that make the string, each with its line. is_mysql: whether what is around it shows that its database is
    MySQL; None if it shows nothing.
    """
    text = "".join(piece for piece, _ in pieces)
    if len(text) > LONGEST or "=" not in text:
        return None
    pairs = [part.partition("=") for part in text.split(";")]
    values = {_key(key): value.strip().strip("'\"") for key, _, value in pairs if key.strip()}
    if not values.keys() & SERVER_KEYS or len(values) < 2:
        return None
    decided = _is_mysql(values, is_mysql, has_own_names=WITHOUT_SPACES.search(text) is not None)
    if decided is False:
        return None
    settings, offset = {}, 0
    for key, sign, written in pairs:
        if setting := DOTNET.setting(_key(key), relaxed=True):
            at = _line_at(pieces, offset + len(key) - len(key.lstrip()))
            settings[setting] = FileSetting(key.strip(), written.strip(), _value(written.strip()), at)
        offset += len(key) + len(sign) + len(written) + 1
    return FilePool(DOTNET, place, settings, database_known=decided is True)


def _line_at(pieces: Sequence[tuple[str, int]], offset: int) -> int:
    """Return the line of a place in the text that pieces make."""
    for piece, at in pieces:
        if offset < len(piece):
            return at + piece.count("\n", 0, offset)
        offset -= len(piece)
    return pieces[-1][1]


def _is_mysql(values: dict[str, str], is_mysql: bool | None, *, has_own_names: bool) -> bool | None:
    """Return whether a connection string is for MySQL; None where it may be for it. is_mysql: as in string_pool."""
    server = next(values[key] for key in sorted(SERVER_KEYS) if key in values)
    port = values.get("port", server.rpartition(":")[2])
    if values.keys() & OF_OTHERS or port in OTHER_PORTS or OTHER_SERVER.search(server):
        return False
    if has_own_names or port == "3306" or values.keys() & OF_MYSQL or re.search("mysql|maria", server, re.IGNORECASE):
        return True
    if is_mysql is None and values.keys() & OFTEN_OF_MYSQL and "sa" not in values.values():  # SQL Server's superuser
        return True
    return is_mysql


def _key(key: str) -> str:
    return key.replace(" ", "").replace("_", "").lower()


def _value(text: str) -> Value:
    return {"yes": True, "no": False}.get(text.lower(), value_of(text) if text else None)


def appsettings_pools(text: str) -> list[FilePool]:
    """Return the pools of the connection strings in a JSON file of .NET, which may have comments.

    Raises BadInput for a text that is not JSON.
    """
    if "=" not in text or len(text) > LARGEST_JSON:
        return []
    provider = True if MYSQL_PROVIDER.search(text) else None
    pools = []
    for entry in json_entries(text):
        place = ".".join(entry.path)
        is_mysql = True if re.search("mysql|maria", place, re.IGNORECASE) else provider
        if pool := string_pool([(entry.text, entry.line)], place, is_mysql=is_mysql):
            pools.append(pool)
    return pools


class CSharpTree(SourceTree):
    """The tree of a C# source."""

    types = frozenset({*STRINGS, "assignment_expression", "variable_declarator", "property_declaration"})

    def other(self, node: Node, depth: int) -> Value:
        """Return the value of a cast, of `a ?? 5`, or of a name, whose constant the file contains."""
        if node.type == "cast_expression":
            return self.value(node.child_by_field_name("value"), depth)
        if node.type == "binary_expression" and self.text_at(node, "operator") == "??":
            return self.value(node.child_by_field_name("right"), depth)
        name = self.text(node)
        return None if self.named(name, node) else self.value(self.constants.get(name), depth)

    @cached_property
    def constants(self) -> dict[str, Node | None]:
        """The values of the declared variables and properties; None where the file declares several of a name."""
        values: dict[str, Node | None] = {}
        for node in (*self.nodes("variable_declarator"), *self.nodes("property_declaration")):
            name = self.text_at(node, "name")
            values[name] = children(node)[-1] if name not in values and len(children(node)) > 1 else None
        return values


def csharp_pools(text: str) -> list[FilePool]:
    """Return the pools in a C# source: its connection strings, and the properties of MySqlConnectionStringBuilder."""
    if not re.search(r"MySql|Server\s?=|Host\s?=|Data Source\s?=", text, re.IGNORECASE):
        return []
    is_mysql = True if USES_MYSQL.search(text) else False if USES_OTHERS.search(text) else None
    tree = CSharpTree(text, GRAMMAR)
    pools = (string_pool(pieces, f"line {pieces[0][1]}", is_mysql=is_mysql) for pieces in _joined(tree))
    return [pool for pool in pools if pool] + (_built(tree) if BUILDER in text else [])


def _joined(tree: CSharpTree) -> list[list[tuple[str, int]]]:
    """Return the pieces of each string, and of added strings, each with its line. Values in them are {} or {name}.

    A literal comes once: the driver has a pool for each text of a connection string.
    """
    texts: dict[int, list[tuple[str, int]]] = {}
    literals = set[str]()
    for node in sorted((each for kind in STRINGS for each in tree.nodes(kind)), key=lambda each: each.start_byte):
        text = re.sub(r"\{(?![\w.]{1,80}\})[^{}]{0,200}\}", "{}", tree.text(node).strip('$@"'))
        top, depth = node, 0
        while top.parent and top.parent.type == "binary_expression" and depth < DEEPEST:
            top, depth = top.parent, depth + 1
        if top == node and "{" not in text and not text.endswith("="):
            if text in literals:
                continue
            literals.add(text)
        pieces = texts.setdefault(top.id, [])
        if pieces and pieces[-1][0].endswith("="):
            text = "{}" + text
        pieces.append((text, line(node)))
    return list(texts.values())


def _built(tree: CSharpTree) -> list[FilePool]:
    """Return a pool for each function with properties of MySqlConnectionStringBuilder; others have MaxPoolSize."""
    groups: dict[int, dict[str, FileSetting]] = {}
    others = set()
    for node in tree.nodes("assignment_expression"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = tree.text(left).rpartition(".")[2]
        if name in DOTNET.aliases:
            others.add(tree.function(node))
        elif name in DOTNET.defaults and left and right:
            groups.setdefault(tree.function(node), {})[name] = tree.setting(name, right, node)
    return [
        FilePool(DOTNET, f"line {min(each.line for each in settings.values())}", settings)
        for function, settings in groups.items()
        if function not in others or settings.keys() >= set(DOTNET.sizes)
    ]
