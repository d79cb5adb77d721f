"""Short names of files, for people."""

from collections.abc import Sequence
from pathlib import Path


def run_names(paths: Sequence[str]) -> list[str]:
    """Each file's name without its ending, with as many of its folders before it as tell all of them apart."""
    parts = [Path(path).with_suffix("").parts for path in paths]
    for number in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-number:]) for one in parts]
        if len(set(names)) == len(set(paths)):
            return names
    return list(paths)
