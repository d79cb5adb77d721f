"""The column that each parameter of a statement is compared with or written to, as far as the text shows it."""

import re
from dataclasses import dataclass

NAME = r"(?:`[^`]+`|[A-Za-z_$][\w$]*)"
DOTTED = rf"{NAME}(?:\.{NAME}){{0,2}}"
LOOKS_BACK = 400
"""Characters before a parameter that can name its column."""
LONGEST_COLUMN = 3 * 64
"""Characters of a column's name with those of its table and its schema."""

_PARAMETER = re.compile(r"`[^`]*`|%%|(%s)")
_COMPARED = re.compile(
    rf"(?<![%\w$.`])({DOTTED}) ?"
    r"(?:(?:<=>|<=|>=|<>|!=|=|<|>) ?| (?:NOT )?IN ?\(? ?| (?:NOT )?LIKE | (?:NOT )?BETWEEN (?:%s AND )?)$",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(?:LIMIT|OFFSET) (?:%s ?, ?)?$", re.IGNORECASE)
_INSERT = re.compile(rf"(?:INSERT|REPLACE)(?: \w+)*? (?:INTO )?({DOTTED}) ?\(([^()]*)\) ?VALUES? ?\(", re.IGNORECASE)
_TABLES = re.compile(
    rf"\b(?:FROM|JOIN|UPDATE(?: IGNORE)?|INTO) \(?({DOTTED}(?: (?:AS )?{NAME})?(?: ?, ?{DOTTED}(?: (?:AS )?{NAME})?)*)",
    re.IGNORECASE,
)
_TABLE = re.compile(rf"({DOTTED})(?: (?:AS )?({NAME}))?", re.IGNORECASE)
_NO_ALIAS = {
    "where", "set", "on", "using", "left", "right", "inner", "outer", "cross", "natural", "straight_join", "join",
    "order", "group", "having", "limit", "force", "use", "ignore", "union", "for", "lock", "values", "value",
    "partition", "select", "window", "procedure", "into",
}  # fmt: skip
_READS = re.compile(
    r"[( ]*(?:SELECT|WITH|SHOW|DESC|DESCRIBE|EXPLAIN|TABLE|VALUES|SAVEPOINT|RELEASE|ROLLBACK|SET(?= @\w))\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:UPDATE|DELETE|FOR SHARE|LOCK IN SHARE MODE|INTO (?:OUTFILE|DUMPFILE)|GET_LOCK ?\(|NEXTVAL ?\()",
    re.IGNORECASE,
)
"""UPDATE: also FOR UPDATE. DELETE: of WITH ... DELETE."""


@dataclass(frozen=True)
class Place:
    """The place of a parameter. table, column: "" where the text does not show them. is_limit: of rows, no value."""

    table: str = ""
    column: str = ""
    is_limit: bool = False


def places_of(text: str) -> tuple[Place, ...]:
    """Return the place of each parameter of a fingerprint's text."""
    starts = [mark.start() for mark in _PARAMETER.finditer(text) if mark[1]]
    tables = _tables_of(text)
    insert = _INSERT.match(text)
    inserted = _inserted(text, insert, starts) if insert else {}
    places = [inserted.get(start) or _place(text[max(0, start - LOOKS_BACK) : start], tables) for start in starts]
    return tuple(place if len(place.table) + len(place.column) <= LONGEST_COLUMN else Place() for place in places)


def is_insert(text: str) -> bool:
    """Return whether a statement adds rows."""
    return text[:7].upper() in {"INSERT ", "REPLACE"}


def reads_only(text: str) -> bool:
    """Return whether a statement changes nothing and locks nothing."""
    return bool(_READS.match(text)) and not _CHANGES.search(text)


def _place(before: str, tables: dict[str, str]) -> Place:
    """Return the place after a text. tables: name or alias in the statement -> table."""
    if _LIMIT.search(before):
        return Place(is_limit=True)
    compared = _COMPARED.search(before)
    if compared is None:
        return Place()
    *qualifier, column = (name.strip("`") for name in re.findall(NAME, compared[1]))
    if qualifier:
        return Place(tables.get(".".join(qualifier).lower(), ""), column)
    only = set(tables.values())
    return Place(only.pop() if len(only) == 1 else "", column)


def _tables_of(text: str) -> dict[str, str]:
    """Return the tables of a statement by the names and aliases that its columns can have, in lower case."""
    tables: dict[str, str] = {}
    for group in _TABLES.finditer(text):
        for table in _TABLE.finditer(group[1]):
            name = table[1].replace("`", "")
            alias = (table[2] or "").strip("`").lower()
            tables[name.lower()] = tables[name.rpartition(".")[2].lower()] = name
            if alias and alias not in _NO_ALIAS:
                tables[alias] = name
    return tables


def _inserted(text: str, insert: re.Match[str], starts: list[int]) -> dict[int, Place]:
    """Return the places of the parameters that are a whole value of an INSERT's row, by where they start."""
    columns = [column.strip(" `") for column in insert[2].split(",")]
    depth, index, begins = 1, 0, {insert.end(): 0}
    for end in range(insert.end(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            break
        if text[end] == "," and depth == 1:
            index += 1
            begins[end + 1] = begins[end + 2] = index
    return {
        start: Place(insert[1].replace("`", ""), columns[begins[start]])
        for start in starts
        if begins.get(start, len(columns)) < len(columns) and text[start + 2 : start + 3] in {",", ")", " "}
    }
