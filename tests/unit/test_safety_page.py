"""Every row of the documented tables of threats and of faults is a test."""

import re

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "security.md"


def test_every_row_of_the_documentation_is_a_test() -> None:
    text = PAGE.read_text()
    threats, faults = (
        [line for line in text.split(f"## {title}")[1].split("\n## ")[0].splitlines() if line.startswith("| ")][1:]
        for title in ("Who may try what", "What happens when something breaks")
    )
    named = set(re.findall(r"`(test_\w+)`", text))
    written = {
        name
        for path in (ROOT / "tests").glob("*/test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert len(faults) >= 15
    assert len(threats) >= 30
    assert all(re.search(r"`test_\w+`", line) for line in threats + faults)
    assert named <= written
