"""Paths of the files that come with poolsize: the locustfiles, the notebooks, the data."""

from pathlib import Path

PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """Return the path of a shipped folder or file, such as "locustfiles" or "notebooks/analysis.ipynb".

    An installed package holds the file itself; in a checkout the file is beside the package.
    """
    installed = PACKAGE / "shipped" / name
    return installed if installed.exists() else PACKAGE.parent / name


def workloads() -> dict[str, Path]:
    """Return the workloads that come with poolsize: name -> locustfile, in alphabetical order."""
    return {path.stem: path for path in sorted(shipped("locustfiles").glob("*.py"))}
