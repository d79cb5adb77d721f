"""The variables and keys of a configuration that some files set, and the pools of others that depend on them."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from poolsize.pool_config.files.reading import PoolFile, SetVariable, read_pools
from poolsize.pool_config.files.values import NAME, relaxed_key
from poolsize.pool_config.libraries.go import GO
from poolsize.pool_config.libraries.other_languages import OWN_GO
from poolsize.pool_config.pool import FileSetting, Variable, normalized

FIELD = re.compile(r"\.(\w{2,60})\b(?!\s?[.(])")
"""The last name in the path of a field in Go, as in c.Mysql.MaxOpenConns."""


def in_environment(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files with pools or counts: the pools as the variables of all files make them. Raises BadInput."""
    asking: dict[str, dict[Path, Path]] = {}
    """Name of a variable -> the files whose pools depend on it, each with its real path."""
    environments: dict[Path, dict[str, list[SetVariable]]] = {file.path: {} for file in files}
    for file in files:
        for name in (*map(relaxed_key, file.asks_for), *_fields(file)):
            asking.setdefault(name, {})[file.path] = file.path.resolve()
    every = [
        (SetVariable(file.path, each), relaxed_key(each.setting.name)) for file in files for each in file.variables
    ]
    every += [
        (SetVariable(file.path, Variable(each)), normalized(each.name)) for file in files for each in _numbers(file)
    ]
    spellings: dict[tuple[Path, str], str] = {}
    """Path of a file that asks for a key, and the key -> how the place with the largest value spells it."""
    for each, asked in sorted(every, key=lambda pair: -pair[0].number):
        for path in _programs(each, asking.get(asked, {})):
            name = each.variable.setting.name
            spelling = spellings.setdefault((path, relaxed_key(name)), name)
            environments[path].setdefault(spelling, []).append(each)
    followed = _without_followed([_with_variables(file, environments[file.path]) for file in files])
    return [file for file in followed if file.pools or file.counts]


def _fields(file: PoolFile) -> set[str]:
    """Return the normalized names of fields in Go that give limits a value which their file does not contain."""
    unknown = (each for pool in file.pools if pool.library is GO for each in pool.not_followed)
    return {normalized(name) for each in unknown for name in FIELD.findall(each.text)}


def _numbers(file: PoolFile) -> list[FileSetting]:
    """Return the numbers from which fields in Go may be set: those of a configuration's only pool of own Go code."""
    pools = [pool for pool in file.pools if pool.library is OWN_GO and file.path.suffix != ".go"]
    if len({pool.place for pool in pools}) != 1:
        return []
    settings = (each for pool in pools for each in (*pool.settings.values(), *pool.beside))
    return [each for each in settings if isinstance(each.value, int | float)]


def _without_followed(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files without the pools of own Go code whose size is that of a pool in Go source."""
    sizes = [
        (file, pool.settings[name])
        for file in files
        for pool in file.pools
        for name in GO.sizes
        if pool.library is GO and name in pool.settings
    ]
    keys = [(file, key) for file, size in sizes if size.value for key in size.variables if not NAME.fullmatch(key)]
    followed = {each.path for file, key in keys for each in file.environment.get(key, ())}
    return [
        replace(file, pools=tuple(pool for pool in file.pools if pool.library is not OWN_GO))
        if file.path in followed
        else file
        for file in files
    ]


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
