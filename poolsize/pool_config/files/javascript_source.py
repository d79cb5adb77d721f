"""JavaScript, TypeScript and JSON -> pools of mysql2, mysqljs, the MariaDB connector, Sequelize, Knex and TypeORM."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from tree_sitter import Node

from poolsize.pool_config.files.javascript_tree import NAMES, TSX, JavascriptTree, Pair, modules_of
from poolsize.pool_config.files.source_tree import DEEPEST, WRAPPERS, Grammar, children, line
from poolsize.pool_config.files.urls import url_settings
from poolsize.pool_config.files.values import names_mysql
from poolsize.pool_config.libraries import node as libraries
from poolsize.pool_config.libraries.other_languages import OWN_SIZE, PRISMA
from poolsize.pool_config.pool import FilePool, FileSetting, Library, normalized

DRIVERS = {
    **dict.fromkeys(("mysql2", "mysql2-promise", "drizzle-orm"), libraries.NODE_MYSQL2),
    **dict.fromkeys(("mysql", "promise-mysql"), libraries.NODE_MYSQL),
    "mariadb": libraries.NODE_MARIADB,
}
"""First part of a module's name -> the driver whose pool it makes."""
CREATES = {"createPool", "createPoolPromise"}
CLUSTER = "createPoolCluster"
POOL_TYPES = {"PoolOptions", "PoolConfig"}
OWN_URL = {"adapter", "datasources", "datasourceUrl"}
"""Options of PrismaClient that replace the URL of the schema."""
WORD = re.compile(r"(?<![\w$/-])[\w$]+(?![\w$-])")
"""A name in a source; no part of the name of a module."""
QUERY = re.compile(r"\?[\w=&]{0,200}\bconnection_limit=\d{1,9}[\w=&]{0,200}")
SHOWS_SEQUELIZE = {"pool", "database", "username", "host", "use_env_variable", "replication", "define", "logging"}
SHOWS_TYPEORM = {"entities", "migrations", "synchronize", "subscribers", "autoLoadEntities", "extra", "poolSize"}
"""Keys that show whose options an object with a dialect or a type has."""
OPTIONS_OF_TYPEORM = {"type", "username", "database"}
MYSQL = re.compile("mysql|maria", re.IGNORECASE)
CONNECTION_LIMIT = re.compile("connection_?limit", re.IGNORECASE)
"""Only the drivers of MySQL have this name."""
OTHER_DATABASES = {
    "postgres", "postgresql", "pg", "sqlite", "sqlite3", "better-sqlite3", "mssql", "oracle", "oracledb", "cockroachdb",
    "mongodb", "mongo",
}  # fmt: skip
SHORT_NAMES = {"identifier", "property_identifier", "member_expression", "string"}
"""Kinds of nodes whose text is short enough for a place."""
OWN_OBJECT = {
    libraries.SEQUELIZE.title: {"validate", "afterRelease", "name"},
    libraries.KNEX.title: {
        "afterCreate", "validate", "propagateCreateError", "log", "maxConnectionLifetimeJitterMillis", "Promise",
    },
}  # fmt: skip
"""Library whose pool has an object of its own -> what may be in the object besides the settings."""
OF_ENVIRONMENT = re.compile(r"(?:dev|test|prod|stag|local|ci$|qa$|uat$|preprod|default$)\w{0,20}", re.IGNORECASE)
"""Keys of an object whose values are the same settings for different environments."""
WITHOUT = "without "
"""Before the module that an object replaces where it is not there."""


def javascript_pools(text: str, grammar: Grammar = TSX) -> list[FilePool]:
    """Return the pools of JavaScript, or of TypeScript with JSX. Raises BadInput for damage that may hide one."""
    tree = JavascriptTree(text, grammar)
    names, modules = modules_of(tree)
    pools = [*_driver_pools(tree, names, modules), *_prisma_pools(tree), *_mapper_pools(tree, names, modules)]
    pools = pools or list(_typed_pools(tree, names))
    if CONNECTION_LIMIT.search(text):
        lines = {setting.line for pool in pools for setting in (*pool.settings.values(), *pool.unread)}
        pools += [own for own in _own_pools(tree, names) if own.settings["connectionLimit"].line not in lines]
    if not pools:
        tree.refuse_damage("JavaScript or TypeScript", "createPool|Sequelize|knex|connectionLimit")
    return pools


def _driver_pools(tree: JavascriptTree, names: Mapping[str, str], modules: set[str]) -> Iterator[FilePool]:
    """Yield the pools of createPool, and of each server that is added to a cluster."""
    drivers = [driver for module in sorted(modules) if (driver := _driver(module)) and not module.startswith("drizzle")]
    either = _pools_or_clusters(tree)
    for call in tree.nodes("call_expression"):
        function = call.child_by_field_name("function")
        name, arguments = tree.key(function), tree.arguments(call)
        root = tree.text(function).partition(".")[0].partition("(")[0]
        if name == "add" and function and arguments:
            if (made_by := _cluster(tree, function.child_by_field_name("object"))) is None:
                continue
            root = tree.text(made_by).partition(".")[0]
        elif name == "drizzle" and names.get(name) == "drizzle-orm/mysql2" and arguments:
            options = tree.resolved(arguments[0])
            if options is not None and options.type in {"call_expression", "new_expression"}:
                continue  # a pool that is created elsewhere
            pairs, complete = tree.pairs(arguments[0])
            if complete and "connection" not in pairs:
                continue
            arguments = [pairs["connection"].value] if "connection" in pairs else arguments[:1]
        elif name not in CREATES:
            continue
        module = names.get(root) or names.get(name)
        library = _driver(module) if module else next(iter(drivers), None)
        if library is not None:
            of = f"{CLUSTER}, add" if name == "add" else name
            pool = _driver_pool(tree, library, f"{of}, line {line(call)}", arguments[-1] if arguments else None)
            holder = tree.text_at(function, "object") if function and name == "add" else either.get(call.start_byte)
            if holder and holder in either.values():
                pool = replace(pool, place=holder, alternative=pool.place)
            yield replace(pool, settings={**pool.settings, **tree.constants_of(library, call)})


def _cluster(tree: JavascriptTree, node: Node | None) -> Node | None:
    """Return the function that makes a cluster, if this is one of the values that a node has; None otherwise."""
    values = tree.named(tree.text(node), node) if node else []
    made = [tree.resolved(each) for each in values or [node]]
    functions = [each.child_by_field_name("function") for each in made if each]
    return next((each for each in functions if each and tree.key(each) == CLUSTER), None)


def _pools_or_clusters(tree: JavascriptTree) -> dict[int, str]:
    """Return the first byte of what a name is assigned -> the name, of names that hold either a pool or a cluster."""
    assigned = [(node.child_by_field_name("right"), node) for node in tree.nodes("assignment_expression")]
    held = {right.start_byte: tree.text_at(node, "left") for right, node in assigned if right}
    makers: dict[str, set[str]] = {}
    for call in tree.nodes("call_expression"):
        if call.start_byte in held:
            makers.setdefault(held[call.start_byte], set()).add(tree.key(call.child_by_field_name("function")))
    both = {name for name, made in makers.items() if CLUSTER in made and CREATES & made}
    return {start: name for start, name in held.items() if name in both}


def _typed_pools(tree: JavascriptTree, names: Mapping[str, str]) -> Iterator[FilePool]:
    """Yield the pools of objects with a driver's type for the options of a pool, which another file hands to it."""
    for node in tree.nodes("variable_declarator"):
        written = tree.text_at(node, "type").lstrip(": ")
        library = _driver(names.get(written.partition(".")[0], ""))
        if library and written.rpartition(".")[2] in POOL_TYPES:
            yield _driver_pool(tree, library, f"{written}, line {line(node)}", node.child_by_field_name("value"))


def _prisma_pools(tree: JavascriptTree) -> Iterator[FilePool]:
    """Yield the pools of Prisma: of its adapter, which hands its options to the MariaDB connector, and of URLs.

    The place is that of a further pool where a client of the file has the schema's URL.
    """
    added = {
        setting: tree.setting(setting, arguments[1])
        for call in tree.nodes("call_expression")
        if tree.key(call.child_by_field_name("function")) == "set" and len(arguments := tree.arguments(call)) == 2
        if (setting := PRISMA.setting(tree.key(arguments[0])))
    }  # to the parameters of a URL
    made = [
        (tree.key(node.child_by_field_name("constructor")), node, next(iter(tree.arguments(node)), None))
        for node in tree.nodes("new_expression")
    ]
    clients = [tree.pairs(options)[0].keys() for name, _, options in made if name == "PrismaClient"]
    first = "" if all(OWN_URL & options for options in clients) else "further "
    words = Counter(WORD.findall(tree.source.decode())) if clients else Counter()
    for name, node, options in made:
        place = f"{name}, line {line(node)}"
        if name == "PrismaMariaDb" and _is_unused(tree, node, words):
            yield _driver_pool(tree, libraries.UNUSED_ADAPTER, place, options)
        elif name == "PrismaMariaDb":
            yield _driver_pool(tree, libraries.NODE_MARIADB, first + place, options)
        for url in _prisma_urls(tree, options) if name == "PrismaClient" else ():
            text = tree.text(url)
            query, is_mysql = QUERY.search(text), names_mysql(text)
            settings = url_settings(f"x://{query[0]}", PRISMA, line(url)) if query else added
            if is_mysql or (settings and is_mysql is None):
                is_whole = url.type == "string" or (url.type == "template_string" and "${" not in text)
                complete = is_whole or (url.type == "template_string" and bool(query))
                settings = settings or _of_made_url(tree, url)
                yield FilePool(PRISMA, first + place, settings, complete=complete, database_known=is_mysql is True)


def _is_unused(tree: JavascriptTree, adapter: Node, words: Mapping[str, int]) -> bool:
    """Return whether nothing reads the name that has an adapter. words: of the file, each with its number."""
    declaration = adapter.parent
    if declaration is None or declaration.type != "variable_declarator" or declaration.parent is None:
        return False
    around = declaration.parent.parent
    is_exported = around is not None and around.type == "export_statement"
    return not is_exported and words.get(tree.text_at(declaration, "name")) == 1


def _of_made_url(tree: JavascriptTree, url: Node) -> dict[str, FileSetting]:
    """Return the limit of a URL that a function makes from another URL: not known, as the function may add it."""
    made_from = tree.arguments(url) if url.type == "call_expression" else []
    if all(each.type == "string" for each in made_from):
        return {}
    text = " ".join(tree.text(url).split())
    return {"connection_limit": FileSetting("connection_limit", text, None, line(url))}


def _prisma_urls(tree: JavascriptTree, options: Node | None) -> Iterator[Node]:
    pairs, _ = tree.pairs(options)
    sources = tree.pairs(pairs["datasources"].value)[0].values() if "datasources" in pairs else ()
    for pair in [*(tree.pairs(source.value)[0].get("url") for source in sources), pairs.get("datasourceUrl")]:
        if url := tree.resolved(pair.value) if pair else None:
            yield url


def _driver(module: str) -> Library | None:
    return DRIVERS.get(module.partition("/")[0])


def _driver_pool(tree: JavascriptTree, library: Library, place: str, options: Node | None) -> FilePool:
    """Return the pool of the options of createPool: an object, or a URL with options."""
    target = tree.resolved(options)
    if target is not None and target.type in {"string", "template_string"}:
        return _of_url(tree, library, place, target)
    pairs, complete = tree.pairs(options)
    pool = _pool(tree, library, place, pairs, complete=complete)
    if "uri" in pairs:
        of_url = _of_url(tree, library, place, pairs["uri"].value)
        pool = replace(pool, settings={**of_url.settings, **pool.settings}, complete=complete and of_url.complete)
    return pool


def _of_url(tree: JavascriptTree, library: Library, place: str, node: Node) -> FilePool:
    """Return the pool of a URL. No text of it is kept: it may have a password."""
    target = tree.resolved(node)
    is_text = target is not None and target.type in {"string", "template_string"}
    url = tree.text(target)[1:-1] if is_text else "${"
    settings = url_settings(url, library, line(target)) if target is not None else {}
    return FilePool(library, place, settings, complete="${" not in url)


def _pool(tree: JavascriptTree, library: Library, place: str, pairs: Mapping[str, Pair], *, complete: bool) -> FilePool:
    settings, unread = {}, []
    own = OWN_OBJECT.get(library.title)
    for name, pair in pairs.items():
        setting = tree.setting(name, pair.value, pair.key)
        if known := library.setting(name):
            settings[known] = setting
        elif name in library.ignored or (library.nearest(name) if own is None else name not in own):
            unread.append(setting)
    return FilePool(library, place, settings, tuple(unread), complete)


def _mapper_pools(tree: JavascriptTree, names: Mapping[str, str], modules: set[str]) -> Iterator[FilePool]:
    """Yield the pools of objects with the options of Sequelize, Knex, TypeORM or MikroORM, which hands them to Knex."""
    of_sequelize = {}
    for node in tree.nodes("new_expression"):
        arguments = tree.arguments(node)
        if not arguments or tree.key(node.child_by_field_name("constructor")) != "Sequelize":
            continue
        options = tree.resolved(arguments[-1])
        is_object = options is not None and options.type == "object"
        is_url = len(arguments) == 1 and not is_object and "://" in tree.text(options)
        if is_url and _is_mysql(tree, options):  # a URL has no pool
            yield FilePool(libraries.SEQUELIZE, f"Sequelize, line {line(node)}", {})
        elif options is not None:
            of_sequelize[options.start_byte] = arguments[0]
    others = _names_others(tree)
    if b"typeorm" in tree.source.lower() or "@nestjs/config" in modules:
        modules = {*modules, "typeorm"}
    mikro = {
        is_mysql for name in modules if name.startswith("@mikro-orm/") and (is_mysql := names_mysql(name)) is not None
    }
    of_mapper = partial(_of_mapper, tree, modules, of_sequelize, mikro)
    known = [(node, *pool) for node in tree.nodes("object") for pool in of_mapper(node)]
    named = _environments(tree)
    for node, pool, is_mysql in known:
        has_size = any(pool.has(name) for name in pool.library.sizes)
        is_default = pool.library.title.lower() in modules and pool.complete and not pool.settings
        may_be_mysql = is_mysql is None and not others and (has_size or is_default)
        if is_mysql or may_be_mysql:
            yield from _of_environments(tree, names, node, pool, named.get(node.start_byte, []))


def _of_environments(
    tree: JavascriptTree, names: Mapping[str, str], node: Node, pool: FilePool, named: Sequence[tuple[str, str]]
) -> Iterator[FilePool]:
    """Yield the pool of an object: of each environment whose options it is, and of none if only others contain it.

    named: as _environments returns it. A pool that several objects name is that of the first.
    """
    server = pool.place.removeprefix(_place(tree, node))
    for name, _ in named:
        yield replace(pool, place=named[0][1] + server, alternative=f"profile {name}")
    if not named and node.start_byte not in tree.spread:
        yield replace(pool, alternative=_alternative(tree, names, node))


def _environments(tree: JavascriptTree) -> dict[int, list[tuple[str, str]]]:
    """Return the environments whose options have a name: the first byte of the object -> their keys and places."""
    named: dict[int, list[tuple[str, str]]] = {}
    for around, child in ((node, child) for node in tree.nodes("object") for child in children(node)):
        is_short = child.type == "shorthand_property_identifier"
        key = child if is_short else child.child_by_field_name("key")
        value = child if is_short else child.child_by_field_name("value")
        if value and value.type in NAMES and OF_ENVIRONMENT.fullmatch(tree.key(key)):
            target = tree.resolved(value)
            if target is not None and target.type == "object":
                named.setdefault(target.start_byte, []).append((tree.key(key), _place_of_all(tree, around)))
    return named


def _own_pools(tree: JavascriptTree, names: Mapping[str, str]) -> Iterator[FilePool]:
    """Yield the pools of objects with a server, a user and a connectionLimit, which another file hands to a driver."""
    if _names_others(tree):
        return
    for node in tree.nodes("object"):
        pairs = {normalized(name): pair for name, pair in tree.pairs(node)[0].items()}
        size = pairs.get("connectionlimit")
        if size and "host" in pairs and {"user", "username"} & pairs.keys():
            settings = {"connectionLimit": tree.setting(tree.key(size.key), size.value, size.key)}
            yield FilePool(OWN_SIZE, _place(tree, node), settings, alternative=_alternative(tree, names, node))


def _names_others(tree: JavascriptTree) -> bool:
    return any(tree.key(node).lower() in OTHER_DATABASES for node in tree.nodes("string"))


def _of_mapper(
    tree: JavascriptTree, modules: set[str], of_sequelize: Mapping[int, Node], mikro: Set[bool], node: Node
) -> Iterator[tuple[FilePool, bool | None]]:
    """Yield the pools of an object, each with whether its database is MySQL or MariaDB; None if that is not known."""
    pairs, complete = tree.pairs(node)
    keys = pairs.keys()
    is_sequelize = node.start_byte in of_sequelize
    if is_sequelize or ("dialect" in keys and ("sequelize" in modules or SHOWS_SEQUELIZE & keys)):
        database = pairs["dialect"].value if "dialect" in pairs else of_sequelize.get(node.start_byte)
        own, all_own = tree.pairs(pairs["pool"].value) if "pool" in pairs else ({}, True)
        pool = _pool(tree, libraries.SEQUELIZE, _place(tree, node), own, complete=complete and all_own)
        for server in (", read", ", write") if "replication" in keys else ("",):
            yield replace(pool, place=pool.place + server), _is_mysql(tree, database)
    elif "settings" in keys and "client" in (settings := tree.pairs(pairs["settings"].value)[0]):  # Strapi 3
        options, all_own = tree.pairs(pairs["options"].value) if "options" in pairs else ({}, True)
        own, complete = tree.pairs(options["pool"].value) if "pool" in options else ({}, all_own)
        pool = _pool(tree, libraries.KNEX, _place(tree, node), own, complete=complete)
        yield pool, _is_mysql(tree, settings["client"].value)
    elif (mikro and ("pool" in keys or ("dbName" in keys and {"host", "user"} & keys))) or (
        {"connection", "pool"} & keys and ("client" in keys or (not complete and "knex" in modules))
    ):
        client = next((pairs[name].value for name in ("client", "type", "driver") if name in pairs), None)
        own, all_own = tree.pairs(pairs["pool"].value) if "pool" in pairs else ({}, True)
        own |= {name: pairs[name] for name in ("acquireConnectionTimeout",) if name in pairs}
        pool = _pool(tree, libraries.KNEX, _place(tree, node), own, complete=complete and all_own)
        if "connection" in pairs and (misplaced := tree.pairs(pairs["connection"].value)[0].get("pool")):
            pool = replace(pool, unread=(*pool.unread, tree.setting("connection.pool", misplaced.key)))
        is_mysql = _is_mysql(tree, client)
        if mikro and is_mysql is None:
            is_mysql = names_mysql(tree.text(client))
        yield pool, mikro == {True} if mikro and is_mysql is None else is_mysql
    elif (SHOWS_TYPEORM & keys and ("type" in keys or not complete)) or (
        keys >= OPTIONS_OF_TYPEORM and "typeorm" in modules
    ):
        database = pairs["type"].value if "type" in pairs else None
        pool = _of_typeorm(tree, node, pairs, complete=complete)
        for server in _typeorm_servers(tree, pairs):
            yield replace(pool, place=pool.place + server), _is_mysql(tree, database)


def _typeorm_servers(tree: JavascriptTree, pairs: Mapping[str, Pair]) -> Sequence[str]:
    """Return what follows the pool's place, for each server of a replication; "" without a replication."""
    if "replication" not in pairs:
        return [""]
    slaves = tree.pairs(pairs["replication"].value)[0].get("slaves")
    listed = tree.resolved(slaves.value) if slaves else None
    number = len(children(listed)) if listed is not None and listed.type == "array" else 1
    return [", master", *(f", slave {place}" for place in range(1, number + 1))]


def _of_typeorm(tree: JavascriptTree, node: Node, pairs: Mapping[str, Pair], *, complete: bool) -> FilePool:
    """Return the pool of TypeORM's options: those in `extra` are the driver's, and replace poolSize."""
    own, all_own = tree.pairs(pairs["extra"].value) if "extra" in pairs else ({}, True)
    pool = _pool(tree, libraries.TYPEORM, _place(tree, node), own, complete=complete and all_own)
    if "poolSize" in pairs and "connectionLimit" not in own:
        (size,) = _pool(
            tree, libraries.TYPEORM, "", {"connectionLimit": pairs["poolSize"]}, complete=True
        ).settings.values()
        pool = replace(pool, settings={**pool.settings, "connectionLimit": replace(size, name="poolSize")})
    return pool


def _is_mysql(tree: JavascriptTree, node: Node | None) -> bool | None:
    """Return whether a dialect or a URL is MySQL's or MariaDB's; None where the file does not contain it."""
    value = tree.value(node)
    text = value.partition(":")[0] if isinstance(value, str) else tree.text(node).partition("://")[0]
    if MYSQL.search(text):
        return True
    return False if isinstance(value, str) else None


def _name(node: Node) -> Node | None:
    """Return the key, the name or the function that an object is the value or an argument of; None for none."""
    parent = node.parent
    while parent is not None and parent.type in {"parenthesized_expression", "as_expression", "satisfies_expression"}:
        parent = parent.parent
    if parent is not None and parent.type == "arguments":
        parent = parent.parent
    fields = ("key", "name", "constructor", "function")
    return next((name for field in fields if parent and (name := parent.child_by_field_name(field))), None)


def _choice(tree: JavascriptTree, node: Node) -> Node:
    """Return the expression of which an object is an alternative, as `a ? b : {}` or `a || {}`; else the object."""
    choice, around = node, node.parent
    for _ in range(DEEPEST):
        if around and (around.type == "ternary_expression" or tree.text_at(around, "operator") in {"||", "??"}):
            choice = around
        elif around is None or around.type not in WRAPPERS:
            break
        around = around.parent
    return choice


def _alternative(tree: JavascriptTree, names: Mapping[str, str], node: Node) -> str:
    """Return the environment whose options an object has, or what it is an alternative of; "" for none."""
    choice = _choice(tree, node)
    if (name := _name(choice)) and OF_ENVIRONMENT.fullmatch(tree.key(name)):
        return f"profile {tree.key(name)}"
    first = [WORD.match(tree.text(each).lstrip("(")) for each in children(choice)[-2:] if choice != node]
    module = next((names[word[0]] for word in first if word and names.get(word[0], "").startswith(".")), "")
    return f"{WITHOUT}{module}" if module else f"alternative in line {line(node)}" if choice != node else ""


def _place(tree: JavascriptTree, node: Node) -> str:
    """Return where an object is: the key or the name that it is the value of, and its line."""
    node = _choice(tree, node)
    name = _name(node)
    if _alternative(tree, {}, node):
        return _place_of_all(tree, name.parent.parent if name and name.parent else None)
    is_name = name and name.type in SHORT_NAMES
    return f"{tree.key(name)}, line {line(node)}" if is_name else f"line {line(node)}"


def _place_of_all(tree: JavascriptTree, node: Node | None) -> str:
    """Return the place of the environments in an object, with the name of the object if it has any."""
    if node is None or node.type != "object":
        return "environments"
    is_assigned = node.parent is not None and node.parent.type == "assignment_expression"
    name = node.parent.child_by_field_name("left") if node.parent and is_assigned else _name(node)
    is_name = name and name.type in SHORT_NAMES and tree.text(name) != "module.exports"
    return f"environments of {tree.key(name)}" if is_name else "environments"
