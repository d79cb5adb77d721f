"""JavaScript and TypeScript source -> pools: mysql2's createPool."""

import re
from collections.abc import Sequence

from pygments.lexers.javascript import JavascriptLexer

from poolsize.pool_config.files.tokens import CLOSING, OPENING, Source, Token, product
from poolsize.pool_config.library import NODE_MYSQL2
from poolsize.pool_config.pool import FilePool, FileSetting, Value

CREATE = "createPool"
WORDS: dict[str, Value] = {"true": True, "false": False, "null": 0}
"""Words that are values; mysql2 takes a limit of null as 0."""
SEPARATOR = re.compile(r"(?<=\d)_(?=\d)")
"""Of digits, which the lexer does not know."""
OR = {"||", "??"}
CONVERSIONS = {"Number", "parseInt"}


def javascript_pools(text: str) -> list[FilePool]:
    """Return the pools of a source that uses mysql2: the object that each call of createPool gets."""
    source = Source(JavascriptLexer(), SEPARATOR.sub("", text))
    if not any(token.is_string and token.text.strip("'\"`").startswith("mysql2") for token in source.tokens):
        return []
    pools = []
    for place, token in enumerate(source.tokens):
        if token.text != CREATE or source.text_at(place + 1) != "(" or source.text_at(place - 1) == "function":
            continue
        arguments = source.inside(place + 1)
        literal = len(arguments) > 1 and arguments[0].text == "{"
        settings, unread, complete = _settings(arguments[1:-1] if literal else ())
        pools.append(
            FilePool(NODE_MYSQL2, f"{CREATE}, line {token.line}", settings, tuple(unread), literal and complete)
        )  # fmt: skip
    return pools


def _settings(tokens: Sequence[Token]) -> tuple[dict[str, FileSetting], list[FileSetting], bool]:
    """Return the settings of an object's inside, those that mysql2 does not read, and whether all are known."""
    settings: dict[str, FileSetting] = {}
    unread: list[FileSetting] = []
    complete = True
    for part in _parts(tokens):
        if part[0].text.startswith("..."):
            complete = False
            continue
        name = part[0].text.strip("'\"")
        value = part[2:] if len(part) > 2 and part[1].text == ":" else ()
        known = NODE_MYSQL2.setting(name)
        if known is None and name not in NODE_MYSQL2.ignored:
            continue
        text = "".join(token.text for token in value) or name
        found = FileSetting(name, text, _value(value), part[0].line)
        if known:
            settings[known] = found
        else:
            unread.append(found)
    return settings, unread, complete


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the parts between the outermost commas, without empty ones."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        bracket = not token.is_string
        depth += (bracket and token.text in OPENING) - (bracket and token.text in CLOSING)
        if token.text == "," and depth == 0 and bracket:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _value(tokens: Sequence[Token]) -> Value:
    """Return a number, a product, true, false, or the last alternative of || and ??; None for anything else."""
    if len(tokens) == 1 and tokens[0].text in WORDS:
        return WORDS[tokens[0].text]
    if len(tokens) > 2 and tokens[0].text in CONVERSIONS and tokens[1].text == "(" and tokens[-1].text == ")":
        return _value(_parts(tokens[2:-1])[0]) if _parts(tokens[2:-1]) else None
    ors = [place for place, token in enumerate(tokens) if token.text in OR]
    if ors:
        return _value(tokens[ors[-1] + 1 :])
    if len(tokens) == 1 and tokens[0].is_string:
        digits = tokens[0].text.strip("'\"`")
        return int(digits) if digits.isdecimal() and len(digits) < 16 else None
    return product(tokens)
