"""QuickRecord: a frozen dataclass that is made quickly, for what a command needs at its start."""

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True)
class QuickRecord:
    """A record whose every subclass is a frozen dataclass, made without the code that dataclasses write.

    For the records of `poolsize recommend --cores 8` and of --help: making that code takes a large part of the start.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        """Take the figures in their order, or by name. Raises TypeError for a figure that is missing or unknown."""
        defaults = {field.name: field.default for field in fields(self)}
        given = dict(zip(defaults, values, strict=False)) | named
        figures = defaults | given
        if (
            len(values) + len(named) != len(given)
            or given.keys() - defaults.keys()
            or any(each is MISSING for each in figures.values())
        ):
            raise TypeError(f"{type(self).__name__} takes {', '.join(defaults)}, not {', '.join(given)}")
        vars(self).update(figures)

    def __setattr__(self, name: str, _: Any) -> NoReturn:
        raise FrozenInstanceError(name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
