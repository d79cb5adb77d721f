"""The bounds of what a file may hold: far beyond any measurement, and near enough that no number can do harm."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from operator import ge, gt, le, lt
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, Predicate

from poolsize.errors import BadInput

LARGEST_NUMBER = 10**15
LONGEST_TEXT_SHOWN, LONGEST_NAME_SHOWN = 40, 80
LONGEST_NAME, HISTOGRAMS = 10_000, "latencies"
"""The longest text in a run, but for those of the histograms."""
MOST_SECONDS = 300_000
"""The most seconds of a recording, and of a step: more than 3 days."""
LARGEST_POOL = 100_000
"""The largest pool size that a person can mean."""
MOST_CORES, MOST_DISKS, MOST_PROCESSES = 10_000, 100_000, 1_000_000
"""Larger numbers of cores, of disks, or of an application's processes are typing errors."""


def _is_moment(text: str) -> bool:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and 1970 <= moment.year < 2200  # seconds can be added


PoolSize = Annotated[int, Ge(1), Le(LARGEST_POOL)]
Cores = Annotated[int, Ge(1), Le(MOST_CORES)]
Disks = Annotated[int, Ge(0), Le(MOST_DISKS)]
Share = Annotated[float, Gt(0), Lt(1)]
Count = Annotated[int, Ge(0), Le(10**12)]
Positive = Annotated[int, Ge(1), Le(MOST_PROCESSES)]
"""A number of a machine's cores, or of processes."""
Amount = Annotated[float, Ge(0), Le(10**12)]
"""A rate or a time."""
Transactions = Annotated[int | float, Ge(0), Le(10**9)]
"""Transactions in one second; a fraction in a replay."""
Moment = Annotated[str, Predicate(_is_moment)]
"""ISO 8601, with a time zone."""

_WAYS_OUT: Mapping[type, tuple[Callable[[Any, Any], bool], str]] = {
    Ge: (ge, "at least"), Gt: (gt, "more than"), Le: (le, "at most"), Lt: (lt, "less than")
}  # fmt: skip
"""A kind of bound -> whether a number is within it, and its words."""


@cache
def bounds_of(record: type[Any]) -> Mapping[str, tuple[Any, ...]]:
    """Return field of a dataclass -> the bounds that its type declares; those of its items, where it is a tuple."""
    hints = get_type_hints(record, include_extras=True)
    return {name: tuple(_bounds(hint)) for name, hint in hints.items()}


def _bounds(hint: Any) -> Iterator[Any]:
    for part in get_args(hint):
        if type(part) in _WAYS_OUT:
            yield part
        elif get_origin(part) is not None:
            yield from _bounds(part)


def require_within(record: Any) -> None:
    """Raise BadInput for a field of a dataclass whose number is outside of the bounds that the field declares."""
    for name, bounds in bounds_of(type(record)).items():  # type: ignore[arg-type]  # a class is hashable
        value = getattr(record, name)
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and bounds and (way_out := outside(name, number, bounds)):
                text = f"{number}" if isinstance(number, int) else f"{number:g}"
                raise BadInput(f"`{name}` {text}{unit_of(name)}: {way_out}")


def outside(name: str, number: float, bounds: tuple[Any, ...]) -> str | None:
    """Return what to give in place of a field's number that is outside of its bounds; None for a number within."""
    for bound in bounds:
        limit = getattr(bound, type(bound).__name__.lower())
        within, words = _WAYS_OUT[type(bound)]
        if not within(number, limit):
            return f"give {words} {limit:,}{unit_of(name)}"
    return None


def unit_of(name: str) -> str:
    """Return the unit in a field's name, as a person writes it: s, ms, or nothing."""
    return "s" if name.endswith("_seconds") else "ms" if name.endswith("_ms") else ""


class _FirstError:
    """Tells pydantic to refuse a tuple of too many items, and at its first wrong item: an error takes over 1 KB."""

    def __get_pydantic_core_schema__(self, kind: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(kind) | {"fail_fast": True, "max_length": MOST_SECONDS}


T = TypeVar("T")
Series = Annotated[tuple[T, ...], _FirstError()]
"""Values of a file, of which there may be very many."""


class OutOfBounds(ValueError):
    """A value that no run has; the message names its field and the value."""


def require_sane_numbers(value: Any, field: str = "") -> None:
    """Raise OutOfBounds for a value of JSON with a number that is not finite or absurdly large, or with a long name.

    field: the value's name in its line of the file, with dots between its parts.
    """
    if isinstance(value, dict):
        for name, item in value.items():
            require_sane_numbers(name, f"{field}.{name[:LONGEST_NAME_SHOWN]}")
            require_sane_numbers(item, f"{field}.{name}" if field else str(name))
    elif isinstance(value, list):
        for item in value:
            require_sane_numbers(item, field)
    elif isinstance(value, str) and len(value) > LONGEST_NAME and HISTOGRAMS not in field.split("."):
        raise OutOfBounds(f"{field[:LONGEST_NAME_SHOWN]} has {len(value):,} characters: no name is that long")
    elif isinstance(value, int | float) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        raise OutOfBounds(f"{field[:LONGEST_NAME_SHOWN]} is {shown(value)}: no measurement has that number")


def is_counter(value: float) -> bool:
    """Return whether a run may hold this value of a counter: finite, not negative, and not absurdly large."""
    return 0 <= value <= LARGEST_NUMBER


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, and without control characters."""
    return shortened(ascii(value), LONGEST_TEXT_SHOWN)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, with dots where it is cut."""
    return text if len(text) <= most else f"{text[:most]}..."


def within(named: str, content: bytes, most: int) -> bytes:
    """Return a content of at most so many bytes. Raises BadInput for a longer one. named: the file."""
    if len(content) > most:
        limit = f"{most / 2**20:.0f} MiB" if most >= 2**20 else f"{most:,} bytes"
        raise BadInput(f"{named} is longer than {limit}: it is another kind of file, or damaged")
    return content
