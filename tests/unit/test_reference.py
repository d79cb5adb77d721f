"""The documentation: its generated pages are fresh, its links lead somewhere, and the README is short."""

import os
import re
from pathlib import Path

import pytest

from poolsize.facts.server import query
from poolsize.facts.status import COUNTERS
from poolsize.sweep.option import Group
from poolsize.sweep.options import OPTIONS
from tests.conftest import ROOT
from tests.pages import all_blocks, pages
from tests.reference import PAGES, RECORDS, options_page, unexplained_fields

DOCS = ROOT / "docs"
BUILT = {DOCS / "calculator.html"}
"""Pages that docs/hooks makes when the documentation is built."""
NOT_OF_SWEEP_OPTIONS = {"--current", "--json", "--help-all"}


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_fresh(name: str) -> None:
    assert (DOCS / "reference" / name).read_text() == PAGES[name](), "run: scripts/docs --write"


def test_every_option_has_a_row_with_its_meaning() -> None:
    for name, option in OPTIONS.items():
        (row,) = [line for line in options_page().splitlines() if line.startswith(f"| `{option.flag}` |")]
        assert option.text in row
        assert row.endswith(f"| `{name}` |")


@pytest.mark.parametrize(("page", "level"), [("options.md", "##"), ("commands.md", "###")])
def test_an_option_is_under_the_heading_of_its_group(page: str, level: str) -> None:
    for group in Group:
        (section,) = re.findall(rf"^{level} {group.value}\n(.*?)(?=^##|\Z)", PAGES[page](), re.MULTILINE | re.DOTALL)
        listed = set(re.findall(r"^\| `(--[a-z0-9-]+)", section, re.MULTILINE))
        assert listed - NOT_OF_SWEEP_OPTIONS == {option.flag for option in OPTIONS.values() if option.group is group}


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_of_a_record_is_explained(record: type) -> None:
    assert unexplained_fields(record) == set()


def test_every_counter_is_explained() -> None:
    queried = set(re.findall(r"'(\w+)'", query("status")))
    assert queried == {name for name in COUNTERS if name[0].isupper()}


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_changelog_says_what_the_first_release_has() -> None:
    """Nothing was released, so nobody has what was changed and mended on the way."""
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert len(lines) <= 60
    assert not {"### Changed", "### Fixed"} & {*lines}


def test_a_workload_is_the_same_on_every_page_that_shows_it() -> None:
    texts: dict[str, str] = {}
    for block in all_blocks("python"):
        if block.file:
            assert texts.setdefault(block.file, block.text) == block.text, block.name


@pytest.mark.parametrize("page", [*pages(), *(f"docs/reference/{name}" for name in PAGES)])
def test_the_links_of_a_page_lead_to_files_and_headings(page: str) -> None:
    path = ROOT / page
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = Path(os.path.normpath(path.parent / file)) if file else path
        assert target.exists() or target in BUILT, link
        assert not page.startswith("docs/") or target.is_relative_to(DOCS), f"{link} is not part of the site"
        assert not anchor or anchor in _anchors(target.read_text()), link


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        explicit = re.search(r"\{ #(\S+) \}$", heading)
        slug = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        anchors.add(explicit[1] if explicit else re.sub(r"[-\s]+", "-", slug))
    return anchors
