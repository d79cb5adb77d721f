"""Where the files that come with poolsize are: the locustfiles, the notebooks, the data."""

from pathlib import Path

PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """The folder or file of that name, from the installed package or else from the checkout around it."""
    installed = PACKAGE / "shipped" / name
    return installed if installed.exists() else PACKAGE.parent / name


def workloads() -> dict[str, Path]:
    """Every workload that comes with poolsize: name -> locustfile."""
    return {path.stem: path for path in sorted(shipped("locustfiles").glob("*.py"))}
