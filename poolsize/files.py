"""Files of others, opened only where they are regular files, and read up to a limit; and the files of poolsize."""

import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from poolsize.bounds import within
from poolsize.errors import BadInput

if TYPE_CHECKING:
    import jinja2

OTHER_KINDS = {
    stat.S_IFDIR: "folder", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}  # fmt: skip


def opened(path: Path) -> BinaryIO:
    """Return a regular file, opened to be read. Neither opening nor reading it waits for anybody.

    Raises OSError, whose strerror says what the path is, for a folder, a FIFO, a socket and a device.
    """
    _require_regular(path.stat())  # opening a device may have an effect: some tapes rewind
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (the caller closes it)
    try:
        _require_regular(os.fstat(file.fileno()))  # another file may have taken the path
    except OSError:
        file.close()
        raise
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def content(path: Path, most_bytes: int, named: str | None = None) -> bytes:
    """Return the content of a regular file of at most so many bytes. Raises BadInput for any other file.

    named: the file, as an error names it; by default its path.
    """
    named = named or str(path)
    try:
        with opened(path) as file:
            return within(named, file.read(most_bytes + 1) or b"", most_bytes)
    except OSError as error:
        raise BadInput(f"{named} can't be read: {error.strerror}") from None


def why_missing(path: Path) -> str:
    """Return why a path is not that of a regular file."""
    try:
        _require_regular(path.stat())
    except FileNotFoundError:
        return "there is no such file"
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", error))
    return ""


def _require_regular(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(0, f"it is a {OTHER_KINDS.get(kind, 'special file')}, not a regular file")


PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """Return the path of a shipped folder or file, such as "locustfiles" or "notebooks/analysis.ipynb".

    An installed package holds the file itself; in a checkout the file is beside the package.
    """
    installed = PACKAGE / "shipped" / name
    return installed if installed.exists() else PACKAGE.parent / name


@cache
def templates(
    *packages: str, is_html: bool = False, finalize: Callable[[object], object] | None = None
) -> "jinja2.Environment":
    """Return the templates of these packages; a name that a template does not get is an error.

    is_html: whether texts are escaped. finalize: what a template writes in place of a value, as in jinja2.
    """
    import jinja2  # most commands need no template

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=is_html,  # noqa: S701 (locustfiles, configurations and Markdown have no HTML)
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def workloads() -> dict[str, Path]:
    """Return the workloads that come with poolsize: name -> locustfile, in alphabetical order."""
    return {path.stem: path for path in sorted(shipped("locustfiles").glob("*.py"))}
