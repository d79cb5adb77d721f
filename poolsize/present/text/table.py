"""A table of text, which a terminal, a page and a Markdown file each show in their own way."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """columns: their names. rows: as many cells each, ready to be read. chosen: the row to point at, or None."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chosen: int | None = None

    def as_text(self) -> str:
        """Right-aligned columns under their names."""
        lines = [self.columns, *self._pointed("->")]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def as_markdown(self) -> str:
        """Right-aligned, in the pipes that code hosts know."""
        lines = (self.columns, ("--:",) * len(self.columns), *self._pointed("→"))
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def _pointed(self, arrow: str) -> list[tuple[str, ...]]:
        """The rows, with an arrow before the chosen one."""
        return [(f"{arrow} {row[0]}", *row[1:]) if place == self.chosen else row for place, row in enumerate(self.rows)]
