"""The environment variables that some files set, and the pools of others that depend on them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from poolsize.pool_config.files.reading import PoolFile, SetVariable, read_pools


def in_environment(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files with pools or counts: the pools as the variables of all files make them. Raises BadInput."""
    asking: dict[str, dict[Path, Path]] = {}
    """Name of a variable -> the files whose pools depend on it, each with its real path."""
    environments: dict[Path, dict[str, list[SetVariable]]] = {file.path: {} for file in files}
    for file in files:
        for name in file.asks_for:
            asking.setdefault(name, {})[file.path] = file.path.resolve()
    every = [SetVariable(file.path, variable) for file in files for variable in file.variables]
    for each in sorted(every, key=lambda each: -each.number):
        name = each.variable.setting.name
        for path in _programs(each, asking.get(name, {})):
            environments[path].setdefault(name, []).append(each)
    return [_with_variables(file, environments[file.path]) for file in files if file.pools or file.counts]


def _programs(each: SetVariable, asking: Mapping[Path, Path]) -> list[Path]:
    """Return the files, of those that ask for a variable, of whose program it may be.

    Compose says from which folder it builds a service. Otherwise, the nearest files are of the variable's program.
    """
    folder = each.path.parent.resolve()
    if each.variable.folder:
        built = (folder / each.variable.folder).resolve()
        return [path for path, real in asking.items() if real.is_relative_to(built)]
    common = {path: len(os.path.commonpath([folder, real])) for path, real in asking.items()}
    nearest = max(common.values(), default=0)
    return [path for path, length in common.items() if length == nearest]


def _with_variables(file: PoolFile, set_to: Mapping[str, Sequence[SetVariable]]) -> PoolFile:
    """Return a file read with the largest values of its variables.

    A value that names its own variable, as ${POOL:-5}, is a default: it counts where no other is, and in other files.
    """
    environment = {}
    for name, each in sorted(set_to.items()):
        plain = [other for other in each if name not in other.variable.setting.variables]
        if chosen := plain or [other for other in each if other.path != file.path]:
            environment[name] = tuple(chosen)
    if not environment:
        return file
    texts = {name: each[0].given for name, each in environment.items()}
    return replace(read_pools(file.path, texts=texts), environment=environment)
