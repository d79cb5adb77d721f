"""The notebook: runs from top to bottom, on the example run and on any other."""

from pathlib import Path

import papermill
import pytest

from poolsize.shipped import shipped
from tests.conftest import ROOT

NOTEBOOK = ROOT / "notebooks/analysis.ipynb"


@pytest.mark.slow
@pytest.mark.parametrize("run", sorted(shipped("data/examples").glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, run: Path) -> None:
    papermill.execute_notebook(NOTEBOOK, tmp_path / "out.ipynb", {"RUN": str(run)}, progress_bar=False)
    text = (tmp_path / "out.ipynb").read_text()
    assert text.count("image/png") >= 3
    assert "Pool size: " in text


def test_its_outputs_are_committed() -> None:
    assert NOTEBOOK.read_text().count("image/png") >= 3
