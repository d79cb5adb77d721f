"""The kinds of files that may have pools: their names, the words that they contain, and their readers."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from poolsize.pool_config.files.connection_strings import appsettings_pools, csharp_pools
from poolsize.pool_config.files.containers import yaml_contents
from poolsize.pool_config.files.documents import json_pools, properties_pools
from poolsize.pool_config.files.environment import env_file_pools
from poolsize.pool_config.files.go_source import go_pools
from poolsize.pool_config.files.java_source import java_pools
from poolsize.pool_config.files.javascript_source import javascript_pools, typescript_pools
from poolsize.pool_config.files.launch import (
    dockerfile_counts,
    gunicorn_counts,
    pm2_counts,
    procfile_counts,
    puma_counts,
)
from poolsize.pool_config.files.option_file import fpm_pools, is_maxscale, maxscale_pools, server_pools, status_pools
from poolsize.pool_config.files.php_source import php_pools
from poolsize.pool_config.files.proxysql import is_proxysql, proxysql_pools, proxysql_sql_pools
from poolsize.pool_config.files.python_source import python_pools
from poolsize.pool_config.files.rails import is_rails, rails_pools
from poolsize.pool_config.files.rust_source import rocket_pools, rust_pools
from poolsize.pool_config.files.urls import prisma_pools
from poolsize.pool_config.files.xml_file import xml_pools
from poolsize.pool_config.pool import PoolOrCount

Reader = Callable[[str], Sequence[PoolOrCount]]
"""A text -> its pools, and the numbers of instances and processes in it. Raises BadInput for one of another kind."""

GENERATED = (".min.js", "-lock.yaml")
"""How the names of generated files end."""
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
WORDS_OF = {".java": (b"datasource", b"hikari", b"poolproperties")}
"""Ending -> fewer words than WORDS, for many files of this kind name MySQL in a comment."""
NAMES: Sequence[tuple[str, Reader]] = (
    (r"appsettings.*\.json", appsettings_pools),
    (r"proxysql.*\.sql", proxysql_sql_pools),
    (r"\.env.*", env_file_pools),
    (r"procfile", procfile_counts),
    (r"gunicorn.*\.py", gunicorn_counts),
    (r"(?:.*\.)?dockerfile(?:\..*)?", dockerfile_counts),
    (r"puma.*\.rb", puma_counts),
    (r"ecosystem\.config\.[cm]?js", pm2_counts),
)
"""Names of files, in small letters -> their readers, whatever the ending."""
YAML = (".yml", ".yaml")
ENDINGS: dict[str, Reader] = {
    ".py": python_pools,
    ".java": java_pools,
    ".xml": xml_pools,
    ".go": go_pools,
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".tsx"), javascript_pools),
    **dict.fromkeys((".ts", ".mts", ".cts"), typescript_pools),
    ".json": json_pools,
    **dict.fromkeys((".cnf", ".ini"), server_pools),
    ".conf": fpm_pools,
    ".php": php_pools,
    ".prisma": prisma_pools,
    ".env": env_file_pools,
    **dict.fromkeys((".txt", ".out", ".log"), status_pools),
    ".rs": rust_pools,
    ".cs": csharp_pools,
    ".toml": rocket_pools,
    ".cfg": proxysql_pools,
}
"""Ending of a file's name -> its reader; YAML and .properties need more."""
BY_TEXT: dict[str, Sequence[tuple[Callable[[str, str], bool], Reader]]] = {
    **dict.fromkeys(YAML, ((is_rails, rails_pools),)),
    **dict.fromkeys((".cnf", ".ini"), ((is_proxysql, proxysql_pools), (is_maxscale, maxscale_pools))),
}
"""Ending -> the kinds of files that have it besides: what tells a kind by text and name, and its reader."""
BY_NAME_ONLY = {".txt", ".out", ".log"}
"""Endings of too many other files: of a folder, they are left out."""
JSON_NAME = re.compile("config|settings|database|datasource|knex|sequelize|^db", re.IGNORECASE)
"""In the names of JSON files of a folder that may have pools: others are data."""
KINDS = (
    "YAML of Spring Boot, Rails, Kubernetes, Compose and Helm, .properties, XML, .env, Java, Python, Go, JavaScript, "
    "TypeScript, JSON, PHP, Rust, C#, schema.prisma, www.conf, Rocket.toml, proxysql.cnf, maxscale.cnf, my.cnf, or "
    "what SHOW GLOBAL STATUS prints"
)


def reader(file_name: str, text: str = "") -> Reader | None:
    """Return the reader of a file by its name and its text; None for an unknown kind."""
    name = file_name.lower()
    ending = Path(name).suffix
    own = [pools for is_kind, pools in BY_TEXT.get(ending, ()) if is_kind(text, file_name)]
    own += [pools for pattern, pools in NAMES if re.fullmatch(pattern, name)]
    if own:
        return own[0]
    if ending == ".properties":
        return partial(properties_pools, file_name=file_name)
    return partial(yaml_contents, read=pools_and_counts) if ending in YAML else ENDINGS.get(ending)


def pools_and_counts(text: str, file_name: str) -> Sequence[PoolOrCount]:
    """Return what a file, or a file embedded in another, has; nothing for an unknown kind. Raises BadInput."""
    read = reader(file_name, text)
    return read(text) if read else []


def is_likely(file_name: str) -> bool:
    """Return whether a file of a folder may have pools, by its name."""
    ending = Path(file_name).suffix.lower()
    is_data = ending in BY_NAME_ONLY or (ending == ".json" and not JSON_NAME.search(file_name))
    return reader(file_name) is not None and not is_data and not file_name.endswith(GENERATED)


def may_have_pools(raw: bytes, file_name: str) -> bool:
    """Return whether a file contains a word of WORDS. This takes microseconds; a parser takes milliseconds."""
    plain = (raw + file_name.encode(errors="replace")).lower().translate(None, b"-_")
    return any(word in plain for word in WORDS_OF.get(Path(file_name).suffix.lower(), WORDS))
