"""Prose, bullet lists and tables: laid out for a terminal's width, and tables as Markdown."""

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from poolsize.quick_record import QuickRecord

NARROWEST, WIDEST = 40, 120
PIPED = 88
"""Columns of a line of prose that goes to a file or to another program."""
UNKNOWN = "?"
"""The cell of a figure that is not known; see poolsize.units."""
NO_END = "no end"
"""The cell of a time in a queue that grows without end."""
GAP = "  "
"""Between two columns."""
Lines = Sequence[Sequence[str]]
"""Lines of cells, one cell a column."""


def terminal_width() -> int | None:
    """Return the columns of the terminal, 40 to 120, or None where standard output is not a terminal.

    The environment variable COLUMNS counts before the terminal's own size.
    """
    if not sys.stdout.isatty():
        return None
    import shutil  # text that goes to a file or to another program starts without it

    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns))


def bullets(lines: Iterable[str]) -> str:
    """Return a bullet list of the lines, each wrapped at the terminal's width, or at 88 columns without a terminal."""
    return "\n".join(paragraph(line, "  - ") for line in lines)


def paragraph(text: str, mark: str = "") -> str:
    """Return a text wrapped like the bullets. mark: what its first line begins with; the others are indented by it."""
    width = terminal_width() or PIPED
    indent = " " * len(mark)
    return textwrap.fill(text, width, initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False)


class Table(QuickRecord):
    """Text cells in columns, which terminal, HTML page and Markdown file each print in their own way.

    columns: names. rows: each with one cell a column, ready to print. chosen: index of the row to point at, or None.
    """

    columns: Sequence[str]
    rows: Lines
    chosen: int | None = None

    def as_text(self) -> str:
        """Return the table as lines for a terminal: right-aligned columns under their names.

        A table wider than the terminal is folded: names wrap, and further columns follow below, each with the first
        column.
        """
        width = terminal_width()
        lines = [self.columns, *self._pointed("->")]
        text = _aligned(lines)
        if width is None or _width(text) <= width:
            return text
        columns = list(zip(*lines, strict=True))
        return "\n\n".join(_folded([columns[place] for place in places]) for places in self._blocks(columns, width))

    def below(self, title: str) -> str:
        """Return the title, and the table as text below it; empty without rows."""
        return f"{title}:\n\n{self.as_text()}" if self.rows else ""

    def as_markdown(self) -> str:
        """Return the table in Markdown's pipes, right-aligned."""
        lines = (self.columns, ("--:",) * len(self.columns), *self._pointed("→"))
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def without_unknown(self) -> "Table":
        """Return the table without the columns that no row knows."""
        columns = [
            (name, *cells)
            for name, *cells in zip(self.columns, *self.rows, strict=True)
            if not cells or any(cell != UNKNOWN for cell in cells)
        ]
        names, *rows = zip(*columns, strict=True)
        return replace(self, columns=names, rows=tuple(rows))

    def _pointed(self, arrow: str) -> list[Sequence[str]]:
        return [(f"{arrow} {row[0]}", *row[1:]) if index == self.chosen else row for index, row in enumerate(self.rows)]

    def _blocks(self, columns: Lines, width: int) -> list[list[int]]:
        """Return the columns of each table of a folded table: as many as fit into the width, the first in each."""
        widths = [_width(_folded([column])) for column in columns]
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
            if groups and (re.fullmatch(r"p[\d.]+", name) or self.columns.count(name) > 1):
                groups[-1].append(place)
            else:
                groups.append([place])
        return groups


def _width(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _aligned(lines: Lines) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        GAP.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _folded(columns: Lines) -> str:
    """Return columns, each a name and its cells, as narrow as their cells and the words of their names allow."""
    heads = [textwrap.wrap(name, max(map(len, (*name.split(), *cells, " ")))) for name, *cells in columns]
    height = max(map(len, heads))
    padded = [[*[""] * (height - len(head)), *head, *cells] for head, (_, *cells) in zip(heads, columns, strict=True)]
    return _aligned(list(zip(*padded, strict=True)))
