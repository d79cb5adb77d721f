"""The figures of README.md and of docs have a source in their section: a command, a path, or a link.

The reference lists settings and formats, whose source is the code that it describes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference"]
PAGES = [ROOT / "README.md", *DOCS]
FIGURE = re.compile(r"\d (?:ms|s|%|MB)(?!\w)|\d/s")
SOURCE = re.compile(r"`(?:poolsize |python -m |(?:scripts|tests|data|poolsize)/)|\]\(|\]\[|^ *```(?:sh|console)$", re.M)
FENCED = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
WITHOUT_A_SOURCE = {
    "| Term | Meaning |": "the glossary defines the figures",
    "`exhaustion` first measures": "the scenario's own settings",
    "The metrics of a resized pool": "HikariCP's own interval; it is no measurement",
}
"""First words of a paragraph or table whose figures need no source -> why."""


def without_a_source(text: str) -> Iterator[str]:
    """Yield the paragraphs and tables that have a figure, of the sections that name no source."""
    prose = FENCED.sub(lambda block: block[0].partition("\n")[0], text)  # comments of code begin like headings
    for section in re.split(r"^(?=#)", prose, flags=re.M):
        if not SOURCE.search(section):
            parts = section.split("\n\n")
            yield from (part for part in parts if FIGURE.search(part) and not part.startswith(tuple(WITHOUT_A_SOURCE)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_has_a_source(page: Path) -> None:
    assert list(without_a_source(page.read_text())) == []


def test_a_figure_without_a_source_is_listed() -> None:
    page = "# Waits\n\nA wait takes 53 ms.\n\nNo figure.\n\n## Sweeps\n\n4 % by `scripts/scorecard`.\n"
    assert list(without_a_source(page)) == ["A wait takes 53 ms."]
