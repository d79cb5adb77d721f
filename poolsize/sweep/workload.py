"""The workload of a sweep: the locustfile with the transactions to measure."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from poolsize.errors import BadInput, did_you_mean
from poolsize.files import content, why_missing
from poolsize.shipped import workloads

DEFAULT_WORKLOAD = "oltp_read_write"
MOST_BYTES = 2**24
"""The largest locustfile, and the largest recording."""


@dataclass(frozen=True)
class Workload:
    """The workload of a sweep.

    name: the locustfile's name without its folder and ending. own_path: the path as typed, or None for a workload that
    comes with poolsize. sha256: of the locustfile's text, or of its name where there is no such file, as for a
    published curve.
    """

    name: str
    own_path: str | None
    sha256: str


def workload_of(locustfile: Path, own_path: str | None = None) -> Workload:
    """Return the workload of a locustfile or of a recording. locustfile: its path, or a published curve's name."""
    text = content(locustfile, MOST_BYTES) if locustfile.is_file() else os.fsencode(locustfile.name)
    return Workload(locustfile.stem, own_path, hashlib.sha256(text).hexdigest())


def typed_workload(typed: str) -> Workload:
    """Return the workload of a path as typed. The path may be that of a locustfile that comes with poolsize."""
    locustfile = Path(typed)
    shipped = workloads().get(locustfile.stem)
    return workload_of(locustfile, None if shipped and shipped.samefile(locustfile) else typed)


def find_locustfile(workload: str) -> Path:
    """Return the locustfile of a shipped workload's name, or of a path. Raises BadInput for neither."""
    known = workloads()
    if workload in known:
        return known[workload]
    if Path(workload).is_file() and Path(workload).suffix == ".py":
        return Path(workload)
    if Path(workload).is_file():
        raise BadInput(f"`workload` {workload}: the name of a locustfile ends in .py")
    if Path(workload).suffix == ".py" or Path(workload).parent != Path():
        raise BadInput(f"`workload` {workload}: {why_missing(Path(workload))}")
    raise BadInput(
        f"`workload` {workload}: neither a locustfile nor one of {', '.join(known)}{did_you_mean(workload, known)}"
    )
