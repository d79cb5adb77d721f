"""A file -> the pools that it configures."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from poolsize.bounds import shortened
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.parser_process import parsed
from poolsize.pool_config.files.keys import properties_pools, server_pools, yaml_pools
from poolsize.pool_config.files.python_source import python_pools
from poolsize.pool_config.files.source_tokens import go_pools, javascript_pools
from poolsize.pool_config.library import LIBRARIES
from poolsize.pool_config.pool import FilePool, FileSetting

MOST_BYTES = 2**21
MOST_POOLS, MOST_UNREAD = 100, 20
"""Pools of a file, and settings of a pool that its library does not read."""
LONGEST_TEXT = 200
READERS = {
    ".yml": yaml_pools,
    ".yaml": yaml_pools,
    ".py": python_pools,
    ".go": go_pools,
    ".js": javascript_pools,
    ".mjs": javascript_pools,
    ".ts": javascript_pools,
    ".cnf": server_pools,
    ".ini": server_pools,
}
"""Ending of a file's name -> the reader of its text; .properties needs the name as well."""
KINDS = "Spring Boot YAML, .properties, Python, Go, JavaScript, or my.cnf"

_Pool = tuple[str, str, dict[str, FileSetting], tuple[FileSetting, ...], bool]
"""The fields of a FilePool, its library by its title."""


@dataclass(frozen=True)
class PoolFile:
    """What a file configures. pools: the first pools, not empty. more: the number of further pools."""

    pools: tuple[FilePool, ...]
    more: int


def read_pools(path: Path) -> PoolFile:
    """Return the pools that a file configures. Raises BadInput for a file without any, and for an unknown kind."""
    raw = content(path, MOST_BYTES)
    if path.suffix.lower() not in {*READERS, ".properties"}:
        raise BadInput(f"{path}: poolsize reads {KINDS}; this file is none of them")
    number, pools = parsed(lambda: _first(_pools_in(raw, path.name)), tuple[int, tuple[_Pool, ...]], str(path))
    if not pools:
        raise BadInput(f"{path} has no settings of a pool that poolsize knows: name the file that has them")
    return PoolFile(tuple(FilePool(LIBRARIES[pool[0]], *pool[1:]) for pool in pools), number - len(pools))


def _pools_in(raw: bytes, file_name: str) -> list[FilePool]:
    text = raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    ending = Path(file_name).suffix.lower()
    return properties_pools(text, file_name) if ending == ".properties" else READERS[ending](text)


def _first(pools: Sequence[FilePool]) -> tuple[int, list[Any]]:
    """Return the number of pools, and the first ones as values of JSON, with texts short enough to be shown."""
    first = []
    for pool in pools[:MOST_POOLS]:
        title, settings = pool.library.title, {name: _cut(setting) for name, setting in pool.settings.items()}
        if len(pool.unread) > MOST_UNREAD:
            raise BadInput(
                f"line {pool.unread[0].line}: {title} does not read {len(pool.unread)} settings of the pool: the "
                "file is not a configuration, or is damaged"
            )
        first.append((title, _short(pool.place), settings, list(map(_cut, pool.unread)), pool.complete))
    return len(pools), first


def _cut(setting: FileSetting) -> dict[str, Any]:
    return {name: _short(value) if isinstance(value, str) else value for name, value in asdict(setting).items()}


def _short(text: str) -> str:
    return shortened(text, LONGEST_TEXT)
