"""The names that `poolsize` offers to Python."""

import subprocess
import sys
from pkgutil import iter_modules

import poolsize


def test_no_folder_or_module_has_a_public_name() -> None:
    """Python would take the module for the function as soon as anything imports the module."""
    assert {module.name for module in iter_modules(poolsize.__path__)}.isdisjoint(poolsize.__all__)


def test_every_public_name_can_be_called() -> None:
    fresh = "from poolsize import *; import poolsize; print(all(callable(globals()[n]) for n in poolsize.__all__))"
    done = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
