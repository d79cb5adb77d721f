"""The tokens of Go and JavaScript source, by Pygments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pygments.lexer import Lexer
from pygments.token import Comment, String

INTEGER = re.compile(r"\d[\d_]{0,15}")
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True)
class Token:
    """A word, a bracket, an operator or a string. line: in the file, from 1. is_string: whether it is a string."""

    text: str
    line: int
    is_string: bool = False

    @property
    def integer(self) -> int | None:
        """The value of a decimal integer; None for anything else."""
        if self.is_string or not INTEGER.fullmatch(self.text):
            return None
        return int(self.text.replace("_", ""))


class Source:
    """The tokens of a source without white space and comments. closing: place of each opening bracket -> of its end."""

    def __init__(self, lexer: Lexer, text: str) -> None:
        self.tokens = _tokens(lexer, text)
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if not token.is_string and token.text in OPENING:
                opened.append(place)
            elif not token.is_string and token.text in CLOSING and opened:
                self.closing[opened.pop()] = place

    def inside(self, bracket: int) -> Sequence[Token]:
        """Return the tokens between the bracket at a place and its end; none where it is not closed."""
        return self.tokens[bracket + 1 : self.closing.get(bracket, bracket)]

    def text_at(self, place: int) -> str:
        """Return the text of the token at a place; "" beyond the ends."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""


def product(tokens: Sequence[Token]) -> int | None:
    """Return the value of an integer, or of a product of integers; None for anything else."""
    negative = bool(tokens) and tokens[0].text == "-"
    factors = tokens[negative::2]
    values = [token.integer for token in factors]
    between = tokens[negative + 1 :: 2]
    if not values or None in values or len(values) > 4 or any(token.text != "*" for token in between):
        return None
    if len(between) != len(values) - 1:
        return None
    result = -1 if negative else 1
    for value in values:
        assert value is not None
        result *= value
    return result


def _tokens(lexer: Lexer, text: str) -> list[Token]:
    """Return the tokens; the parts of a string are one token, and each bracket is one of its own."""
    tokens: list[Token] = []
    line = 1
    for kind, part in lexer.get_tokens(text):
        is_string = kind in String
        if is_string and tokens and tokens[-1].is_string and not part.isspace():
            tokens[-1] = replace(tokens[-1], text=tokens[-1].text + part)
        elif kind not in Comment and part.strip():
            word = part.strip()
            parts = [word] if is_string else re.findall(r"[(){}\[\],;:]|[^(){}\[\],;:\s]+", word)
            tokens += [Token(each, line, is_string) for each in parts]
        line += part.count("\n")
    return tokens
