"""Short names of run files."""

from collections.abc import Sequence
from pathlib import Path


def run_names(paths: Sequence[str]) -> list[str]:
    """Return a short name for each path, in their order: the file's name without its ending.

    The names contain as many parent folders as are needed to make them differ.
    """
    parts_of_paths = [Path(path).with_suffix("").parts for path in paths]
    for length in range(1, max(map(len, parts_of_paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in parts_of_paths]
        if len(set(names)) == len(set(paths)):
            return names
    return list(paths)
