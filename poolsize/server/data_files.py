"""A new server's data files: a server program makes them once, and each private server unpacks a copy.

The watchdog starts ``python -m poolsize.server.data_files DATA ARCHIVE INSTALLER...``. Only the first start of a server
program needs the installer, which takes half of the time.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import IO


def archive_of(version: str, parent: Path) -> Path:
    """Return the file that holds the data files of a server program, in parent; another file for each account.

    version: all that tells one program from another, such as its path, its time and what it says of itself.
    """
    key = hashlib.sha256(version.encode()).hexdigest()
    return parent / f"poolsize_data-{os.geteuid()}-{key[:16]}.tar.gz"


def install(data: Path, archive: Path, installer: Sequence[str]) -> int:
    """Fill the empty directory with a new server's files, and return the exit code: 0, or that of the installer.

    They come from the archive, or else from the installer; the archive then gets them, too. Raises OSError where they
    can't be written.
    """
    if file := _opened(archive):
        try:
            with file, tarfile.open(fileobj=file) as files:
                files.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.0 to 3.11.3 have none
                files.extractall(data)  # noqa: S202 - this user's own archive
            return 0
        except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError):  # a disk that failed has damaged it
            shutil.rmtree(data)
            data.mkdir(mode=0o700)
    code = subprocess.run(installer, check=False).returncode
    if code == 0:
        with suppress(OSError):  # the next private server tries again
            _store(data, archive)
    return code if code >= 0 else 128 - code  # as a shell reports a signal


def _opened(archive: Path) -> IO[bytes] | None:
    """Open the archive; return None where there is none, or others may have written it."""
    try:
        file = os.fdopen(os.open(archive, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError:
        return None
    status = os.fstat(file.fileno())
    if S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not S_IMODE(status.st_mode) & 0o077:
        return file
    file.close()
    return None


def _store(data: Path, archive: Path) -> None:
    """Write the archive, which appears when it is complete."""
    making = data.parent / archive.name
    with (
        os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as files,
    ):
        # No two of MySQL's servers may share their identity and keys, which a server makes anew.
        files.add(data, ".", filter=lambda each: None if each.name.endswith(("/auto.cnf", ".pem")) else each)
    making.replace(archive)


if __name__ == "__main__":
    try:
        sys.exit(install(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
    except OSError as error:
        sys.exit(f"[ERROR] {error.filename or sys.argv[1]}: {error.strerror}")
