"""Files and folders -> the pools that they configure."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from poolsize.bounds import shortened
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.parser_process import parsed
from poolsize.pool_config.files.kinds import KINDS, is_likely, may_have_pools, pools_and_counts, reader
from poolsize.pool_config.libraries.table import LIBRARIES
from poolsize.pool_config.pool import Count, FilePool, FileSetting, PoolOrCount

MOST_BYTES = 2**21
MOST_POOLS, MOST_UNREAD = 100, 20
"""Pools of a file, and settings of a pool that its library does not read."""
LONGEST_TEXT = 200
MOST_FILES = 100_000
"""Files of a folder. Each takes about 0.2 ms, and 15 ms where it is parsed."""
LEFT_OUT = {
    "node_modules", "site-packages", "venv", "target", "build", "dist", "vendor", "test", "tests", "__tests__",
    "testdata", "fixtures", "e2e",
}  # fmt: skip
"""Folders whose files are generated, or those of libraries or of tests. Hidden folders are left out, too."""

_Pool = tuple[
    str, str, dict[str, FileSetting], tuple[FileSetting, ...], bool, str, tuple[FileSetting, ...], bool, str, str
]
"""The fields of a FilePool, its library by its title."""


@dataclass(frozen=True)
class PoolFile:
    """What a file configures.

    pools: the first pools; none for a file that has counts only. more: the number of further pools. counts: the numbers
    of instances and processes that it states.
    """

    path: Path
    pools: tuple[FilePool, ...]
    more: int
    counts: tuple[Count, ...] = ()


class NoPools(BadInput):
    """A file without settings of a pool that poolsize knows."""


def read_files(paths: Sequence[Path]) -> tuple[list[PoolFile], list[BadInput]]:
    """Return the files with pools among some files and the files in folders, and why others are not read; each once.

    Of a folder, files without pools are left out; those that can't be parsed have an error, and so has a file without
    pools that is named itself. Raises BadInput for a file that is named itself and can't be read, and where no file has
    pools.
    """
    files: list[PoolFile] = []
    errors: list[BadInput] = []
    real_paths: set[str] = set()
    for path in paths:
        is_folder = path.is_dir()
        for file in _files_in(path) if is_folder else [path]:
            real = os.path.realpath(file)
            try:
                if real not in real_paths:
                    real_paths.add(real)
                    files.append(read_pools(file, is_named=not is_folder))
            except BadInput as error:
                has_no_pools = isinstance(error, NoPools)
                if not is_folder and not has_no_pools:
                    raise
                if not (is_folder and has_no_pools):
                    errors.append(error)
    if not any(file.pools for file in files):
        folders = [path for path in paths if path.is_dir()]
        if not folders:
            raise errors[0] if errors else NoPools(_without_pools(paths[0]))
        raise BadInput(f"{folders[0]}: no file in this folder has settings of a pool that poolsize knows and can read")
    return files, errors


def _files_in(folder: Path) -> list[Path]:
    """Return the files of known kinds in a folder and its folders."""
    files: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        files += [Path(parent, name) for name in sorted(names) if is_likely(name)]
        if len(files) > MOST_FILES:
            raise BadInput(f"{folder} has more than {MOST_FILES:,} files that may have pools: name a folder in it")
    return files


def read_pools(path: Path, *, is_named: bool = True) -> PoolFile:
    """Return the pools that a file configures. Raises NoPools for a file without any; BadInput for an unknown kind.

    is_named: whether somebody named the file, which is then parsed in any case.
    """
    raw = content(path, MOST_BYTES)
    if reader(path.name) is None:
        raise BadInput(f"{path}: poolsize reads {KINDS}; this file is none of them")
    if not (is_named or may_have_pools(raw, path.name)):
        raise NoPools(_without_pools(path))
    number, pools, counts = parsed(
        lambda: _first(pools_and_counts(_text(raw), path.name)),
        tuple[int, tuple[_Pool, ...], tuple[Count, ...]],
        str(path),
    )
    if not pools and not counts:
        raise NoPools(_without_pools(path))
    return PoolFile(path, tuple(FilePool(LIBRARIES[pool[0]], *pool[1:]) for pool in pools), number - len(pools), counts)


def _without_pools(path: Path) -> str:
    return f"{path} has no settings of a pool that poolsize knows: name the file that has them"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _first(contents: Sequence[PoolOrCount]) -> tuple[int, list[Any], list[Any]]:
    """Return the number of pools, and the first pools and counts as values of JSON, with texts short enough to show."""
    pools = [each for each in contents if isinstance(each, FilePool)]
    counts = [each for each in contents if isinstance(each, Count)]
    for pool in pools[:MOST_POOLS]:
        if len(pool.unread) > MOST_UNREAD:
            raise BadInput(
                f"line {pool.unread[0].line}: {pool.library.title} does not read {len(pool.unread)} settings of the "
                "pool: the file is not a configuration, or is damaged"
            )
    first = [
        [pool.library.title, *(_shown(getattr(pool, each.name)) for each in fields(pool)[1:])]
        for pool in pools[:MOST_POOLS]
    ]
    return len(pools), first, list(map(_shown, counts[:MOST_POOLS]))


def _shown(value: Any) -> Any:
    """Return a part of a pool or a count as a value of JSON, with texts short enough to show and without URLs.

    A URL in a setting may have a password.
    """
    if isinstance(value, str):
        return "an expression with a URL" if "://" in value else shortened(value, LONGEST_TEXT)
    if isinstance(value, FileSetting | Count):
        return {each.name: _shown(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: _shown(each) for name, each in value.items()}
    return [_shown(each) for each in value[:MOST_UNREAD]] if isinstance(value, tuple) else value
