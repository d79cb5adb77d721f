"""A table of text cells, which terminal, HTML page and Markdown file each print in their own way."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolsize.present.text.bullets import terminal_width

UNKNOWN = "?"
"""The cell of a figure that is not known; see poolsize.units."""
GAP = "  "
"""Between two columns."""
Lines = Sequence[Sequence[str]]
"""Lines of cells, one cell a column."""


@dataclass(frozen=True)
class Table:
    """Text cells in columns.

    columns: names. rows: each with one cell a column, ready to print. chosen: index of the row to point at, or None.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chosen: int | None = None

    def as_text(self) -> str:
        """Return the table as lines for a terminal: right-aligned columns under their names.

        A table that is wider than the terminal is folded: the names of the columns wrap, and columns that still don't
        fit follow in further tables below, each with the first column. Without a terminal nothing is folded.
        """
        width = terminal_width()
        rows = self._pointed("->")
        text = _aligned([self.columns, *rows])
        if width is None or _width(text) <= width:
            return text
        blocks = [[[line[place] for place in places] for line in rows] for places in self._blocks(width)]
        names = [[self.columns[place] for place in places] for places in self._blocks(width)]
        return "\n\n".join(_folded(*block) for block in zip(names, blocks, strict=True))

    def as_markdown(self) -> str:
        """Return the table in Markdown's pipes, right-aligned."""
        lines = (self.columns, ("--:",) * len(self.columns), *self._pointed("→"))
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def without_unknown(self) -> "Table":
        """Return the table without the columns that no row knows."""
        known = [
            place
            for place, _ in enumerate(self.columns)
            if not self.rows or any(row[place] != UNKNOWN for row in self.rows)
        ]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in known),
            rows=tuple(tuple(row[place] for place in known) for row in self.rows),
        )

    def _pointed(self, arrow: str) -> list[tuple[str, ...]]:
        """Return the rows, with an arrow before the chosen row."""
        return [(f"{arrow} {row[0]}", *row[1:]) if index == self.chosen else row for index, row in enumerate(self.rows)]

    def _blocks(self, width: int) -> list[list[int]]:
        """Return the columns of each table of a folded table: as many as fit into the width, the first in each."""
        rows = self._pointed("->")
        widths = [_width(_folded([name], [[row[place]] for row in rows])) for place, name in enumerate(self.columns)]
        blocks = [[0]]
        for group in self._groups():
            used = sum(widths[place] + len(GAP) for place in (*blocks[-1], *group)) - len(GAP)
            if used > width and len(blocks[-1]) > 1:
                blocks.append([0])
            blocks[-1] += group
        return blocks

    def _groups(self) -> list[list[int]]:
        """Return the columns behind the first, those together that belong to the column before: p95 to "wait p50"."""
        groups: list[list[int]] = []
        for place, name in enumerate(self.columns[1:], start=1):
            if groups and (re.fullmatch(r"p\d+", name) or self.columns.count(name) > 1):
                groups[-1].append(place)
            else:
                groups.append([place])
        return groups


def _width(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _aligned(lines: Lines) -> str:
    """Return lines of cells with every column right-aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        GAP.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _folded(names: Sequence[str], rows: Lines) -> str:
    """Return a table whose columns are as narrow as their cells and the words of their names allow."""
    cells = [max((len(row[place]) for row in rows), default=1) for place, _ in enumerate(names)]
    wrapped = [
        textwrap.wrap(name, max(width, *map(len, name.split()))) for name, width in zip(names, cells, strict=True)
    ]
    height = max(map(len, wrapped))
    heads = [[""] * (height - len(words)) + words for words in wrapped]
    return _aligned([*zip(*heads, strict=True), *rows])
