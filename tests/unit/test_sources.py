"""The figures of README.md and docs/explanation have a source in their section: a command, a path, or a link."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "explanation").glob("*.md"))]
FIGURE = re.compile(r"\d (?:ms|s|%|MB)(?!\w)|\d/s")
SOURCE = re.compile(r"`(?:poolsize |python -m |(?:scripts|tests|data|poolsize)/)|\]\(|\]\[|^ *```(?:sh|console)$", re.M)
FENCED = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
WITHOUT_A_SOURCE: dict[str, str] = {}
"""First words of a paragraph or table whose figures need no source -> why. Today there is none."""


def without_a_source(text: str) -> Iterator[str]:
    """Yield the paragraphs and tables that have a figure, of the sections that name no source."""
    for section in re.split(r"^(?=#)", text, flags=re.M):
        if not SOURCE.search(section):
            parts = FENCED.sub("", section).split("\n\n")
            yield from (part for part in parts if FIGURE.search(part) and not part.startswith(tuple(WITHOUT_A_SOURCE)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_has_a_source(page: Path) -> None:
    assert list(without_a_source(page.read_text())) == []


def test_a_figure_without_a_source_is_listed() -> None:
    page = "# Waits\n\nA wait takes 53 ms.\n\nNo figure.\n\n## Sweeps\n\n4 % by `scripts/scorecard`.\n"
    assert list(without_a_source(page)) == ["A wait takes 53 ms."]
