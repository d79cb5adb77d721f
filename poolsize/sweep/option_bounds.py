"""The bounds of a sweep's options: those of the field of SweepPlan or Search that an option sets, and of others."""

from typing import Annotated, Any, get_type_hints

from pydantic import Field

from poolsize.record import Cores, Disks, require_valid
from poolsize.runs.plan import Search, SweepPlan

TYPES: dict[str, Any] = {
    "cores": Cores,
    "disks": Disks,
    "wait_for_server_seconds": Annotated[int, Field(ge=0, le=86_400)],
    **{
        name: hint
        for record in (SweepPlan, Search)
        for name, hint in get_type_hints(record, include_extras=True).items()
    },
}
"""Name of an option -> its type, which declares the bounds; other options have none."""


def require_bounds(name: str, text: str, value: float) -> None:
    """Raise BadInput for a number outside of its option's bounds. name: the option's. text: of the value."""
    require_valid(name, text, value, TYPES.get(name, Any))
