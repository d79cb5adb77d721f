"""record: a frozen dataclass that is validated once, when it is made: by a measurement, an option or a reader of files.

The bounds are far beyond any measurement, and near enough that no number can do harm.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from poolsize.bounds import (
    LARGEST_NUMBER,
    LARGEST_POOL,
    LONGEST_NAME,
    LONGEST_NAME_SHOWN,
    MOST_CORES,
    MOST_DISKS,
    MOST_PROCESSES,
    MOST_SECONDS,
    shortened,
    shown,
)
from poolsize.errors import BadInput

R = TypeVar("R")
T = TypeVar("T")


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or not 1970 <= moment.year < 2200:  # seconds can be added
        raise ValueError("give a moment from 1970 to 2199 with its time zone")
    return text


PoolSize = Annotated[int, Field(ge=1, le=LARGEST_POOL)]
Cores = Annotated[int, Field(ge=1, le=MOST_CORES)]
Disks = Annotated[int, Field(ge=0, le=MOST_DISKS)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=0, le=10**12)]
Positive = Annotated[int, Field(ge=1, le=MOST_PROCESSES)]
"""A number of a machine's cores, or of processes."""
Amount = Annotated[float, Field(ge=0, le=10**12)]
"""A rate or a time."""
Transactions = Annotated[int | float, Field(ge=0, le=10**9)]
"""Transactions in one second; a fraction in a replay."""
Whole = Annotated[int, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Figure = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
"""Any text but a histogram."""
Moment = Annotated[str, AfterValidator(_moment)]
"""ISO 8601, with a time zone."""
Series = Annotated[tuple[T, ...], Field(max_length=MOST_SECONDS, fail_fast=True)]
"""Values of which there may be very many; validation ends at the first error, which takes over 1 KB."""

_LIMITS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"), "less_than": ("lt", "less than"),
}  # fmt: skip
"""Kind of pydantic's error -> the bound in its context, and its words."""


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def record(cls: type[R]) -> type[R]:
    """Return a class as a frozen dataclass whose fields are validated when a record is made.

    The constructor raises BadInput, which names the first wrong field, its value and the bound; a TypeAdapter raises
    ValidationError.
    """
    made: Any = dataclass(frozen=True)(cls)
    validated = made.__init__

    @wraps(validated)
    def init(self: R, *values: Any, **named: Any) -> None:
        try:
            validated(self, *values, **named)
        except ValidationError as error:
            raise _refusal(error, made) from None

    made.__init__ = init
    return made  # type: ignore[no-any-return]  # pydantic's type is wider than the class


def require_valid(name: str, text: str, value: Any, hint: Any) -> None:
    """Raise BadInput for a value that a field of this type can't have. name: the field's. text: of the value."""
    try:
        TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        raise BadInput(f"`{name}` {text}: {_way_out(name, _first(error))}") from None


def wrong_field(error: ValidationError) -> str:
    """Return the first wrong field of a record in a file, its value, and what to give in its place."""
    first = _first(error)
    if first["type"] == "json_invalid":
        return str(first["msg"])
    where = shortened(".".join(map(str, first["loc"])) or "the record", LONGEST_NAME_SHOWN)
    return f"{where} is {shown(first['input'])}: {_way_out(where, first)}"


def _refusal(error: ValidationError, kind: Any) -> BadInput:
    """Return the refusal of the values of a constructor, which have names, or places among the fields of its class."""
    first = _first(error)
    place, value = first["loc"][0], first["input"]
    name = fields(kind)[place].name if isinstance(place, int) else place
    text = f"{value:g}" if isinstance(value, float) else shown(value)
    return BadInput(f"`{name}` {text}{_unit(name)}: {_way_out(name, first)}")


def _first(error: ValidationError) -> Mapping[str, Any]:
    return error.errors(include_url=False)[0]


def _way_out(name: str, first: Mapping[str, Any]) -> str:
    """Return what to give in place of a wrong value. first: pydantic's error."""
    if first["type"] not in _LIMITS:
        return str(first["msg"])
    bound, words = _LIMITS[first["type"]]
    return f"give {words} {first['ctx'][bound]:,.16g}{_unit(name)}"


def _unit(name: str) -> str:
    """Return the unit in a field's name, as a person writes it: s, ms, or nothing."""
    return "s" if name.endswith("_seconds") else "ms" if name.endswith("_ms") else ""
