"""Numbers whose names look as a pool's settings -> the pool, in a text of which no reader knows the idiom."""

import re
from collections.abc import Iterator

from poolsize.pool_config.files.entries import Entry, names_mysql
from poolsize.pool_config.files.keys import pool_of
from poolsize.pool_config.files.places import NO_DATABASE, is_go
from poolsize.pool_config.libraries.other_languages import OWN, OWN_CODE, OWN_GO, OWN_SIZE
from poolsize.pool_config.pool import FilePool, normalized

LIBRARIES = (OWN_CODE, *OWN.values())
"""Libraries of pools that a project's own code makes; the first whose size a text has is the text's."""
NUMBER = re.compile(
    r"(?<![\w-])(?<!\w\.)(?P<name>[A-Za-z_][\w.-]{3,80})[\"']?[\])]{0,2}\s{0,20}(?::=|=>|\|\||\?\?|[:=(,]|\bor\b)\s{0,20}[\"']?"
    r"(?P<number>\d{1,6})(?![\w.]|\s{0,20}[*/])"
)
"""A name with a whole number that is its value, its argument or its default."""
TIMES = re.compile("time|life|wait|evict|recycle|test|ping|lifo|query|abandoned", re.IGNORECASE)
"""In the names of settings that are no numbers of connections: the unit of a number is not known."""
NAMES = {
    normalized(name): name
    for library in LIBRARIES
    for name in (*library.defaults, *library.aliases)
    if len(name) > 6 and not TIMES.search(name)
}
"""Ends of names, without dots, hyphens, underscores and capitals -> the name of a setting."""
OF_SERVER = re.compile("(?:.*(?:mysql|mariadb))?maxconnections")
"""Names that are mostly the server's own variable."""
ADDRESS = re.compile("host|dsn|url|uri|addr|server|source|connectionstring|mysql://", re.IGNORECASE)
"""What a text has beside a number of connections of which no other name shows the library."""
COMMENTS = ("#", "//", "*", "/*", "--", ";", "<!--")
IN_PASSING = {"http", "httpclient", "thread", "threadpool", "executor"}
"""What much code names between two settings of a database: the next line may be about the database again."""
OTHER_SERVICE = re.compile("|".join(sorted(NO_DATABASE - IN_PASSING)), re.IGNORECASE)
OTHER_POOL = re.compile("|".join(sorted(NO_DATABASE)), re.IGNORECASE)


def named_pools(text: str) -> list[FilePool]:
    """Return the pool that the numbers nearest to the name of MySQL show; nothing without a number of connections."""
    entries = list(_entries(text))
    for library in LIBRARIES:
        own = [each for each in entries if library.setting(each.path[-1], relaxed=True)]
        if library is OWN_GO and not is_go(normalized(each.path[-1]) for each in own):
            continue
        pool = pool_of(library, own)
        if any(map(pool.has, library.sizes)) and (library is not OWN_SIZE or ADDRESS.search(text)):
            return [pool]
    return []


def _entries(text: str) -> Iterator[Entry]:
    """Yield the numbers that are MySQL's: the last database or other service that the text names before them is it."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not _is_comment(line)]
    is_mysql = next((names for _, line in lines if (names := names_mysql(line)) is not None), None)
    for number, line in lines:
        database = names_mysql(line)
        if database is not None or OTHER_SERVICE.search(line):
            is_mysql = database
        if is_mysql and not OTHER_POOL.search(line):
            for match in NUMBER.finditer(line):
                if name := _setting(match["name"]):
                    yield Entry((name,), match["number"], number)


def _is_comment(line: str) -> bool:
    """Return whether a line of code is a comment, by its beginning."""
    return line.lstrip().startswith(COMMENTS)


def _setting(name: str) -> str | None:
    """Return the setting that the end of a name means; None for another name."""
    plain = normalized(name).replace(".", "")
    known = (setting for end, setting in NAMES.items() if plain.endswith(end))
    return None if OF_SERVER.fullmatch(plain) else next(known, None)
