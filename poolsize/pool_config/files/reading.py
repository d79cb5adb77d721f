"""A file -> the pools that it configures; the kinds of files, their names and their readers."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from poolsize.bounds import shortened
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.parser_process import parsed
from poolsize.pool_config.files import (
    braces,
    connection_strings,
    containers,
    documents,
    environment,
    go_source,
    java_source,
    javascript_source,
    javascript_tree,
    launch,
    option_file,
    php_source,
    python_source,
    rails,
    rust_source,
    toml_file,
    urls,
    xml_file,
)
from poolsize.pool_config.files.javascript_tree import IMPORT
from poolsize.pool_config.files.values import ENVIRONMENT, NAME
from poolsize.pool_config.libraries.java_frameworks import (
    QUARKUS,
    QUARKUS_REACTIVE,
    quarkus_of,
    quarkus_reactive_of,
)
from poolsize.pool_config.libraries.other_languages import PRISMA, prisma_of
from poolsize.pool_config.libraries.table import LIBRARIES
from poolsize.pool_config.pool import Count, FilePool, FileSetting, Library, PoolOrCount, Variable

Reader = Callable[[str], Sequence[PoolOrCount]]
"""A text -> its pools, and the numbers of instances and processes in it. Raises BadInput for one of another kind."""

TEST_ENDING = "_test.go"
LEFT_OUT_ENDINGS = (".min.js", "-lock.yaml", TEST_ENDING)
"""How the names of generated files and of tests in Go end."""
WORDS = (
    b"mysql", b"maria", b"pool", b"sql.open", b"sqlalchemy", b"createengine", b"jdbc", b"hikari", b"druid", b"dbcp",
    b"c3p0", b"datasource", b"databases", b"databaseurl", b"connectionstring", b"connectionlimit", b"connmaxage",
    b"connhealth", b"setconnmax", b"maxconn", b"maxopen", b"maxidle", b"maxactive", b"maxtotal", b"maxwait",
    b"tomcat", b"evict", b"removeabandoned", b"maxchildren", b"replicas", b"replicacount", b"workers", b"concurrency",
    b"unicorn", b"tortoise", b"persistentdb", b"trilogy", b"maxscale", b"appsettings",
    b"puma", b"uwsgi", b"scale:", b"ecosystem.config", b"!include", b"hibernate", b"knex", b"sequelize",
)  # fmt: skip
"""A file with a pool, or with a number of instances, contains a word of these.

Hyphens, underscores and capitals make no difference.
"""
OF_JAVA = (b"datasource", b"hikari", b"r2dbc")
"""Words in the options of Java."""
WORDS_OF = {
    **dict.fromkeys(
        (".java", ".kt"),
        (b"datasource", b"hikari", b"poolproperties", b"pooloptions", b"connectionpool", b"connectionfactor"),
    ),
    **dict.fromkeys((".yml", ".yaml"), (*WORDS, b"env:", b"environment:", b"kind: configmap")),
    ".sh": OF_JAVA,
    ".service": (*OF_JAVA, *map(str.encode, launch.PROGRAMS)),
    ".env": (b"=",),
}
"""Ending -> other words than WORDS: many Java files name MySQL in a comment, and others set variables."""
NAMES: Sequence[tuple[str, Reader]] = (
    (r"appsettings.*\.json", connection_strings.appsettings_pools),
    (r"proxysql.*\.sql", braces.proxysql_sql_pools),
    (r"\.env.*", environment.env_file_pools),
    (r"procfile", launch.procfile_counts),
    (r"gunicorn.*\.py", launch.gunicorn_counts),
    (r"(?:.*\.)?dockerfile(?:\..*)?", environment.dockerfile_contents),
    (r"puma.*\.rb", launch.puma_counts),
    (r"ecosystem\.config\.[cm]?js", launch.pm2_counts),
    (r"(?:web|app)(?:\..{1,30})?\.config", xml_file.xml_pools),
)
"""Names of files, in small letters -> their readers, whatever the ending."""
YAML = (".yml", ".yaml")
JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".tsx")
TYPESCRIPT = (".ts", ".mts", ".cts")
ENDINGS: dict[str, Reader] = {
    ".java": java_source.java_pools,
    ".kt": java_source.kotlin_pools,
    ".xml": xml_file.xml_pools,
    ".go": go_source.go_pools,
    **dict.fromkeys(JAVASCRIPT, javascript_source.javascript_pools),
    **dict.fromkeys(TYPESCRIPT, partial(javascript_source.javascript_pools, grammar=javascript_tree.TYPESCRIPT)),
    ".json": documents.json_pools,
    ".cnf": option_file.server_pools,
    ".ini": option_file.ini_pools,
    ".conf": option_file.fpm_pools,
    ".php": php_source.php_pools,
    ".prisma": urls.prisma_pools,
    ".env": environment.env_file_pools,
    ".sh": environment.command_pools,
    ".service": partial(environment.command_pools, is_unit=True),
    **dict.fromkeys((".txt", ".out", ".log"), option_file.status_pools),
    ".rs": rust_source.rust_pools,
    ".cs": connection_strings.csharp_pools,
    ".toml": toml_file.toml_pools,
    ".cfg": option_file.section_pools,
}
"""Ending of a file's name -> its reader; YAML needs more."""
BY_NAME: dict[str, Callable[..., Sequence[PoolOrCount]]] = {
    ".properties": documents.properties_pools, ".py": python_source.python_pools,
}  # fmt: skip
"""Ending -> a reader that needs the file's name, too."""
PROXYSQL = (braces.is_proxysql, braces.proxysql_pools)
BY_TEXT: dict[str, Sequence[tuple[Callable[[str, str], bool], Reader]]] = {
    **dict.fromkeys(YAML, ((rails.is_rails, rails.rails_pools),)),
    **dict.fromkeys((".cnf", ".ini", ".cfg"), (PROXYSQL, (option_file.is_maxscale, option_file.maxscale_pools))),
    ".conf": (PROXYSQL, (option_file.is_beego, option_file.beego_variables), (braces.is_hocon, braces.hocon_pools)),
}
"""Ending -> the kinds of files that have it besides: what tells a kind by text and name, and its reader."""
BY_NAME_ONLY = {".txt", ".out", ".log"}
"""Endings of too many other files: of a folder, they are left out."""
JSON_NAME = re.compile("config|settings|database|datasource|knex|sequelize|^db", re.IGNORECASE)
"""In the names of JSON files of a folder that may have pools: others are data."""
KINDS = (
    "YAML of Spring Boot, Rails, Kubernetes, Compose and Helm, .properties, HOCON, XML, .env, Java, Kotlin, Python, "
    "Go, JavaScript, TypeScript, JSON, PHP, Rust, C#, schema.prisma, www.conf, TOML, proxysql.cnf, "
    "maxscale.cnf, my.cnf, Java's options in .sh and .service, or what SHOW GLOBAL STATUS prints"
)


def reader(file_name: str, text: str = "") -> Reader | None:
    """Return the reader of a file by its name and its text; None for an unknown kind."""
    name = file_name.lower()
    ending = Path(name).suffix
    own = [pools for is_kind, pools in BY_TEXT.get(ending, ()) if is_kind(text, file_name)]
    own += [pools for pattern, pools in NAMES if re.fullmatch(pattern, name)]
    if own:
        return own[0]
    if ending in BY_NAME:
        return partial(BY_NAME[ending], file_name=file_name)
    return partial(containers.yaml_contents, read=pools_and_counts) if ending in YAML else ENDINGS.get(ending)


def pools_and_counts(text: str, file_name: str) -> Sequence[PoolOrCount]:
    """Return what a file, or a file embedded in another, has; nothing for an unknown kind. Raises BadInput."""
    read = reader(file_name, text)
    return read(text) if read else []


def copied_name(file_name: str) -> str:
    """Return the name of the file to which people copy the template of a configuration; else the file's own name."""
    name = without_template(file_name)
    return name if CONFIGURATION.fullmatch(name) else file_name


def without_template(file_name: str) -> str:
    """Return the name of a file without the part that shows a template; the name itself without such a part."""
    return ".env" if ENV_TEMPLATE.fullmatch(file_name) else OF_TEMPLATE.sub("", file_name, count=1)


def is_likely(file_name: str) -> bool:
    """Return whether a file of a folder may have pools, by its name."""
    name = copied_name(file_name)
    ending = Path(name).suffix.lower()
    is_data = ending in BY_NAME_ONLY or (ending == ".json" and not JSON_NAME.search(name))
    return reader(name) is not None and not is_data and not name.endswith(LEFT_OUT_ENDINGS)


def may_have_pools(raw: bytes, file_name: str) -> bool:
    """Return whether a file contains a word of WORDS. This takes microseconds; a parser takes milliseconds."""
    plain = (raw + file_name.encode(errors="replace")).lower().translate(None, b"-_")
    ending = ".env" if file_name.startswith(".env") else Path(file_name).suffix.lower()
    return any(word in plain for word in WORDS_OF.get(ending, WORDS))


OF_TEMPLATE = re.compile(r"\.(?:sample|example|dist|template)(?=$|\.[a-z]{2,10}$)", re.IGNORECASE)
"""In the name of a template, as database.yml.sample and application.example.yml. Those of template engines are none."""
ENV_TEMPLATE = re.compile(r"(?:sample|example|dist|template)\.env|env\.(?:sample|example|dist|template)", re.IGNORECASE)
"""Further names of the templates of .env."""
CONFIGURATION = re.compile(r"\.env.*|.+\.(?:ya?ml|properties|json|xml|toml|ini|cnf|conf|cfg)", re.IGNORECASE)
"""Names of files that are read from a template with a further ending; source is read by its own ending only."""
MOST_BYTES = 2**21
MOST_POOLS, MOST_UNREAD, MOST_VARIABLES = 100, 20, 1_000
"""Pools of a file, settings of a pool that its library does not read, and variables that a file sets."""
PROPERTIES_FILE = re.compile(rb"[\"'/:>,\s]([\w-][\w.-]{0,80}\.properties)[\"'<,\s]")
"""The name of a file in XML, as in classpath:jdbc.properties."""
READS_CONFIGURATION = r"(?:\.\.\.\s?{0}\b|\b{0}\.(?:\w{{1,60}}\.){{0,3}}(?i:pool|max|min|dialect|connection_?limit))"
"""In a source of JavaScript: an object contains what the name stands for, or has a setting of it."""
MOST_FOLDERS = 5
"""Folders above a file: from src/main/resources/config to that of the build file."""
BUILD_FILES = ("pom.xml", "gradle.properties", "build.gradle", "build.gradle.kts")
VERSION_OF_QUARKUS = re.compile(
    r"(?:quarkus(?:[._-]?(?:platform|plugin))?[._-]?version(?:>|\s?=)|quarkus-bom(?::|</artifactId>\s{0,99}<version>)"
    r"|io\.quarkus[\"')]{1,2}\s{1,9}version)\s{0,9}[\"']?(\d{1,4})\.(\d{1,4})",
    re.IGNORECASE,
)
"""In a build file of Maven or Gradle: its property, its platform, or its plugin."""
VERSION_OF_PRISMA = re.compile(
    r"\"(?:@prisma/client|prisma)\"\s{0,9}:\s{0,9}\"[~^=v]{0,2}(\d{1,4})(?:\.(\d{1,4})|\.[x*]|(?=\"))"
)
"""In package.json. A range such as >=6 does not tell the version."""
VERSIONED: Sequence[tuple[Library, Callable[[tuple[int, int] | None], Library], Sequence[str], re.Pattern[str]]] = (
    (QUARKUS, quarkus_of, BUILD_FILES, VERSION_OF_QUARKUS),
    (QUARKUS_REACTIVE, quarkus_reactive_of, BUILD_FILES, VERSION_OF_QUARKUS),
    (PRISMA, prisma_of, ("package.json",), VERSION_OF_PRISMA),
)
"""Library whose defaults depend on its version -> it with those of a version, and the files that name the version."""
LONGEST_TEXT = 200


@dataclass(frozen=True)
class SetVariable:
    """An environment variable that a file sets. path: of the file."""

    path: Path
    variable: Variable

    @property
    def text(self) -> str:
        """What the file sets it to."""
        return self.variable.setting.text

    @property
    def given(self) -> str:
        """What a program reads: the text, or its number where the text has a reference or a template."""
        return f"{self.number:.10g}" if {"$", "{"} & {*self.text} else self.text

    @property
    def number(self) -> float:
        """The number in it; a duration in milliseconds."""
        return float(self.variable.setting.value or 0)

    @property
    def place(self) -> str:
        """The file, the line and the workload, for people."""
        workload = f" ({self.variable.workload})" if self.variable.workload else ""
        return f"{self.path}, line {self.variable.setting.line}{workload}"


_Pool = tuple[
    str, str, dict[str, FileSetting], tuple[FileSetting, ...], bool, str, tuple[FileSetting, ...], bool, str, str,
    tuple[FileSetting, ...], tuple[str, ...],
]  # fmt: skip
"""The fields of a FilePool, its library by its title."""


@dataclass(frozen=True)
class PoolFile:
    """What a file configures.

    pools: the first pools; none for a file that has counts or variables only. more: the number of further pools.
    counts: the numbers of instances and processes that it states. variables: that it sets. environment: name of a
    variable that the pools depend on -> where files set it, the largest value first (files/programs.py). modules: the
    files whose configurations a source imports, and the properties files that an XML file names.
    """

    path: Path
    pools: tuple[FilePool, ...]
    more: int
    counts: tuple[Count, ...] = ()
    variables: tuple[Variable, ...] = ()
    environment: Mapping[str, tuple[SetVariable, ...]] = field(default_factory=dict)
    modules: tuple[Path, ...] = ()

    @property
    def asks_for(self) -> set[str]:
        """The variables that the pools depend on, and the numbers of a Python source."""
        settings = [each for pool in self.pools for each in pool.settings.values()]
        settings += [each.setting for each in self.variables if self.path.suffix == ".py"]
        return {name for each in settings for name in each.variables}


class NoPools(BadInput):
    """A file without settings of a pool that poolsize knows."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} has no settings of a pool that poolsize knows: name the file that has them")


def read_pools(path: Path, *, is_named: bool = True, texts: Mapping[str, str] | None = None) -> PoolFile:
    """Return what a file configures. Raises NoPools for a file without anything; BadInput for an unknown kind.

    is_named: whether somebody named the file, which is then parsed in any case. texts: of the variables of its program.
    """
    raw, name = content(path, MOST_BYTES), copied_name(path.name)
    if reader(name) is None:
        raise BadInput(f"{path}: poolsize reads {KINDS}; this file is none of them")
    if not (is_named or may_have_pools(raw, name)):
        raise NoPools(path)

    beside = dict(_properties_named(raw, path)) if Path(name).suffix.lower() == ".xml" else {}
    modules = dict(_modules_named(_text(raw), path)) if path.suffix in JAVASCRIPT + TYPESCRIPT else {}

    def parse() -> tuple[int, list[Any], list[Any], list[Any]]:
        ENVIRONMENT.texts |= texts or {}
        ENVIRONMENT.modules |= {module: text for module, (_, text) in modules.items()}
        for each in beside.values():
            with suppress(BadInput):
                ENVIRONMENT.keys |= documents.keys_of(_text(each))
        return _first(pools_and_counts(_text(raw), name))

    number, pools, counts, variables = parsed(
        parse, tuple[int, tuple[_Pool, ...], tuple[Count, ...], tuple[Variable, ...]], str(path)
    )
    is_source = path.suffix == ".py"
    if not (
        pools or counts or any(not is_named or is_source or NAME.fullmatch(each.setting.name) for each in variables)
    ):
        raise NoPools(path)
    known = tuple(FilePool(LIBRARIES[pool[0]], *pool[1:]) for pool in pools)
    for library, of_version, files, pattern in VERSIONED:
        if any(pool.library is library for pool in known):
            of_project = of_version(_version(path, files, pattern))
            known = tuple(replace(pool, library=of_project) if pool.library is library else pool for pool in known)
    read = (*(file for file, _ in modules.values()), *beside)
    return PoolFile(path, known, number - len(pools), counts, variables, modules=read)


def _modules_named(text: str, path: Path) -> Iterator[tuple[str, tuple[Path, str]]]:
    """Yield the configurations that a source of JavaScript imports and reads: each module with its file and text."""
    imports = [(match["name"] or match["required"], match["module"]) for match in IMPORT.finditer(text)]
    for name, module in imports[:MOST_UNREAD]:
        if not re.search(READS_CONFIGURATION.format(re.escape(name)), text):
            continue
        for ending in ("", *JAVASCRIPT, *TYPESCRIPT, ".json"):
            file = path.parent / f"{module}{ending}"
            if file.suffix in (*JAVASCRIPT, *TYPESCRIPT, ".json") and file.is_file():
                with suppress(BadInput):
                    yield module, (file, "return " * (file.suffix == ".json") + _text(content(file, MOST_BYTES)))
                break


def _properties_named(raw: bytes, path: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the .properties files that an XML file names, in its folder or in its resources, with their contents."""
    names = dict.fromkeys(match[1].decode() for match in PROPERTIES_FILE.finditer(raw))
    places = [folder for parent in folders_above(path) for folder in (parent, parent / "resources")]
    for name in list(names)[:MOST_UNREAD]:
        for place in places:
            with suppress(BadInput):
                yield place / name, content(place / name, MOST_BYTES)
                break


def folders_above(path: Path) -> Iterator[Path]:
    """Yield the nearest folders above a file, not beyond that of its repository."""
    for folder in path.resolve().parents[:MOST_FOLDERS]:
        yield folder
        if (folder / ".git").exists():
            return


def _version(path: Path, files: Sequence[str], pattern: re.Pattern[str]) -> tuple[int, int] | None:
    """Return the version that the nearest build file above a file names; None without any."""
    for build_file in (parent / name for parent in folders_above(path) for name in files):
        with suppress(BadInput):
            if match := pattern.search(_text(content(build_file, MOST_BYTES))):
                return int(match[1]), int(match[2] or 0)
    return None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _first(contents: Sequence[PoolOrCount]) -> tuple[int, list[Any], list[Any], list[Any]]:
    """Return the number of pools, and the first pools, counts and variables as values of JSON, with short texts."""
    pools = [each for each in contents if isinstance(each, FilePool)]
    counts = [each for each in contents if isinstance(each, Count)]
    variables = [each for each in contents if isinstance(each, Variable)]
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
    return len(pools), first, list(map(_shown, counts[:MOST_POOLS])), list(map(_shown, variables[:MOST_VARIABLES]))


def _shown(value: Any) -> Any:
    """Return a part of a pool or a count as a value of JSON, with texts short enough to show and without URLs.

    A URL in a setting may have a password.
    """
    if isinstance(value, str):
        return "an expression with a URL" if "://" in value else shortened(value, LONGEST_TEXT)
    if isinstance(value, FileSetting | Count | Variable):
        return {each.name: _shown(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: _shown(each) for name, each in value.items()}
    return [_shown(each) for each in value[:MOST_UNREAD]] if isinstance(value, tuple) else value
