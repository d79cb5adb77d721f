"""Go and JavaScript source -> pools, by their tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from pygments.lexer import Lexer
from pygments.lexers.go import GoLexer
from pygments.lexers.javascript import JavascriptLexer
from pygments.token import Comment, String, Whitespace

from poolsize.pool_files.found import FoundPool, FoundSetting, value_of
from poolsize.pool_files.library import GO, NODE_MYSQL2, Value

GO_SECONDS = {"Millisecond": 0.001, "Second": 1, "Minute": 60, "Hour": 3600}
NUMBER = re.compile(r"-?\d[\d_]*")


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    is_string: bool


def go_pools(text: str) -> list[FoundPool]:
    """Return the pools of Go source, one for each function that sets one's limits."""
    tokens = _tokens(GoLexer(), text)
    functions: dict[str, dict[str, FoundSetting]] = {}
    function = ""
    for place, token in enumerate(tokens):
        if token.text == "func" and place + 1 < len(tokens):
            function = _function_name(tokens, place) or function
        setting = GO.setting(token.text) if token.text.startswith("Set") and not token.is_string else None
        if setting and place + 1 < len(tokens) and tokens[place + 1].text == "(":
            found = _go_setting(token, _until_closed(tokens, place + 2))
            settings = functions.setdefault(function, {})
            settings[setting] = _larger(settings.get(setting), found)
    return [FoundPool(GO, f"func {name}", settings) for name, settings in functions.items()]


def javascript_pools(text: str) -> list[FoundPool]:
    """Return the pools of JavaScript source: the object that each call of createPool gets."""
    tokens = _tokens(JavascriptLexer(), text)
    pools = []
    for place, token in enumerate(tokens):
        if token.text == "createPool" and place + 1 < len(tokens) and tokens[place + 1].text == "(":
            settings = _object_settings(_until_closed(tokens, place + 2))
            pools.append(FoundPool(NODE_MYSQL2, f"createPool, line {token.line}", settings))
    return pools


def _tokens(lexer: Lexer, text: str) -> list[_Token]:
    """Return the tokens without white space and comments; a string's parts are one token."""
    tokens: list[_Token] = []
    line = 1
    for kind, part in lexer.get_tokens(text):
        is_string = kind in String
        if is_string and tokens and tokens[-1].is_string and not part.isspace():
            tokens[-1] = replace(tokens[-1], text=tokens[-1].text + part)
        elif kind not in Comment and kind not in Whitespace and part.strip():
            tokens.append(_Token(part.strip(), line, is_string))
        line += part.count("\n")
    return [single for token in tokens for single in _split(token)]


def _split(token: _Token) -> list[_Token]:
    """Return a token of several brackets, such as "})", as one for each."""
    if token.is_string or not re.fullmatch(r"[(){}\[\],;:]{2,}", token.text):
        return [token]
    return [replace(token, text=each) for each in token.text]


def _until_closed(tokens: Sequence[_Token], begin: int) -> list[_Token]:
    """Return the tokens from a place until the bracket before it is closed."""
    depth, inside = 1, []
    for token in tokens[begin:]:
        depth += (token.text in "([{" and not token.is_string) - (token.text in ")]}" and not token.is_string)
        if depth == 0:
            break
        inside.append(token)
    return inside


def _function_name(tokens: Sequence[_Token], place: int) -> str:
    """Return the name after "func", also of a method; "" for a function without one."""
    place += 1
    if tokens[place].text == "(":
        place += len(_until_closed(tokens, place + 1)) + 2
    return tokens[place].text if place < len(tokens) and tokens[place].text.isidentifier() else ""


def _go_setting(name: _Token, arguments: Sequence[_Token]) -> FoundSetting:
    """Return a setting of Go: a number, a product with a unit of time, or the number that a function falls back to."""
    text = "".join(token.text for token in arguments)
    numbers = [int(token.text.replace("_", "")) for token in arguments if NUMBER.fullmatch(token.text)]
    units = [GO_SECONDS[token.text] for token in arguments if token.text in GO_SECONDS]
    value: Value = prod(numbers) * prod(units) if numbers or units else None
    return FoundSetting(name.text, text, value, name.line)


def _larger(one: FoundSetting | None, other: FoundSetting) -> FoundSetting:
    """Return the setting with the larger value: in the branches of an `if`, SQLite's limit is the small one."""
    if one is None or not isinstance(one.value, int | float):
        return other
    return one if isinstance(other.value, int | float) and other.value < one.value else other


def _object_settings(tokens: Sequence[_Token]) -> dict[str, FoundSetting]:
    """Return the settings of the outermost object of an argument."""
    settings = {}
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text in "([{" and not token.is_string) - (token.text in ")]}" and not token.is_string)
        setting = NODE_MYSQL2.setting(token.text.strip("'\""))
        if setting and depth == 1 and place + 2 < len(tokens) and tokens[place + 1].text == ":":
            ends = (at for at in range(place + 2, len(tokens)) if tokens[at].text in {",", "}"})
            value = "".join(each.text for each in tokens[place + 2 : next(ends, len(tokens))])
            numbers = re.findall(r"\d+", value)
            known = value_of(value) if not numbers or value.isdecimal() else int(numbers[-1])
            settings[setting] = FoundSetting(
                token.text, value, None if isinstance(known, str) else known, token.line
            )  # fmt: skip
    return settings
