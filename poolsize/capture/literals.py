"""A literal of a log as a value: a number, a text, bytes, a moment, NULL or a boolean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Literal, NamedTuple

from poolsize.capture.workload import Alphabet

LONGEST_KEPT = 100
"""Characters of a text that are kept for the fit."""
MOST_DIGITS, LONGEST_NUMBER = 19, 40
"""A number with more digits, or a longer text, is no number of a column."""
LONGEST_HARMLESS = 3
"""Digits of a number that can't be a secret."""

_NUMBER = re.compile(r"([-+]?)(\d+)(?:\.(\d+))?", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:([ T])(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_ALPHABETS: tuple[tuple[Alphabet, re.Pattern[str]], ...] = (
    ("digits", re.compile(r"[0-9]*")),
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("hex", re.compile(r"[0-9a-f]*|[0-9A-F]*")),
    ("letters", re.compile(r"[A-Za-z]*")),
    ("alphanumeric", re.compile(r"[A-Za-z0-9]*")),
    ("email", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+", re.ASCII)),
    ("ascii", re.compile(r"[\x00-\x7f]*")),
)


@dataclass(frozen=True, slots=True)
class LongText:
    """A long text of a log, of which the beginning and the end are kept. length: characters of the whole."""

    text: str
    length: int
    is_bytes: bool


class Unseen(Enum):
    """The value of a prepared statement's parameter that the source does not show."""

    UNSEEN = "?"


UNSEEN = Unseen.UNSEEN
Kept = int | Decimal | str | bytes | bool | LongText | Unseen | None
"""A literal, as a fingerprint has it, or the part of a literal that is kept."""
Kind = Literal["keyword", "number", "text", "bytes", "moment"]


class Value(NamedTuple):
    """A literal. text: of a number, as the server would print the number; of NULL and booleans, the keyword.

    number: of a number, without its point; of a moment, its seconds since the epoch, in UTC. decimals: digits after the
    point. length: characters, or bytes. form: the separator of a moment's time of day, "" for a date.
    """

    kind: Kind
    text: str
    length: int
    number: int = 0
    decimals: int = 0
    is_quoted: bool = False
    form: Literal["", " ", "T"] = ""

    def is_harmless(self, *, is_limit: bool) -> bool:
        """Return whether the value can be shown: NULL, the empty text, a short number or the count of a LIMIT."""
        if self.kind == "number":
            return is_limit or len(str(abs(self.number))) <= LONGEST_HARMLESS
        return self.kind == "keyword" or not self.length


def cut(literal: Kept) -> Kept:
    """Return a literal, or the part that is kept of a long text."""
    if not isinstance(literal, str | bytes) or len(literal) <= LONGEST_KEPT:
        return literal
    ends = literal[: LONGEST_KEPT // 2], literal[-LONGEST_KEPT // 2 :]
    text = "".join(end if isinstance(end, str) else end.hex() for end in ends)
    return LongText(text, len(literal), isinstance(literal, bytes))


def value_of(literal: Kept) -> Value:
    """Return the value of a literal."""
    if literal is None or isinstance(literal, bool):
        return Value("keyword", "NULL" if literal is None else str(literal).upper(), 0)
    if isinstance(literal, int):
        text = str(literal)
        return Value("number", text, len(text), literal)
    if isinstance(literal, LongText):
        return Value("bytes" if literal.is_bytes else "text", literal.text, literal.length, is_quoted=True)
    if isinstance(literal, bytes):
        return Value("bytes", literal.hex(), len(literal))
    if isinstance(literal, str):
        value = None if len(literal) > LONGEST_NUMBER else _number(literal, is_quoted=True) or _moment(literal)
        return value or Value("text", literal, len(literal), is_quoted=True)
    text = "" if isinstance(literal, Unseen) else f"{literal:f}"  # 1e5, too
    return _number(text, is_quoted=False) or Value("text", text, len(text))


def _number(text: str, *, is_quoted: bool) -> Value | None:
    """Return a number, or None if it is a text: also of digits with leading zeros, such as 007."""
    number = _NUMBER.fullmatch(text)
    if number is None or len(number[2]) + len(number[3] or "") > MOST_DIGITS:
        return None
    if is_quoted and len(number[2]) > 1 and number[2][0] == "0":
        return None
    return Value("number", text, len(text), int(text.replace(".", "")), len(number[3] or ""), is_quoted)


def _moment(text: str) -> Value | None:
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{parts[1]} {parts[3] or '00:00:00'}").replace(tzinfo=UTC)
    except ValueError:  # 0000-00-00
        return None
    form: Literal["", " ", "T"] = "T" if parts[2] == "T" else " " if parts[2] else ""
    return Value("moment", text, len(text), int(moment.timestamp()), len(parts[4] or ""), is_quoted=True, form=form)


def alphabet_of(texts: Sequence[str]) -> Alphabet:
    """Return the narrowest alphabet of texts."""
    return next((name for name, pattern in _ALPHABETS if all(map(pattern.fullmatch, texts))), "unicode")
