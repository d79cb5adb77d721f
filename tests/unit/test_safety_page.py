"""Every row of the documented table of faults is a test."""

import re

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "security.md"


def test_every_fault_of_the_documentation_is_a_test() -> None:
    text = PAGE.read_text()
    rows = text.split("## What happens when something breaks")[1]
    faults = [line for line in rows.splitlines() if line.startswith("| ")][1:]
    named = set(re.findall(r"`(test_\w+)`", text))
    written = {
        name
        for path in (ROOT / "tests").glob("*/test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert len(faults) >= 15
    assert all(re.search(r"`test_\w+`", line) for line in faults)
    assert named <= written
