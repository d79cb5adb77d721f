"""The names that `poolsize` offers to Python, and those that the notebooks use."""

import ast
import json
import re
import subprocess
import sys
from pkgutil import iter_modules

import pytest

import poolsize
from tests.conftest import ROOT

NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


def test_no_folder_or_module_has_a_public_name() -> None:
    """Python would take the module for the function as soon as anything imports the module."""
    assert {module.name for module in iter_modules(poolsize.__path__)}.isdisjoint(poolsize.__all__)


@pytest.mark.costly
def test_every_public_name_can_be_called() -> None:
    fresh = "from poolsize import *; import poolsize; print(all(callable(globals()[n]) for n in poolsize.__all__))"
    done = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_the_page_of_the_api_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: poolsize\.(\w+)$", page, re.MULTILINE)) == sorted(poolsize.__all__)


@pytest.mark.costly
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_everything_that_a_notebook_imports_exists(name: str) -> None:
    notebook = json.loads(NOTEBOOKS[name].read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    imports: list[ast.stmt] = [
        line for line in ast.parse("\n".join(cells)).body if isinstance(line, ast.Import | ast.ImportFrom)
    ]
    assert len(imports) > 3
    exec(compile(ast.Module(imports, []), name, "exec"), {})
