"""Expected outputs, in tests/golden; POOLSIZE_WRITE_GOLDEN=1 writes them anew, to be looked at before they are kept."""

import os
import shutil
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

from tests.conftest import ROOT

GOLDEN = ROOT / "tests/golden"
WRITE = bool(os.environ.get("POOLSIZE_WRITE_GOLDEN"))
PIXELS = 4.0
"""Root mean square of the difference, of 255: fonts drawn by another FreeType stay below it, and a small mark that is
missing does not."""


def assert_golden(name: str, text: str) -> None:
    """The text is that of the file."""
    if WRITE:
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


def assert_golden_image(name: str, figure: Figure, folder: Path) -> None:
    """The figure looks like the file, within PIXELS. The files are of Matplotlib 3.11, which lays out texts anew."""
    path = folder / name
    figure.savefig(path, dpi=80)
    if mpl.__version_info__ < (3, 11):
        pytest.skip(f"the images are of Matplotlib 3.11, this is {mpl.__version__}")
    if WRITE:
        shutil.copyfile(path, GOLDEN / "plots" / name)
    difference = compare_images(str(GOLDEN / "plots" / name), str(path), PIXELS)
    assert difference is None, difference
