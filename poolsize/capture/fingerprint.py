"""A statement -> its shape, with a placeholder for each literal, and the values of the literals.

A regular expression of our own finds the tokens that matter: literals, comments and quoted names. A tokenizer for all
of SQL takes more than ten times as long.
"""

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

MOST_LISTED, MOST_ROWS_KEPT = 1000, 100
"""The values that are kept of an IN list, and the rows of an INSERT."""
LONGEST_SHAPE_CACHED, SHAPES_CACHED = 4096, 5000
LONGEST_TEXT_CACHED, TEXTS_CACHED = 32, 5000
"""Of the texts of statements: BEGIN and COMMIT are in every transaction."""
MOST_DIGITS = 65
"""The most digits of a number in MySQL and MariaDB: a longer literal stays a text."""

Value = int | Decimal | str | bytes | None
"""A literal; TRUE and FALSE are bool. bytes: of a hexadecimal or bit literal. Decimal: of a number with a point."""


class Fingerprint(NamedTuple):
    """A statement without literals and comments, and its literals apart."""

    text: str
    """SQL with %s for each literal, and %% for a percent sign: PyMySQL's format.

    An IN list is one %s, whose value is a tuple. Of an INSERT with several rows, the text has the first row only.
    """
    values: tuple[Value | tuple[Value, ...], ...]
    """The values of the %s, in the order of the text."""
    rows: int = 1
    """The rows of an INSERT."""
    more_rows: tuple[tuple[Value, ...], ...] = ()
    """The values of the second row and of those after it, up to MOST_ROWS_KEPT."""


_IN_QUOTES = r"""(?<=')(?:[^'\\]++|\\.|'')*+' | (?<=")(?:[^"\\]++|\\.|"")*+" | (?<=`)(?:[^`]++|``)*+`"""
_IN_COMMENT = r"(?<=/)\*(?:[^*]++|\*(?!/))*+\*/"
_RUN = r"(?<=/)\*M?!(?:0[0-8]\d{4}|1[0-2]\d{4}|[0-8]\d{4})?+(?!\d)"
"""The beginning of a comment whose content servers run: it has no version, or a version of a server in use."""
_LINE_COMMENT = r"(?<=\#)[^\n]*+ | (?<=-)-(?![^\s\x01-\x1f])[^\n]*+"
_NUMBER = r"""(?<![\w$@.`][0-9.]) (?: (?<=0)(?:x[0-9a-fA-F]++ | b[01]++)
    | (?:(?<=[0-9])[0-9]*+(?:\.[0-9]*+)? | (?<=\.)[0-9]++)(?:[eE][+-]?[0-9]++)?) (?![\w$])"""
_TOKEN = re.compile(
    rf"""([0-9'"`/*\#.-](?: {_NUMBER} | {_IN_QUOTES} | (?<=['"`]).* | {_RUN} | {_IN_COMMENT} | (?<=/)\*.* | (?<=\*)/
    | {_LINE_COMMENT}))""",
    re.DOTALL | re.VERBOSE,
)
"""The first character stands alone, which lets the search run fast to the next character that may begin a token."""
_CLOSED = re.compile(rf"""['"`/](?: {_IN_QUOTES} | {_IN_COMMENT})""", re.DOTALL | re.VERBOSE)
_PREFIX = re.compile(r"(?<![\w$@.])(?:_[a-zA-Z][a-zA-Z\d]*(?:\s*|\s+([xXbB]))|([xXbBnN]))\Z")
"""Before a literal: the name of a character set; hexadecimal, bits, national."""
_HINT_NAMES = (
    "BKA|BNL|DERIVED_CONDITION_PUSHDOWN|GROUP_INDEX|HASH_JOIN|INDEX|INDEX_MERGE|JOIN_FIXED_ORDER|JOIN_INDEX|JOIN_ORDER"
    "|JOIN_PREFIX|JOIN_SUFFIX|MAX_EXECUTION_TIME|MERGE|MRR|NO_BKA|NO_BNL|NO_DERIVED_CONDITION_PUSHDOWN|NO_GROUP_INDEX"
    "|NO_HASH_JOIN|NO_ICP|NO_INDEX|NO_INDEX_MERGE|NO_JOIN_INDEX|NO_MERGE|NO_MRR|NO_ORDER_INDEX|NO_RANGE_OPTIMIZATION"
    "|NO_SEMIJOIN|NO_SKIP_SCAN|ORDER_INDEX|QB_NAME|SEMIJOIN|SKIP_SCAN|SUBQUERY"
)
_HINT = re.compile(rf"/\*\+(?:\s*(?:{_HINT_NAMES})\([\w$@,.` ]*\))+\s*\*/", re.IGNORECASE)
_HINTED = re.compile(r"\b(?:SELECT|INSERT|REPLACE|UPDATE|DELETE)\s*\Z", re.IGNORECASE)
_NAME_FOLLOWS = re.compile(r"(?:\.|\b(?:INTO|UPDATE|JOIN))\s*\Z", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\s*\Z", re.IGNORECASE)
_ESCAPES_LIKE, _ESCAPE_CHARACTER = re.compile(r"\bESCAPE\Z"), re.compile(r"""'(?:\\\\|[^\\?;'"])?'""")
_JSON_PATH = re.compile(r"""'\$(?:\.[A-Za-z_]\w*|\.\*|\[(?:\d{1,4}|\*)\])*'""")
_DATE_FORMAT = re.compile(r"'(?:%[A-Za-z][-/:., T]?)+'")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

_LITERAL, _NEGATIVE, _NULL, _TRUE, _FALSE = "\0\1\2\3\4"
"""The marks that stand for values while a shape is made."""
_CONSTANTS: dict[str, Value] = {_NULL: None, _TRUE: True, _FALSE: False}
_OF_WORD = {"N": _NULL, "T": _TRUE, "F": _FALSE}
_MARKS, _OTHER_MARKS = re.compile("[\0-\4]"), re.compile("[\1-\4]")
_TO_LITERAL = str.maketrans(dict.fromkeys((_NEGATIVE, *_CONSTANTS), _LITERAL))
_SPACES = re.compile(r"`[^`]*+`|\s\s+|[^\S ]")
_WORD = re.compile(r"(?<=[(,=])( ?)(NULL|TRUE|FALSE)(?=[ ,)]|\Z)", re.IGNORECASE)
_BEFORE_MINUS = ("[(,=<>]", *(
    rf"\b{word}" for word in ("BETWEEN", "AND", "OR", "SELECT", "THEN", "ELSE", "WHEN", "INTERVAL", "RETURN")
))  # fmt: skip
_MINUS = re.compile(
    rf"-(?:{'|'.join(f'(?<={before}{space}-)' for before in _BEFORE_MINUS for space in ('', ' '))}) ?{_LITERAL}",
    re.IGNORECASE,
)
"""A sign, where no difference can be. The pattern begins with the minus, so that the search is fast."""
_ROWS = re.compile(r"\bVALUES? ?(\((?:[^()]++|\([^()]*+\))*+\))((?: ?, ?\1)++)(?! ?,)", re.IGNORECASE)
_IN_LIST = re.compile(rf"\bIN ?\( ?{_LITERAL}(?: ?, ?{_LITERAL})*+ ?\)", re.IGNORECASE)


class _Shape(NamedTuple):
    """What all statements have in common that differ in their literals only."""

    text: str
    marks: str
    """A mark for each value; empty where all values are plain literals."""
    lists: tuple[tuple[int, int], ...]
    """The IN lists: the place of the first value, and the number of values."""
    rows_at: int
    """The place of the first value of an INSERT's second row."""
    per_row: int
    rows: int


def fingerprinted(text: str) -> Fingerprint | None:
    """Return a statement's fingerprint; None for a text that is not a whole statement.

    A text is not whole where a quote or a comment is open at its end, as in a text that was cut off; where comments are
    nested; and where it holds several statements.
    """
    return _cached(text) if len(text) <= LONGEST_TEXT_CACHED else _fingerprinted(text)


def _fingerprinted(text: str) -> Fingerprint | None:
    pieces = _TOKEN.split(text)  # in turn: the text between tokens, and a token
    if not _is_whole(pieces):
        return None
    names = '`"' if '"' in text and _has_ansi_quotes(pieces) else "`"
    values: list[Value] = []
    for place in range(1, len(pieces), 2):
        token = pieces[place]
        first = token[0]
        if first in "0123456789.":
            pieces[place] = _LITERAL
            if token.isdecimal() and len(token) <= MOST_DIGITS:  # nearly always
                values.append(int(token))
                continue
            values.append(_number(token))
            if token[1:2] in ("x", "b"):
                _take_prefix(pieces, place)
        elif first in names:
            pass
        elif first in "'\"":
            if not ((token[1] in "$%" or len(token) <= 4) and _is_syntax(token, pieces[place - 1])):
                values.append(_string(pieces, place))
                pieces[place] = _LITERAL
        elif not (_HINT.fullmatch(token) and _HINTED.search(pieces[place - 1])):
            pieces[place] = " "
    shape = _shape_of("".join(pieces), len(values))
    return _filled(shape, values) if shape else None


_cached = lru_cache(TEXTS_CACHED)(_fingerprinted)


def split_statements(text: str) -> list[str]:
    """Return the statements of a text that has several, separated by semicolons."""
    statements = [""]
    for place, piece in enumerate(_TOKEN.split(text)):
        first, *others = [piece] if place % 2 else piece.split(";")
        statements[-1] += first
        statements += others
    return [statement for statement in map(str.strip, statements) if statement]


def _is_whole(pieces: list[str]) -> bool:
    """Return whether no quote and no comment is open at the end, and no comment is nested."""
    if len(pieces) > 1 and not pieces[-1] and pieces[-2][0] in "'\"`/" and not _CLOSED.fullmatch(pieces[-2]):
        return False
    depth = 0
    for token in pieces[1::2]:
        if token == "*/":  # noqa: S105 (a token of SQL)
            depth -= 1
        elif token[0] == "/" and not token.endswith("*/"):
            depth += 1
        if depth not in (0, 1):
            return False
    return depth == 0


def _has_ansi_quotes(pieces: list[str]) -> bool:
    """Return whether a double-quoted token stands where only a name can: the server has ANSI_QUOTES."""
    depth = 0
    for place in range(1, len(pieces), 2):
        before, token, after = pieces[place - 1 : place + 2]
        depth += before.count("(") - before.count(")")
        if token[0] == '"' and (
            _NAME_FOLLOWS.search(before) or after.lstrip()[:1] == "." or (not depth and _FROM.search(before))
        ):
            return True
    return False


def _number(token: str) -> Value:
    if token[1] in "xb":
        return _of_digits(token[2:], 16 if token[1] == "x" else 2)
    try:
        number = Decimal(token)
    except InvalidOperation:
        return token
    return number if len(token) <= MOST_DIGITS and -MOST_DIGITS <= number.adjusted() <= MOST_DIGITS else token


def _of_digits(digits: str, base: int) -> Value:
    """Return the bytes of hexadecimal or binary digits; the digits where no bytes have them."""
    try:
        if base == 16:
            return bytes.fromhex("0" * (len(digits) % 2) + digits)
        return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")
    except ValueError:
        return digits


def _string(pieces: list[str], place: int) -> Value:
    """Return the value of a string, and take its prefix away from the piece before it."""
    token = pieces[place]
    quote, text = token[0], token[1:-1]
    if quote in text:
        text = text.replace(quote * 2, quote)
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text)
    letter = _take_prefix(pieces, place)
    return _of_digits(text, 16 if letter == "X" else 2) if letter in ("X", "B") else text


def _take_prefix(pieces: list[str], place: int) -> str:
    """Take a literal's prefix away from the piece before the literal. Returns X, B or N of that prefix, or ""."""
    before = pieces[place - 1]
    if not (before[-1:].isalnum() or before[-1:].isspace()):
        return ""
    prefix = _PREFIX.search(before)
    if prefix is None:
        return ""
    pieces[place - 1] = before[: prefix.start()]
    return (prefix[1] or prefix[2] or "").upper()


def _is_syntax(token: str, before: str) -> bool:
    """Return whether a string belongs to the statement as its columns do: a JSON path, a date format, or ESCAPE's."""
    before = before.rstrip().upper()
    if _ESCAPES_LIKE.search(before):
        return _ESCAPE_CHARACTER.fullmatch(token) is not None
    if token[1] == "$":
        is_path = before.endswith(("->", "->>")) or (before.endswith(",") and "JSON_" in before)
        return is_path and _JSON_PATH.fullmatch(token) is not None
    is_format = before.endswith(",") and ("_FORMAT" in before or "STR_TO_DATE" in before)
    return is_format and _DATE_FORMAT.fullmatch(token) is not None


def _shape_of(skeleton: str, literals: int) -> _Shape | None:
    """Return the shape of a statement whose literals are marks; None for a statement that holds such marks itself."""
    if skeleton.count(_LITERAL) != literals:
        return None
    return _shape(skeleton) if len(skeleton) <= LONGEST_SHAPE_CACHED else _shape.__wrapped__(skeleton)


@lru_cache(SHAPES_CACHED)
def _shape(skeleton: str) -> _Shape | None:
    skeleton = skeleton.strip().rstrip("; \t\r\n")
    if not skeleton or ";" in skeleton or _OTHER_MARKS.search(skeleton):
        return None
    text = _SPACES.sub(lambda found: found[0] if found[0][0] == "`" else " ", skeleton)
    text = _WORD.sub(lambda found: found[1] + _OF_WORD[found[2][0].upper()], text)
    text = _MINUS.sub(_NEGATIVE, text)
    marks = "".join(_MARKS.findall(text))
    text = text.translate(_TO_LITERAL)
    rows_at, per_row, rows = 0, 0, 1
    if (several := _ROWS.search(text)) and (per_row := several[1].count(_LITERAL)):
        rows_at = text.count(_LITERAL, 0, several.end(1))
        rows += several[2].count(_LITERAL) // per_row
        text = text[: several.start(2)] + text[several.end(2) :]
    text, lists = _with_lists(text)
    text = text.replace("%", "%%").replace(_LITERAL, "%s")
    marks = marks.strip(_LITERAL) and marks
    return _Shape(text, marks, lists, rows_at, per_row, rows)


def _with_lists(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a text in which each IN list is a single mark, and the place and the length of each list."""
    parts: list[str] = []
    lists: list[tuple[int, int]] = []
    end = place = 0
    for found in _IN_LIST.finditer(text):
        place += text.count(_LITERAL, end, found.start())
        length = found[0].count(_LITERAL)
        parts += text[end : found.start()], "IN ", _LITERAL
        lists.append((place, length))
        place, end = place + length, found.end()
    return "".join((*parts, text[end:])), tuple(lists)


def _filled(shape: _Shape, literals: list[Value]) -> Fingerprint:
    values = _marked(shape.marks, literals) if shape.marks else literals
    more_rows: tuple[tuple[Value, ...], ...] = ()
    if shape.rows > 1:
        at, width = shape.rows_at, shape.per_row
        kept = min(shape.rows - 1, MOST_ROWS_KEPT)
        more_rows = tuple(tuple(values[row : row + width]) for row in range(at, at + kept * width, width))
        values = values[:at] + values[at + (shape.rows - 1) * width :]
    joined: list[Value | tuple[Value, ...]] = []
    end = 0
    for place, length in shape.lists:
        joined += values[end:place]
        joined.append(tuple(values[place : place + min(length, MOST_LISTED)]))
        end = place + length
    return Fingerprint(shape.text, (*joined, *values[end:]), shape.rows, more_rows)


def _marked(marks: str, literals: list[Value]) -> list[Value]:
    """Return the values of all marks. literals: the values of the marks that are literals, in turn."""
    following = iter(literals)
    return [
        _CONSTANTS[mark] if mark in _CONSTANTS
        else next(following) if mark == _LITERAL
        else _negative(next(following))
        for mark in marks
    ]  # fmt: skip


def _negative(value: Value) -> Value:
    if isinstance(value, str):
        return f"-{value}"
    return -value if isinstance(value, int | Decimal) else value
