"""Files and folders -> the pools that they configure, as the other files of their programs make them."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.pool_config.files.reading import (
    JAVASCRIPT,
    MOST_BYTES,
    TEST_ENDING,
    TYPESCRIPT,
    NoPools,
    PoolFile,
    SetVariable,
    copied_name,
    is_likely,
    may_have_pools,
    read_pools,
    without_template,
)
from poolsize.pool_config.files.urls import is_beside_schema, is_of_url, replaces_schema
from poolsize.pool_config.files.values import NAME, relaxed_key
from poolsize.pool_config.libraries.go import GO
from poolsize.pool_config.libraries.java_frameworks import beside_bean
from poolsize.pool_config.libraries.other_languages import OWN_CODE, OWN_GO, OWN_SIZE
from poolsize.pool_config.pool import FilePool, FileSetting, Library, Value, Variable, normalized
from poolsize.units import count

MOST_FILES = 100_000
"""Files of a folder. Each takes about 0.2 ms, and 15 ms where it is parsed."""
OF_TESTS = {"test", "tests", "__tests__", "testdata", "fixtures", "e2e"}
LEFT_OUT = {"node_modules", "site-packages", "venv", "target", "build", "dist", "vendor", *OF_TESTS}
"""Folders whose files are generated, or those of libraries or of tests. Hidden folders are left out, too."""
PACKAGE = re.compile(rb"^\s{0,9}package\s{1,9}([\w.]{1,200})", re.MULTILINE)
"""The package of a source of Java or Kotlin."""
MOST_NAMED = 3
"""Files and folders that are left out, in an error."""
CLIENT_OF_SCHEMA = re.compile(
    rb"new\s{1,9}PrismaClient\s{0,9}\(\s{0,99}(?:\)|\{(?![^;]{0,999}(?:\.{3}|\b(?:adapter|datasources|datasourceUrl)\b)))"
    rb"|extends\s{1,9}PrismaClient\b(?!.{0,1999}\b(?:adapter|datasources|datasourceUrl)\b)",
    re.DOTALL,
)
"""A client of Prisma without an adapter and a URL of its own: it has the schema's URL."""
MAKES_POOL = re.compile(r"Sequelize\b|[kK]nex\b|create|DataSource\b")
"""The beginning of a pool's place in JavaScript where a call makes the pool of the object."""
SPRING_FILE = re.compile(r"application(-[\w-]{1,60})?\.(ya?ml|properties)")
OF_DATA = {".yml", ".yaml", ".json", ".toml", ".ini", ".cfg", ".properties"}
"""Endings of files from which a program in Go may read its configuration."""
FIELD = re.compile(r"\.(\w{2,60})\b(?!\s?[.(])")
"""The last name in the path of a field in Go, as in c.Mysql.MaxOpenConns."""


def read_files(paths: Sequence[Path]) -> tuple[list[PoolFile], list[BadInput]]:
    """Return the files that configure something, of some files and of folders, each once; and why others are not read.

    Of a folder, files with nothing are left out; those that can't be parsed have an error, and so has a file without
    pools that is named itself. A package of Java with a name of OF_TESTS is read where no other file has pools.
    Raises BadInput for a file that is named itself and can't be read, and where no file has pools.
    """
    files: list[PoolFile] = []
    errors: list[BadInput] = []
    candidates, left_out = _candidates(paths)
    for file, is_folder in candidates.values():
        try:
            files.append(read_pools(file, is_named=not is_folder))
        except NoPools as error:
            if not is_folder:
                errors.append(error)
        except BadInput as error:
            if not is_folder:
                raise
            errors.append(error)
    files = _without_replaced(files, candidates)
    if not any(file.pools for file in files):
        folders = [path for path in paths if path.is_dir()]
        if not folders:
            raise errors[0] if errors else NoPools(paths[0])
        left_out = sorted({*left_out} - {*paths})
        if packages := list(filter(_is_package, left_out)):
            return read_files([*paths, *packages])
        raise _nothing_in(folders[0], left_out, errors)
    return files, errors


def _candidates(paths: Sequence[Path]) -> tuple[dict[Path, tuple[Path, bool]], list[Path]]:
    """Return the files to read, and the tests in folders: real path -> file, whether it is in a folder.

    Without the templates in folders of which any file has the name to which people copy them.
    """
    files: dict[Path, tuple[Path, bool]] = {}
    left_out: list[Path] = []
    for path in paths:
        is_folder = path.is_dir()
        inside, others = _files_in(path) if is_folder else ([path], [])
        left_out += others
        for file in inside:
            files.setdefault(Path(os.path.realpath(file)), (file, is_folder))
    names = {file.name for file, _ in files.values()}
    return {
        real: (file, is_folder)
        for real, (file, is_folder) in files.items()
        if not (is_folder and without_template(file.name) != file.name and without_template(file.name) in names)
    }, left_out


def _nothing_in(folder: Path, left_out: Sequence[Path], errors: Sequence[BadInput]) -> BadInput:
    """Return the error for a folder without pools. left_out: the tests in it, which are not read. errors: of files."""
    left_out = [path for path in left_out if path.is_dir() or _has_words(path)]
    named = ", ".join(map(str, left_out[:MOST_NAMED]))
    named += f" and {count(more, 'other')}" if (more := len(left_out) - MOST_NAMED) > 0 else ""
    return BadInput(
        f"{folder}: no file in this folder has settings of a pool that poolsize knows and can read"
        + (f"; not read because of their names: {named} (to check such a file or folder, name it)" if left_out else "")
        + (f"; not checked: {'; '.join(map(str, errors))}" if errors else "")
    )


def _has_words(path: Path) -> bool:
    """Return whether a file that is left out by its name may have pools."""
    with suppress(BadInput):
        return may_have_pools(content(path, MOST_BYTES), path.name)
    return False


def _files_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of a folder that may have pools, and the folders and files of tests in it."""
    files: list[Path] = []
    left_out: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders.sort()
        left_out += [Path(parent, name) for name in folders if name in OF_TESTS]
        left_out += [Path(parent, name) for name in names if name.endswith(TEST_ENDING)]
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        files += [Path(parent, name) for name in sorted(names) if is_likely(name)]
        if len(files) > MOST_FILES:
            raise BadInput(f"{folder} has more than {MOST_FILES:,} files that may have pools: name a folder in it")
    return files, left_out


def _is_package(folder: Path) -> bool:
    """Return whether a folder is a package of Java in another, such as com/shop/test, by a source in it."""
    source = next((path for path in folder.rglob("*") if path.suffix in (".java", ".kt") and path.is_file()), None)
    match = PACKAGE.search(content(source, MOST_BYTES)) if source else None
    if not (source and match):
        return False
    parts, inside = match[1].decode().split("."), source.relative_to(folder).parts
    return len(parts) > len(inside) and parts == [*source.resolve().parent.parts[-len(parts) :]]


def _without_replaced(files: Sequence[PoolFile], real_paths: Iterable[Path]) -> list[PoolFile]:
    """Return the files without pools that another file of their program has.

    A URL in the environment is that of a pool in Python source below its folder, if there is any; a schema of Prisma
    is that of a client in its project with an adapter or a URL, if all clients have one; and a configuration in
    JavaScript is that of the source that imports it and makes the pool.
    real_paths: of all files, also of those without pools.
    """
    sources = [file.path.resolve() for file in files if file.path.suffix == ".py" and file.pools]

    def has_source(file: PoolFile) -> bool:
        folder = file.path.resolve().parent
        return file.path.suffix != ".py" and any(path.is_relative_to(folder) for path in sources)

    files = [_without(file, is_of_url) if has_source(file) else file for file in files]
    files = _without_imported(files)
    return [
        replace(file, pools=())
        if file.path.suffix == ".prisma" and _is_replaced(file.path, files, real_paths)
        else file
        for file in files
    ]


def _without_imported(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files without the pools of configurations that another file reads for its pool.

    They are those of the same library in JavaScript that it imports, and those of the same size in properties that
    its XML names.
    """
    titles, sizes = dict[Path, set[str]](), dict[Path, set[Value]]()
    for file in files:
        sized = [(pool.library.title, size) for pool in file.pools if any(size := _sizes(pool))]
        for path in file.modules if sized else ():
            titles.setdefault(path.resolve(), {OWN_SIZE.title}).update(title for title, _ in sized)
            sizes.setdefault(path.resolve(), set()).update(value for _, each in sized for value in each)

    def is_imported(pool: FilePool, path: Path) -> bool:
        if path.suffix == ".properties":
            return not sizes.get(path, set()).isdisjoint(filter(None, _sizes(pool)))
        return pool.library.title in titles.get(path, set()) and not MAKES_POOL.match(pool.place)

    return [_without(file, partial(is_imported, path=file.path.resolve())) for file in files]


def _sizes(pool: FilePool) -> list[Value]:
    return [pool.value(name) for name in pool.library.sizes]


def _without(file: PoolFile, is_left_out: Callable[[FilePool], bool]) -> PoolFile:
    return replace(file, pools=tuple(pool for pool in file.pools if not is_left_out(pool)))


def _is_replaced(schema: Path, files: Sequence[PoolFile], real_paths: Iterable[Path]) -> bool:
    """Return whether its project has a client with an adapter or a URL, and no client with the schema's URL.

    Usually the schema is in a folder `prisma` of its project.
    """
    folder = schema.resolve().parent
    project = folder.parent if folder.name == "prisma" else folder
    inside = {path: file for file in files if (path := file.path.resolve()).is_relative_to(project)}
    clients = {path for path, file in inside.items() if any(map(replaces_schema, file.pools))}
    if not clients or any(is_beside_schema(pool) for file in inside.values() for pool in file.pools):
        return False
    others = {path for path in real_paths if path.is_relative_to(project)} - clients
    return not any(map(_has_client_of_schema, others))


def _has_client_of_schema(path: Path) -> bool:
    with suppress(BadInput):
        return path.suffix in JAVASCRIPT + TYPESCRIPT and CLIENT_OF_SCHEMA.search(content(path, MOST_BYTES)) is not None
    return False


def in_environment(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files with pools or counts: the pools as the variables of all files make them. Raises BadInput."""
    sources = [file for file in files if file.path.suffix == ".py" and file.variables]
    known = {file.path: file for file in _in_environment_of(files, sources)}
    files = [known.get(file.path, file) for file in files]
    return [file for file in _without_followed(_in_environment_of(files, files)) if file.pools or file.counts]


def _in_environment_of(files: Sequence[PoolFile], asking_files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return some of the files as the variables of all files make them."""
    asking: dict[str, dict[Path, Path]] = {}
    """Name of a variable -> the files whose pools depend on it, each with its real path."""
    environments: dict[Path, dict[str, list[SetVariable]]] = {file.path: {} for file in asking_files}
    for file in asking_files:
        for name in (*map(relaxed_key, file.asks_for), *_fields(file)):
            asking.setdefault(name, {})[file.path] = file.path.resolve()
    every = [
        (SetVariable(file.path, each), relaxed_key(each.setting.name)) for file in files for each in file.variables
    ]
    every += [(SetVariable(path, Variable(each)), normalized(each.name)) for path, each in _numbers(files)]
    spellings: dict[tuple[Path, str], str] = {}
    """Path of a file that asks for a key, and the key -> how the place with the largest value spells it."""
    for each, asked in sorted(every, key=lambda pair: -pair[0].number):
        for path in _programs(each, asking.get(asked, {})):
            name = each.variable.setting.name
            spelling = spellings.setdefault((path, relaxed_key(name)), name)
            environments[path].setdefault(spelling, []).append(each)
    return [_with_variables(file, environments[file.path]) for file in asking_files]


def _fields(file: PoolFile) -> set[str]:
    """Return the normalized names of fields in Go that give limits a value which their file does not contain."""
    unknown = (each for pool in file.pools if pool.library.stack == GO.stack for each in pool.not_followed)
    return {normalized(name) for each in unknown for name in FIELD.findall(each.text)}


def _numbers(files: Sequence[PoolFile]) -> list[tuple[Path, FileSetting]]:
    """Return the numbers from which fields in Go may be set: of files with a single pool of own code each.

    The defaults of fields in Go give way to a configuration; here they are without those that variables replace.
    """
    of_go, sizes = (_single(files, library) for library in (OWN_GO, OWN_SIZE))
    configured = [(path, pools) for path, pools in of_go if path.suffix != ".go"]
    return [
        (path, replace(each, text=f"{each.value}") if path.suffix == ".go" and isinstance(each.value, int) else each)
        for path, pools in (*(configured or of_go), *((path, of) for path, of in sizes if path.suffix in OF_DATA))
        for pool in pools
        for each in (*pool.settings.values(), *pool.beside)
        if isinstance(each.value, int | float) and (path.suffix != ".go" or not each.variables)
    ]


def _single(files: Sequence[PoolFile], library: Library) -> list[tuple[Path, list[FilePool]]]:
    """Return the files with pools of a library that are all of the same place, each with these pools."""
    pools_of = ((file.path, [pool for pool in file.pools if pool.library is library]) for file in files)
    return [(path, pools) for path, pools in pools_of if len({pool.place for pool in pools}) == 1]


def _without_followed(files: Sequence[PoolFile]) -> list[PoolFile]:
    """Return the files without the pools whose settings are those of a pool in source, which reads their keys.

    Such pools are of own code, of a library's own file without a prefix, as druid.maxActive, or Spring's by default
    for a URL that a bean reads; the bean then has the URL's database. Settings of Spring Boot 1 beside such a bean have
    no effect.
    """
    readings = [
        (pool, name, key, each)
        for file in files
        for pool in file.pools
        for name, setting in pool.settings.items()
        for key in setting.variables
        if not NAME.fullmatch(key)
        for each in file.environment.get(key, ())
    ]
    read_lines = {(pool.library.title, each.path, each.variable.setting.line) for pool, _, _, each in readings}
    sizes = {(each.path, each.variable.setting.line) for pool, name, _, each in readings if name in pool.library.sizes}
    keys_of_go: dict[Path, set[str]] = {}
    for pool, name, key, each in readings:
        if pool.library.stack == GO.stack and name in GO.sizes and pool.settings[name].value:
            keys_of_go.setdefault(each.path, set()).add(normalized(key))
    with_beans = _with_beans(files)
    fields_of_limits = {
        normalized(name)
        for file in files
        for pool in file.pools
        if pool.library.stack == GO.stack and pool.library is not OWN_GO
        for setting in pool.settings.values()
        for name in FIELD.findall(setting.text)
    }

    def is_followed(path: Path, pool: FilePool) -> bool:
        if pool.library is OWN_GO and path.suffix == ".go" and _passes_on(pool, fields_of_limits):
            return True
        if pool.library is OWN_GO:
            names = (normalized(each.name) for each in pool.settings.values())
            keys = keys_of_go.get(path, set())
            return any({name, f"{normalized(pool.place)}.{name}"} & keys for name in names)
        if pool.library in (OWN_CODE, OWN_SIZE):
            return any((path, each.line) in sizes for each in pool.settings.values())
        lines = {(pool.library.title, path, each.line) for each in (*pool.settings.values(), *pool.unread)}
        is_read = not pool.place and bool(lines & read_lines)
        return is_read or (_is_default(pool) and any(pool is each for each, _ in with_beans))

    def known(pool: FilePool) -> FilePool:
        if any(pool is each for each, _ in with_beans):
            return beside_bean(pool)
        return replace(pool, database_known=True) if any(pool is bean for _, bean in with_beans) else pool

    kept = [_without(file, partial(is_followed, file.path)) for file in files]
    return [replace(file, pools=tuple(map(known, file.pools))) for file in kept]


def _passes_on(pool: FilePool, fields_of_limits: Collection[str]) -> bool:
    """Return whether a source in Go only passes fields of a configuration on, from which another sets its limits."""
    names = (normalized(each.name) for each in pool.settings.values())
    return len(pool.not_followed) == len(pool.settings) and any(name in fields_of_limits for name in names)


def _is_default(pool: FilePool) -> bool:
    return not (pool.settings.keys() - {"openInView"} or pool.unread)


def _with_beans(files: Sequence[PoolFile]) -> list[tuple[FilePool, FilePool]]:
    """Return the pools that are Spring's by default, each with one of the nearest project's beans that read its URL.

    Those of Spring Boot 1, too, if the bean reads none of their settings.
    """
    pools = [(file.path.parent.resolve(), pool) for file in files for pool in file.pools]
    beans = [(folder, relaxed_key(key), bean) for folder, bean in pools for url in bean.beside for key in url.variables]
    folders = {file.path.parent.resolve() for file in files if SPRING_FILE.fullmatch(copied_name(file.path.name))}
    return [
        (pool, bean)
        for folder, pool in pools
        if _is_default(pool) or _is_direct(pool)
        for of_bean, key, bean in beans
        if key.replace(".jdbcurl", ".url")
        == relaxed_key(f"{pool.place if _is_direct(pool) else pool.place.rpartition('.')[0]}.url")
        and folder in _nearest(folders, of_bean)
        and not _reads(bean, pool)
    ]


def _is_direct(pool: FilePool) -> bool:
    """Return whether settings stand directly below spring.datasource in a file of Spring."""
    return pool.place == "spring.datasource" and not pool.within


def _reads(bean: FilePool, pool: FilePool) -> bool:
    """Return whether a setting of a bean names the key of a pool's setting."""
    texts = normalized(" ".join(text for each in bean.settings.values() for text in (each.text, *each.variables)))
    return any(normalized(f"{pool.place}.{each.name}") in texts for each in pool.settings.values())


def _programs(each: SetVariable, asking: Mapping[Path, Path]) -> list[Path]:
    """Return the files, of those that ask for a variable, of whose program it may be.

    Compose says from which folder it builds a service. Otherwise, the nearest files are of the variable's program.
    """
    folder = each.path.parent.resolve()
    if each.variable.folder:
        built = (folder / each.variable.folder).resolve()
        return [path for path, real in asking.items() if real.is_relative_to(built)]
    nearest = _nearest(asking.values(), folder)
    return [path for path, real in asking.items() if real in nearest]


def _nearest(paths: Iterable[Path], folder: Path) -> set[Path]:
    """Return the paths that have the most in common with a folder."""
    common = {path: len(os.path.commonpath([folder, path])) for path in paths}
    longest = max(common.values(), default=0)
    return {path for path, length in common.items() if length == longest}


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
