"""A literal of SQL as a value: a number, a text, bytes, a moment or a keyword."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from poolsize.capture.workload import Alphabet

LONGEST_KEPT = 200
"""Characters of a literal that are kept for the fit."""
MOST_DIGITS = 19
"""A longer number is no integer of a column."""
LONGEST_HARMLESS = 3
"""Digits of a number that can't be a secret."""

_NUMBER = re.compile(r"[-+]?(\d+)(?:\.(\d+))?", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:([ T])(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_QUOTED = re.compile(r"(?:_[a-z0-9]+\s*|[nN])?(['\"])(.*)\1", re.DOTALL)
_BYTES = re.compile(r"0x([0-9a-fA-F]*)|[xX]'([0-9a-fA-F]*)'|_binary\s*'(.*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ALPHABETS: tuple[tuple[Alphabet, re.Pattern[str]], ...] = (
    ("digits", re.compile(r"[0-9]*")),
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("hex", re.compile(r"[0-9a-f]*|[0-9A-F]*")),
    ("letters", re.compile(r"[A-Za-z]*")),
    ("alphanumeric", re.compile(r"[A-Za-z0-9]*")),
    ("email", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+", re.ASCII)),
    ("ascii", re.compile(r"[\x00-\x7f]*")),
)

Kind = Literal["keyword", "number", "text", "bytes", "moment"]


@dataclass(frozen=True, slots=True)
class Value:
    """A literal. text: without quotes and escapes; of a number, as the server would print the number.

    number: of a number, without its point; of a moment, its seconds since the epoch, in UTC. decimals: digits after the
    point. length: characters, or bytes. The text of a long literal is cut, and its length is not.
    """

    kind: Kind
    text: str
    length: int
    number: int = 0
    decimals: int = 0
    is_quoted: bool = False


def cut(token: str) -> str:
    """Return a literal of which at most LONGEST_KEPT characters and its length are kept."""
    if len(token) <= LONGEST_KEPT:
        return token
    return f"{token[: LONGEST_KEPT // 2]}{token[-LONGEST_KEPT // 2 :]}\0{len(token)}"


def value_of(token: str) -> Value:
    """Return the value of a literal that `cut` returned."""
    token, _, length = token.partition("\0") if len(token) > LONGEST_KEPT else (token, "", "")
    missing = int(length) - len(token) if length else 0
    if in_bytes := _BYTES.fullmatch(token):
        digits = in_bytes[1] or in_bytes[2]
        size = (len(digits) + missing + 1) // 2 if digits is not None else len(in_bytes[3] or "") + missing
        return Value("bytes", token, size)
    if quoted := _QUOTED.fullmatch(token):
        text = _ESCAPE.sub(_unescaped, quoted[2]) if "\\" in token or quoted[1] * 2 in quoted[2] else quoted[2]
        return _of_text(text, missing)
    return _number(token, is_quoted=False) or Value("keyword", token.upper(), len(token))


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[1]) if escape[1] else escape[0][0]


def _of_text(text: str, missing: int) -> Value:
    value = None if missing or len(text) > 40 else _number(text, is_quoted=True) or _moment(text)
    return value or Value("text", text, len(text) + missing, is_quoted=True)


def _number(text: str, *, is_quoted: bool) -> Value | None:
    """Return a number, or None for another text, and for digits with leading zeros: they are a text, such as 007."""
    number = _NUMBER.fullmatch(text)
    if number is None or len(number[1]) + len(number[2] or "") > MOST_DIGITS:
        return None
    if len(number[1]) > 1 and number[1][0] == "0" and is_quoted:
        return None
    whole = int(text.replace(".", ""))
    return Value("number", text.lstrip("+"), len(text), whole, len(number[2] or ""), is_quoted)


def _moment(text: str) -> Value | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{found[1]} {found[3] or '00:00:00'}").replace(tzinfo=UTC)
    except ValueError:  # 0000-00-00
        return None
    return Value("moment", text, len(text), int(moment.timestamp()), len(found[4] or ""), is_quoted=True)


def is_harmless(value: Value, *, is_limit: bool) -> bool:
    """Return whether a value can be shown: NULL, the empty text, a number that is short or the count of a LIMIT."""
    if value.kind == "number":
        return is_limit or len(str(abs(value.number))) <= LONGEST_HARMLESS
    return value.kind == "keyword" or not value.length


def alphabet_of(texts: list[str]) -> Alphabet:
    """Return the narrowest alphabet of texts."""
    for name, pattern in _ALPHABETS:
        if all(map(pattern.fullmatch, texts)):
            return name
    return "unicode"
