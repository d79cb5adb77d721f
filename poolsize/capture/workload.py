"""CapturedWorkload: the kinds of transactions that a server ran, and how their parameters are drawn.

None of these records holds a literal of the log, unless the user asked to keep values: the ends of ranges are rounded,
and a frequent value has its share only. A hash would not hide the value: of a list of candidates, such as words or
phone numbers, a hash shows the right value.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.record import Amount, Count, Moment, Name, record, wrong_field

FORMAT: Final = 1
"""The version of the only format that is read."""
MOST_BYTES = 2**26
"""The longest file of a description."""
MOST_KINDS, MOST_STATEMENTS, MOST_PARAMETERS, MOST_HEAVY = 400, 500, 500, 64
LONGEST_STATEMENT = 100_000
"""Characters of a statement, and of all statements of a kind together."""

Fraction = Annotated[float, Field(ge=0, le=1)]
Integer = Annotated[int, Field(ge=-(2**63), le=2**64)]
Ends = Annotated[tuple[Integer, ...], Field(min_length=2, max_length=100)]
Shares = Annotated[tuple[Fraction, ...], Field(max_length=100)]
Counts = tuple[Annotated[int, Field(ge=1, le=10**9)], Annotated[int, Field(ge=1, le=10**9)]]
Length = Annotated[int, Field(ge=0, le=2**32)]
Index = Annotated[int, Field(ge=0, lt=MOST_PARAMETERS)]
Sql = Annotated[str, Field(max_length=LONGEST_STATEMENT)]
SourceKind = Literal["slow log", "general log", "statement history"]
Alphabet = Literal["digits", "hex", "letters", "alphanumeric", "uuid", "email", "ascii", "unicode", "bytes"]
"""The characters of a text, from the narrowest class that holds all of them; "uuid" and "email" are forms."""


@dataclass(frozen=True, kw_only=True)
class OfColumn:
    """The column with which a statement compares a parameter, or that it sets; "" where the text does not show it.

    table is a table's name as the statement writes it, with the schema where the statement names it.
    """

    table: Name = ""
    column: Name = ""


@record
class Constant(OfColumn):
    """The same literal in every statement. value: as SQL, such as 10, NULL or 'x'."""

    value: Sql
    kind: Literal["constant"] = "constant"


@record
class Range(OfColumn):
    """Numbers between two neighbours among `ends`; between the same neighbours, all numbers are equally likely.

    ends: whole numbers that never descend, (low, high) for a uniform distribution. shares: of the draws, for each pair
    of neighbours; empty where all pairs are equally likely. decimals: digits after the point; a
    draw is a whole number over 10**decimals, so that (100, 250) with 2 decimals are the numbers from 1.00 to 2.50.
    distinct: the estimated number of different values; None where most numbers of the range occur.
    """

    ends: Ends
    decimals: Annotated[int, Field(ge=0, le=30)] = 0
    distinct: Count | None = None
    is_quoted: bool = False
    shares: Shares = ()
    kind: Literal["range"] = "range"

    def __post_init__(self) -> None:
        """Raise BadInput for shares that are not those of the pairs."""
        if self.shares:
            _require_shares(self.shares, len(self.ends) - 1)


@record
class Zipf(OfColumn):
    """Whole numbers from low to high, the number of rank r with a probability in proportion to r**-exponent.

    first: the number that has rank 1: low, high (as for the newest rows), or "scattered", where the ranks are spread
    over the range by a fixed permutation. distinct: as in Range; the number of ranks where it is not None.
    """

    low: Integer
    high: Integer
    exponent: Annotated[float, Field(gt=0, le=5)]
    first: Literal["low", "high", "scattered"]
    distinct: Count | None = None
    is_quoted: bool = False
    kind: Literal["zipf"] = "zipf"


@record
class Tiers(OfColumn):
    """Whole numbers from low to high in groups, which are scattered over the range.

    shares: of the draws, for each group, by descending frequency. sizes: how many numbers each group has; between the
    numbers of a group, all are equally likely.
    """

    low: Integer
    high: Integer
    shares: Shares
    sizes: Annotated[tuple[Count, ...], Field(max_length=100)]
    is_quoted: bool = False
    kind: Literal["tiers"] = "tiers"

    def __post_init__(self) -> None:
        """Raise BadInput for shares that are not those of the groups."""
        _require_shares(self.shares, len(self.sizes))


def _require_shares(shares: Shares, groups: int) -> None:
    if len(shares) != groups or not any(shares):
        raise BadInput(f"`shares` {list(shares)}: give a share of each of the {groups} groups of numbers, not all 0")


@record
class Text(OfColumn):
    """Texts, of shortest to longest characters (bytes for the alphabet "bytes").

    distinct: the estimated number of different texts, 0 where the source shows no value. exponent: of a Zipf
    distribution over these; 0 where all are equally likely. begins, ends: the wildcards of a LIKE pattern. Where the
    column is known, its values on the copy can be drawn in place of random characters, which would find no row.
    """

    shortest: Length
    longest: Length
    alphabet: Alphabet
    distinct: Count
    exponent: Annotated[float, Field(ge=0, le=5)] = 0.0
    begins: Literal["", "%"] = ""
    ends: Literal["", "%"] = ""
    kind: Literal["text"] = "text"


@record
class Time(OfColumn):
    """Moments before the statement. ages: seconds, as the ends of a Range; negative in the future.

    form: of the literal. decimals: of the seconds. is_midnight: the time of day is always 00:00:00.
    """

    ages: Ends
    form: Literal["date", "datetime", "iso", "unix", "unix_ms"]
    decimals: Annotated[int, Field(ge=0, le=6)] = 0
    is_midnight: bool = False
    kind: Literal["time"] = "time"


@record
class Sequence(OfColumn):
    """A number that grows by 1 from statement to statement: the next value above all values on the copy.

    above: the rounded end of what was seen.
    """

    above: Integer
    is_quoted: bool = False
    kind: Literal["sequence"] = "sequence"


@record
class Reference(OfColumn):
    """A value of the same transaction.

    of: "parameter" of an earlier statement, or of this statement and further left; "inserted", the id that an earlier
    INSERT generated. statement: index among the transaction's statements. parameter: index among its parameters.
    low, high: what is added to the value, a uniform whole number; seconds where the value is a time.
    """

    of: Literal["parameter", "inserted"]
    statement: Index
    parameter: Index = 0
    low: Integer = 0
    high: Integer = 0
    kind: Literal["reference"] = "reference"


@record
class HeavyValue:
    """A frequent value. share: of all draws. value: as SQL, None for a value that must not be shown."""

    share: Fraction
    value: Sql | None = None


Tail: TypeAlias = Annotated[Range | Zipf | Tiers | Text | Time, Field(discriminator="kind")]


@record
class Heavy(OfColumn):
    """A few frequent values, by descending share, and a tail that has the other draws.

    A value that is not shown is replaced by a frequent value of the column on the copy, by rank, or by a draw.
    """

    values: Annotated[tuple[HeavyValue, ...], Field(min_length=1, max_length=MOST_HEAVY)]
    tail: Tail
    kind: Literal["heavy"] = "heavy"


Drawn: TypeAlias = Annotated[
    Constant | Range | Zipf | Tiers | Heavy | Text | Time | Sequence | Reference, Field(discriminator="kind")
]


@record
class Several(OfColumn):
    """A list of values of the same distribution, as in IN (1, 2, 3).

    low, high, mean: of its length. within: the largest distance between two numbers of a list, where the numbers of a
    list are near each other; else None.
    """

    item: Drawn
    low: Length
    high: Length
    mean: Amount
    within: Count | None = None
    kind: Literal["several"] = "several"


Parameter: TypeAlias = Annotated[Drawn | Several, Field(discriminator="kind")]


@record
class CapturedStatement:
    """A statement of a transaction.

    text: SQL with %s in place of its parameters, and %% in place of a percent sign. repeats: the lowest and the highest
    number of times that it runs in a row; repeats_mean: their mean. rows, rows_mean: likewise, the rows of an INSERT,
    whose text has the first row. rows_sent_mean: rows of a result, None where they are not known. reads: whether it
    changes nothing and locks nothing.
    """

    text: Sql
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MOST_PARAMETERS)]
    repeats: Counts
    repeats_mean: Amount
    rows_sent_mean: Amount | None
    reads: bool
    rows: Counts = (1, 1)
    rows_mean: Amount = 1.0


@record
class TransactionKind:
    """Transactions with the same statements in the same order.

    weight: how many there were. mean_ms: time in the server of all statements of a transaction. held_ms: from its first
    statement's start to its last statement's end. Both are None where the times are not known. is_explicit: BEGIN and
    COMMIT (or ROLLBACK) surround the statements, which does not count them.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
    weight: Count
    statements: Annotated[tuple[CapturedStatement, ...], Field(min_length=1, max_length=MOST_STATEMENTS)]
    mean_ms: Amount | None
    held_ms: Amount | None
    is_explicit: bool
    ends: Literal["commit", "rollback"]
    writes: bool


@record
class CaptureSource:
    """What was read. since, until: the first and the last statement, None where the log has no times."""

    kind: SourceKind
    server_version: Name
    since: Moment | None
    until: Moment | None
    statements: Count


@record
class CapturedWorkload:
    """The transactions that a server ran.

    kinds: by descending share of time. other_share_of_statements, other_share_of_time: of what is in none of the kinds,
    but for the statements that drivers send; the latter is None where the source has no times. arrival_rate:
    transactions of all kinds a second. think_ms: mean time between two transactions of a session. notes: what the
    source does not show, as sentences.
    """

    source: CaptureSource
    kinds: Annotated[tuple[TransactionKind, ...], Field(max_length=MOST_KINDS)]
    other_share_of_statements: Fraction
    other_share_of_time: Fraction | None
    arrival_rate: Amount | None
    think_ms: Amount | None
    notes: tuple[Name, ...] = ()


@record
class _File:
    """The content of a description's file."""

    workload_format: Literal[1]
    workload: CapturedWorkload


_FILE = TypeAdapter(_File)


def workload_json(workload: CapturedWorkload) -> bytes:
    """Return the description of a workload as the content of its file."""
    return _FILE.dump_json(_File(FORMAT, workload), indent=1) + b"\n"


def load_workload(path: Path) -> CapturedWorkload:
    """Return the workload of a description's file. Raises BadInput for any other file."""
    text = content(path, MOST_BYTES)
    try:
        return _FILE.validate_json(text).workload
    except (ValidationError, BadInput) as error:
        reason = wrong_field(error) if isinstance(error, ValidationError) else error
        beside = path.with_suffix(".json")
        way_out = f"; give {beside}, the description beside it" if beside != path and beside.exists() else ""
        raise BadInput(f"{path} is no description of a captured workload: {reason}{way_out}") from None
