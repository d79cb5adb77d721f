"""Go source -> pools: the limits of database/sql."""

from collections.abc import Sequence

from pygments.lexers.go import GoLexer

from poolsize.pool_config.files.tokens import Source, Token, product
from poolsize.pool_config.library import GO
from poolsize.pool_config.pool import FilePool, FileSetting, Value

SECONDS = {"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1.0, "Minute": 60.0, "Hour": 3600.0}
DURATIONS = {"SetConnMaxLifetime", "SetConnMaxIdleTime"}

Group = dict[str, FileSetting]


def go_pools(text: str) -> list[FilePool]:
    """Return the pools of Go source.

    A pool is what the limits are set of, by its name in the source. Limits that a further function sets again are those
    of another pool; of two in one function, the larger counts: in the branches of an `if`, SQLite has the smaller one.
    """
    source = Source(GoLexer(), text)
    pools: dict[str, list[tuple[str, Group]]] = {}
    function = ""
    for place, token in enumerate(source.tokens):
        if token.text == "func":
            function = f"func, line {token.line}"
        if token.is_string or GO.setting(token.text) is None or source.text_at(place - 1) != ".":
            continue
        if source.text_at(place + 1) != "(":
            continue
        setting = FileSetting(
            token.text, _text(source.inside(place + 1)), _value(token.text, source.inside(place + 1)), token.line
        )  # fmt: skip
        of_name = pools.setdefault(_receiver(source, place), [])
        if not of_name or (token.text in of_name[-1][1] and of_name[-1][0] != function):
            of_name.append((function, {}))
        group = of_name[-1][1]
        group[token.text] = _larger(group.get(token.text), setting)
    if not pools:
        return _without_limits(source)
    return [
        FilePool(GO, f"{name}, line {min(each.line for each in group.values())}", group)
        for name, groups in pools.items()
        for _, group in groups
    ]


def _without_limits(source: Source) -> list[FilePool]:
    """Return the pools that sql.Open opens with its defaults."""
    opened = [place for place, token in enumerate(source.tokens) if token.text == "Open" and not token.is_string]
    return [
        FilePool(GO, f"sql.Open, line {source.tokens[place].line}", {})
        for place in opened
        if source.text_at(place - 2) == "sql" and source.text_at(place + 2).strip('"`') == "mysql"
    ]


def _receiver(source: Source, place: int) -> str:
    """Return what a method is called on, e.g. db or s.pool."""
    parts: list[str] = []
    while place >= 2 and source.text_at(place - 1) == "." and source.text_at(place - 2).isidentifier():
        parts.insert(0, source.text_at(place - 2))
        place -= 2
    return ".".join(parts)


def _value(name: str, tokens: Sequence[Token]) -> Value:
    if name not in DURATIONS:
        return _number(tokens)
    seconds = 1.0
    rest: list[Token] = []
    units = 0
    factors = _factors(tokens)
    for factor in factors:
        unit = SECONDS.get(factor[-1].text) if factor else None
        if unit is not None and len(factor) in {1, 3}:
            seconds, units = seconds * unit, units + 1
        elif factor and factor[0].text == "time" and len(factor) > 4 and factor[2].text == "Duration":
            rest = list(factor[4:-1])
        else:
            rest = list(factor)
    number = _number(rest) if rest else 1
    if number is None or units > 1 or len(factors) > units + 1:
        return None
    return number * seconds if units else number * SECONDS["Nanosecond"]


def _factors(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the factors of a product; brackets keep theirs together."""
    factors: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "*" and depth == 0:
            factors.append([])
        else:
            factors[-1].append(token)
    return factors


def _number(tokens: Sequence[Token]) -> int | None:
    """Return an integer, a product of integers, or the default of a function of a name and a number."""
    if (number := product(tokens)) is not None:
        return number
    texts = [token.text for token in tokens]
    if len(texts) >= 6 and texts[-1] == ")" and tokens[-4].is_string and texts[-5] == "(" and texts[-3] == ",":
        return tokens[-2].integer
    return None


def _text(tokens: Sequence[Token]) -> str:
    return "".join(f"{token.text} " if token.text == "," else token.text for token in tokens)


def _larger(present: FileSetting | None, further: FileSetting) -> FileSetting:
    """Return the setting with the larger value; a known value before an unknown one."""
    if present is None or not isinstance(present.value, int | float):
        return further
    smaller = isinstance(further.value, int | float) and further.value < present.value
    return present if smaller else further
