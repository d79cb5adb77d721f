"""Go and JavaScript source -> pools, by the tokens of Pygments: the limits of database/sql, and mysql2's createPool."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from pygments.lexer import Lexer
from pygments.lexers.go import GoLexer
from pygments.lexers.javascript import JavascriptLexer
from pygments.token import Comment, String

from poolsize.pool_config.libraries.go import GO
from poolsize.pool_config.libraries.node import NODE_MYSQL2
from poolsize.pool_config.pool import FilePool, FileSetting, Value

INTEGER = re.compile(r"\d[\d_]{0,15}")
WORD = re.compile(r"[(){}\[\],;:]|[^(){}\[\],;:\s]+")
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")

SECONDS = {"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1.0, "Minute": 60.0, "Hour": 3600.0}
DURATIONS = {"SetConnMaxLifetime", "SetConnMaxIdleTime"}

CREATE = "createPool"
WORDS: dict[str, Value] = {"true": True, "false": False, "null": 0}
"""Words of JavaScript that are values; mysql2 takes a limit of null as 0."""
DIGITS_SEPARATOR = re.compile(r"(?<=\d)_(?=\d)")
"""The lexer of JavaScript does not know it."""
OR = {"||", "??"}
CONVERSIONS = {"Number", "parseInt"}


@dataclass(frozen=True)
class Token:
    """A word, a bracket, an operator or a string. line: in the file, from 1. is_string: whether it is a string."""

    text: str
    line: int
    is_string: bool = False

    @property
    def integer(self) -> int | None:
        """The value of a decimal integer; None for anything else."""
        return int(self.text.replace("_", "")) if not self.is_string and INTEGER.fullmatch(self.text) else None

    @property
    def depth(self) -> int:
        """By how much brackets are nested deeper behind the token: 1, 0 or -1."""
        return 0 if self.is_string else (self.text in OPENING) - (self.text in CLOSING)


class Source:
    """The tokens of a source without white space and comments. closing: place of each opening bracket -> of its end."""

    def __init__(self, lexer: Lexer, text: str) -> None:
        self.tokens = _tokens(lexer, text)
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.depth > 0:
                opened.append(place)
            elif token.depth < 0 and opened:
                self.closing[opened.pop()] = place

    def inside(self, bracket: int) -> Sequence[Token]:
        """Return the tokens between the bracket at a place and its end; none where it is not closed."""
        return self.tokens[bracket + 1 : self.closing.get(bracket, bracket)]

    def text_at(self, place: int) -> str:
        """Return the text of the token at a place; "" beyond the ends."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""


def go_pools(text: str) -> list[FilePool]:
    """Return the pools of Go source.

    A pool is what the limits are set of, by its name in the source. Limits that a further function sets again are those
    of another pool; of two in one function, the larger counts: in the branches of an `if`, SQLite has the smaller one.
    """
    source = Source(GoLexer(), text)
    pools: dict[str, list[tuple[str, dict[str, FileSetting]]]] = {}
    function = ""
    for place, token in enumerate(source.tokens):
        if token.text == "func":
            function = f"func, line {token.line}"
        is_call = source.text_at(place - 1) == "." and source.text_at(place + 1) == "("
        if token.is_string or not is_call or GO.setting(token.text) is None:
            continue
        value = source.inside(place + 1)
        written = "".join(f"{each.text} " if each.text == "," else each.text for each in value)
        found = _go_duration(value) if token.text in DURATIONS else _go_number(value)
        setting = FileSetting(token.text, written, found, token.line)
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


def javascript_pools(text: str) -> list[FilePool]:
    """Return the pools of a source that uses mysql2: the object that each call of createPool gets."""
    source = Source(JavascriptLexer(), DIGITS_SEPARATOR.sub("", text))
    if not any(token.is_string and token.text.strip("'\"`").startswith("mysql2") for token in source.tokens):
        return []
    pools = []
    for place, token in enumerate(source.tokens):
        if token.text == CREATE and source.text_at(place + 1) == "(" and source.text_at(place - 1) != "function":
            pools.append(_javascript_pool(f"{CREATE}, line {token.line}", source.inside(place + 1)))
    return pools


def _tokens(lexer: Lexer, text: str) -> list[Token]:
    """Return the tokens; the parts of a string are one token, and each bracket is one of its own."""
    tokens: list[Token] = []
    line = 1
    for kind, part in lexer.get_tokens(text):
        is_string = kind in String
        if is_string and tokens and tokens[-1].is_string and not part.isspace():
            tokens[-1] = replace(tokens[-1], text=tokens[-1].text + part)
        elif kind not in Comment and part.strip():
            words = [part.strip()] if is_string else WORD.findall(part)
            tokens += [Token(word, line, is_string) for word in words]
        line += part.count("\n")
    return tokens


def _split(tokens: Sequence[Token], separator: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.depth
        if token.text == separator and depth == 0 and not token.is_string:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _product(tokens: Sequence[Token]) -> int | None:
    """Return the value of an integer, or of a product of integers; None for anything else."""
    negative = bool(tokens) and tokens[0].text == "-"
    factors = [token.integer for token in tokens[negative::2]]
    known = [factor for factor in factors if factor is not None]
    between = [token.text for token in tokens[negative + 1 :: 2]]
    if known != factors or not 1 <= len(factors) <= 4 or between != ["*"] * (len(factors) - 1):
        return None
    return prod(known, start=-1 if negative else 1)


def _without_limits(source: Source) -> list[FilePool]:
    return [
        FilePool(GO, f"sql.Open, line {token.line}", {})
        for place, token in enumerate(source.tokens)
        if token.text == "Open"
        and not token.is_string
        and source.text_at(place - 2) == "sql"
        and source.text_at(place + 2).strip('"`') == "mysql"
    ]


def _receiver(source: Source, place: int) -> str:
    """Return what a method is called on, e.g. db or s.pool."""
    parts: list[str] = []
    while place >= 2 and source.text_at(place - 1) == "." and source.text_at(place - 2).isidentifier():
        parts.insert(0, source.text_at(place - 2))
        place -= 2
    return ".".join(parts)


def _go_duration(tokens: Sequence[Token]) -> Value:
    """Return a duration in seconds: a number of nanoseconds, or a product with one unit; None for anything else."""
    seconds, units = 1.0, 0
    rest: Sequence[Token] = ()
    factors = _split(tokens, "*")
    for factor in factors:
        unit = SECONDS.get(factor[-1].text) if factor else None
        if unit is not None and len(factor) in {1, 3}:
            seconds, units = seconds * unit, units + 1
        elif factor and factor[0].text == "time" and len(factor) > 4 and factor[2].text == "Duration":
            rest = factor[4:-1]
        else:
            rest = factor
    number = _go_number(rest) if rest else 1
    if number is None or units > 1 or len(factors) > units + 1:
        return None
    return number * seconds if units else number * SECONDS["Nanosecond"]


def _go_number(tokens: Sequence[Token]) -> int | None:
    """Return an integer, a product of integers, or the default of a function of a name and a number."""
    if (number := _product(tokens)) is not None:
        return number
    texts = [token.text for token in tokens]
    if len(texts) >= 6 and texts[-1] == ")" and tokens[-4].is_string and texts[-5] == "(" and texts[-3] == ",":
        return tokens[-2].integer
    return None


def _larger(present: FileSetting | None, further: FileSetting) -> FileSetting:
    """Return the setting with the larger value; a known value before an unknown one."""
    if present is None or not isinstance(present.value, int | float):
        return further
    smaller = isinstance(further.value, int | float) and further.value < present.value
    return present if smaller else further


def _javascript_pool(place: str, arguments: Sequence[Token]) -> FilePool:
    """Return the pool of the arguments of createPool. Settings that are spread into the object are not known."""
    is_object = len(arguments) > 1 and arguments[0].text == "{"
    settings: dict[str, FileSetting] = {}
    unread: list[FileSetting] = []
    complete = is_object
    for part in _split(arguments[1:-1] if is_object else (), ","):
        if not part:
            continue
        name = part[0].text.strip("'\"")
        known = NODE_MYSQL2.setting(name)
        if part[0].text.startswith("..."):
            complete = False
        elif known or name in NODE_MYSQL2.ignored:
            value = part[2:] if len(part) > 2 and part[1].text == ":" else ()
            text = "".join(token.text for token in value) or name
            found = FileSetting(name, text, _javascript_value(value), part[0].line)
            if known:
                settings[known] = found
            else:
                unread.append(found)
    return FilePool(NODE_MYSQL2, place, settings, tuple(unread), complete)


def _javascript_value(tokens: Sequence[Token]) -> Value:
    """Return a number, a product, true, false, or the last alternative of || and ??; None for anything else."""
    if len(tokens) == 1 and tokens[0].text in WORDS:
        return WORDS[tokens[0].text]
    if len(tokens) > 2 and tokens[0].text in CONVERSIONS and tokens[1].text == "(" and tokens[-1].text == ")":
        parts = [part for part in _split(tokens[2:-1], ",") if part]
        return _javascript_value(parts[0]) if parts else None
    ors = [place for place, token in enumerate(tokens) if token.text in OR]
    if ors:
        return _javascript_value(tokens[ors[-1] + 1 :])
    if len(tokens) == 1 and tokens[0].is_string:
        digits = tokens[0].text.strip("'\"`")
        return int(digits) if digits.isdecimal() and len(digits) < 16 else None
    return _product(tokens)
