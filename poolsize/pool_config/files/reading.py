"""Files and folders -> the pools that they configure."""

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from poolsize.bounds import shortened
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.parser_process import parsed
from poolsize.pool_config.files.documents import json_pools, properties_pools, yaml_pools
from poolsize.pool_config.files.go_source import go_pools
from poolsize.pool_config.files.java_source import java_pools
from poolsize.pool_config.files.javascript_source import javascript_pools, typescript_pools
from poolsize.pool_config.files.option_file import server_pools
from poolsize.pool_config.files.python_source import python_pools
from poolsize.pool_config.files.xml_file import xml_pools
from poolsize.pool_config.libraries import LIBRARIES
from poolsize.pool_config.pool import FilePool, FileSetting

MOST_BYTES = 2**21
MOST_POOLS, MOST_UNREAD = 100, 20
"""Pools of a file, and settings of a pool that its library does not read."""
LONGEST_TEXT = 200
MOST_FILES = 100_000
"""Files of a folder. Each takes about 0.2 ms, and 15 ms where it is parsed."""
LEFT_OUT = {"node_modules", "site-packages", "venv", "target", "build", "dist", "vendor"}
"""Folders whose files are generated, or those of libraries. Hidden folders are left out, too."""
GENERATED = (".min.js", "-lock.yaml")
"""How the names of generated files end."""
WORDS = (
    b"mysql", b"maria", b"pool", b"sql.open", b"sqlalchemy", b"createengine", b"jdbc", b"hikari", b"druid", b"dbcp",
    b"c3p0", b"datasource", b"databases", b"databaseurl", b"connectionstring", b"connectionlimit", b"connmaxage",
    b"connhealth", b"setconnmax", b"maxconn", b"maxopen", b"maxidle", b"maxactive", b"maxtotal", b"maxwait",
    b"tomcat", b"evict", b"removeabandoned", b"maxchildren", b"replicas", b"replicacount", b"workers", b"concurrency",
    b"unicorn", b"hibernate", b"tortoise", b"persistentdb",
)  # fmt: skip
"""A file with a pool, or with a number of instances, contains a word of these.

Hyphens, underscores and capitals make no difference.
"""
READERS = {
    ".yml": yaml_pools,
    ".yaml": yaml_pools,
    ".py": python_pools,
    ".go": go_pools,
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".tsx"), javascript_pools),
    **dict.fromkeys((".ts", ".mts", ".cts"), typescript_pools),
    ".json": json_pools,
    ".cnf": server_pools,
    ".ini": server_pools,
    ".xml": xml_pools,
    ".java": java_pools,
}
"""Ending of a file's name -> the reader of its text; .properties needs the name as well."""
JSON_NAME = re.compile("config|settings|database|datasource|knex|sequelize|^db", re.IGNORECASE)
"""In the names of JSON files of a folder that may have pools: others are data."""
ENDINGS = {*READERS, ".properties"}
KINDS = "YAML, .properties, XML, Java, Python, Go, JavaScript, TypeScript, JSON, or my.cnf"

_Pool = tuple[str, str, dict[str, FileSetting], tuple[FileSetting, ...], bool]
"""The fields of a FilePool, its library by its title."""


@dataclass(frozen=True)
class PoolFile:
    """What a file configures. pools: the first pools, not empty. more: the number of further pools."""

    path: Path
    pools: tuple[FilePool, ...]
    more: int


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
    if not files:
        folders = [path for path in paths if path.is_dir()]
        if not folders:
            raise errors[0]
        raise BadInput(f"{folders[0]}: no file in this folder has settings of a pool that poolsize knows and can read")
    return files, errors


def _files_in(folder: Path) -> list[Path]:
    """Return the files of known kinds in a folder and its folders."""
    files: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        files += [Path(parent, name) for name in sorted(names) if _is_likely(name)]
        if len(files) > MOST_FILES:
            raise BadInput(f"{folder} has more than {MOST_FILES:,} files that may have pools: name a folder in it")
    return files


def _is_likely(name: str) -> bool:
    ending = Path(name).suffix.lower()
    is_data = ending == ".json" and not JSON_NAME.search(name)
    return ending in ENDINGS and not is_data and not name.endswith(GENERATED)


def may_have_pools(raw: bytes, file_name: str) -> bool:
    """Return whether a file contains a word of WORDS. This takes microseconds; a parser takes milliseconds."""
    plain = (raw + file_name.encode(errors="replace")).lower().translate(None, b"-_")
    return any(word in plain for word in WORDS)


def read_pools(path: Path, *, is_named: bool = True) -> PoolFile:
    """Return the pools that a file configures. Raises NoPools for a file without any; BadInput for an unknown kind.

    is_named: whether somebody named the file, which is then parsed in any case.
    """
    raw = content(path, MOST_BYTES)
    if path.suffix.lower() not in ENDINGS:
        raise BadInput(f"{path}: poolsize reads {KINDS}; this file is none of them")
    no_pools = NoPools(f"{path} has no settings of a pool that poolsize knows: name the file that has them")
    if not (is_named or may_have_pools(raw, path.name)):
        raise no_pools
    number, pools = parsed(lambda: _first(_pools_in(raw, path.name)), tuple[int, tuple[_Pool, ...]], str(path))
    if not pools:
        raise no_pools
    return PoolFile(path, tuple(FilePool(LIBRARIES[pool[0]], *pool[1:]) for pool in pools), number - len(pools))


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
