"""Private servers whose watchdog was killed: they are ended, and their directories removed."""

import fcntl
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import IO

import psutil

REMOVAL_SECONDS = 30
WATCHED = "watched"
"""The file in a server's directory that its watchdog holds locked; the system gives the lock up when it dies."""


def watch(directory: Path) -> IO[str]:
    """Return the file that shows, as long as it is open, that the directory has a watchdog."""
    making = directory / "watching"  # so that nobody sees the file before it is locked
    file = making.open("w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    making.rename(directory / WATCHED)
    return file


def clear_abandoned(parent: Path, beginning: str) -> None:
    """End the servers of this account that nobody watches, and remove their directories.

    The directories are those in parent whose names begin so.
    """
    for directory in parent.glob(f"{beginning}*"):
        with suppress(OSError):
            status = directory.lstat()
            if S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not _is_watched(directory):
                clear(directory)


def clear(directory: Path) -> None:
    """End what runs in the directory, and remove it, repeatedly while killed processes still write to it."""
    data = f"--datadir={directory / 'data'}"
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # psutil lets a vanished file of /proc pass as it is
            if data in process.cmdline():
                process.kill()
    remove(directory)


def remove(directory: Path) -> None:
    """Remove a directory, repeatedly while children of a killed installer still write to it."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    while directory.exists() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.05)


def _is_watched(directory: Path) -> bool:
    """Return whether a watchdog holds the directory's file. Raises OSError where there is no such file."""
    with (directory / WATCHED).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
