"""A table of text cells, which terminal, HTML page and Markdown file each print in their own way."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Text cells in columns.

    columns: names. rows: each with one cell a column, ready to print. chosen: index of the row to point at, or None.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chosen: int | None = None

    def as_text(self) -> str:
        """Return the table as lines for a terminal: right-aligned columns under their names."""
        lines = [self.columns, *self._pointed("->")]
        widths = [max(len(line[index]) for line in lines) for index in range(len(self.columns))]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def as_markdown(self) -> str:
        """Return the table in Markdown's pipes, right-aligned."""
        lines = (self.columns, ("--:",) * len(self.columns), *self._pointed("→"))
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def _pointed(self, arrow: str) -> list[tuple[str, ...]]:
        """Return the rows, with an arrow before the chosen row."""
        return [(f"{arrow} {row[0]}", *row[1:]) if index == self.chosen else row for index, row in enumerate(self.rows)]
