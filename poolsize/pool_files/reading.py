"""A file -> the pools that it configures."""

from pathlib import Path

from poolsize.errors import BadInput
from poolsize.pool_files.go_source import go_pools
from poolsize.pool_files.javascript_source import javascript_pools
from poolsize.pool_files.keys import properties_pools, yaml_pools
from poolsize.pool_files.pool import FilePool
from poolsize.pool_files.python_source import python_pools
from poolsize.pool_files.server_options import server_pools

LARGEST_BYTES = 2_000_000
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


def read_pools(path: Path) -> list[FilePool]:
    """Return the pools that a file configures. Raises BadInput for a file without any, and for an unknown kind."""
    ending = path.suffix.lower()
    if path.is_dir():
        raise BadInput(f"{path} is a folder: name a file")
    text = _text(path)
    if ending not in READERS and ending != ".properties":
        raise BadInput(f"{path}: poolsize reads {KINDS}; this file is none of them")
    try:
        pools = properties_pools(text, path.name) if ending == ".properties" else READERS[ending](text)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except RecursionError:
        raise BadInput(f"{path}: its values are nested too deeply") from None
    if not pools:
        raise BadInput(f"{path} has no settings of a pool that poolsize knows: name the file that has them")
    return pools


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadInput(f"{path} is larger than {LARGEST_BYTES // 1_000_000} MB: no file with settings of a pool")
        return path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
