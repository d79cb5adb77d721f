"""What a captured workload does before each step: it deletes the rows that its transactions inserted."""

from collections.abc import Mapping
from typing import Any

from poolsize.facts.server import quoted

AUTO_INCREMENT = (
    "SELECT column_name FROM information_schema.columns "
    "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s AND extra LIKE '%%auto_increment%%'"
)
_highest: dict[str, Any] = {}
"""Table -> the highest number of its column when the sweep began; None for an empty table."""


def delete_inserted(cursor: Any, columns: Mapping[str, str]) -> None:
    """Delete the rows that were inserted since the first call, of the last table first.

    columns: table -> the column whose values grow with each row; "" for the table's auto-increment column. The rows of
    a table without such a column stay.
    """
    for table, column in reversed(list(columns.items())):
        if not (column := column or growing_column(cursor, table)):
            continue
        name, counter = ".".join(map(quoted, table.split("."))), quoted(column)
        if table in _highest:
            cursor.execute(f"DELETE FROM {name} WHERE {counter} > %s OR %s IS NULL", (_highest[table],) * 2)
        else:
            cursor.execute(f"SELECT MAX({counter}) FROM {name}")
            (_highest[table],) = cursor.fetchone() or (None,)


def growing_column(cursor: Any, table: str) -> str:
    """Return the auto-increment column of a table, or ""."""
    schema, _, name = table.rpartition(".")
    cursor.execute(AUTO_INCREMENT, (schema or None, name))
    row = cursor.fetchone()
    return str(row[0]) if row else ""
