"""The bounds of what a file may hold: far beyond any measurement, and near enough that no number can do harm."""

from datetime import datetime
from typing import Annotated, Any

from annotated_types import Ge, Le, Predicate

from poolsize.errors import BadInput

LARGEST_NUMBER = 10**15
LONGEST_TEXT_SHOWN, LONGEST_NAME_SHOWN = 40, 80

LARGEST_POOL = 100_000
"""The largest pool size that a person can mean."""


def _is_moment(text: str) -> bool:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and 2000 <= moment.year < 2200  # seconds can be added


PoolSize = Annotated[int, Ge(1), Le(LARGEST_POOL)]
Count = Annotated[int, Ge(0), Le(10**12)]
Positive = Annotated[int, Ge(1), Le(10**6)]
"""A number of cores, disks or processes."""
Amount = Annotated[float, Ge(0), Le(10**12)]
"""A rate or a time."""
Transactions = Annotated[int | float, Ge(0), Le(10**9)]
"""Transactions in one second; a fraction in a replay."""
Moment = Annotated[str, Predicate(_is_moment)]
"""ISO 8601, with a time zone."""


class OutOfBounds(ValueError):
    """A value that no run has; the message names its field and the value."""


def require_sane_numbers(value: Any, field: str = "") -> None:
    """Raise OutOfBounds for a value of JSON with a number that is not finite, or absurdly large.

    field: the value's name in its line of the file, with dots between its parts.
    """
    if isinstance(value, dict):
        for name, item in value.items():
            require_sane_numbers(item, f"{field}.{name}" if field else str(name))
    elif isinstance(value, list):
        for item in value:
            require_sane_numbers(item, field)
    elif isinstance(value, int | float) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        raise OutOfBounds(f"{field[:LONGEST_NAME_SHOWN]} is {shown(value)}: no measured number is that large")


def is_counter(value: float) -> bool:
    """Return whether a run may hold this value of a counter: finite, not negative, and not absurdly large."""
    return 0 <= value <= LARGEST_NUMBER


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, and without control characters."""
    text = ascii(value)
    return text if len(text) <= LONGEST_TEXT_SHOWN else f"{text[:LONGEST_TEXT_SHOWN]}..."


def within(named: str, content: bytes, most: int) -> bytes:
    """Return a content of at most so many bytes. Raises BadInput for a longer one. named: the file."""
    if len(content) > most:
        raise BadInput(f"{named} is longer than {most // 2**20} MiB: it is no file of poolsize's, or damaged")
    return content
