"""Option: the declaration of one option of a sweep."""

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

from poolsize.quick_record import QuickRecord
from poolsize.sweep import readers
from poolsize.sweep.readers import read


class Group(Enum):
    """The groups of a sweep's options, in the order of the help; a value is the group's heading."""

    COMMON = "What everybody needs"
    MEASURING = "How it measures"
    SECOND_SERVER = "A second server"
    EXPERT = "Expert"


class Option(QuickRecord):
    """The declaration of an option.

    flag: name on the command line, e.g. --pool-sizes. default: in words, or "" for no default.
    text: help; its first sentence alone is in the help of `poolsize sweep --help`.
    group: heading under which the option is listed; `poolsize sweep --help` leaves out the options for experts.
    reader: text -> value. writer: value -> text. switch: typed without a value.
    settled: a resumed run fixes the value, so the option can't be typed again.
    replayed: a replay of a recording understands the option. of_pool: the option is of poolsize's own pool or of its
    transactions, so the sweep of an application does not support it.
    repeatable: typed once for each item of a mapping, which reader and writer handle as (name, value).
    variable: environment variable that holds the value; launch uses it in place of the command line.
    in_locust: whether Locust's command line has the option; locusts_own: Locust's name for an option of its own.
    metavar: placeholder for the value in the help of `poolsize sweep`, or None for click's.
    """

    flag: str
    text: str
    default: str
    reader: Callable[[str], Any]
    writer: Callable[[Any], str] = str
    group: Group = field(kw_only=True)
    settled: bool = True
    replayed: bool = False
    of_pool: bool = False
    switch: bool = False
    repeatable: bool = False
    variable: str | None = None
    in_locust: bool = True
    locusts_own: str | None = None
    metavar: str | None = None

    @property
    def kind(self) -> type[int] | type[str] | type[bool]:
        """The type that click and argparse convert the text to."""
        if self.switch:
            return bool
        return int if self.reader is readers.whole_number else str

    @property
    def usage(self) -> str:
        """Help text followed by the default: "Counted time of each step.  [default: 15s]"."""
        return f"{self.text}  [default: {self.default}]" if self.default else self.text

    def read(self, name: str, texts: Sequence[str]) -> Any:
        """Return the value of an option's texts: of all if repeatable, else of the last.

        name: the parameter's, for the error. Raises BadInput for a text that the reader refuses, and for a number
        outside of the bounds.
        """
        from poolsize.record import require_valid  # pydantic stays out of --help
        from poolsize.sweep.planning import TYPES

        values = [read(name, text, self.reader) for text in texts]
        for text, value in zip(texts, values, strict=True):
            if isinstance(value, int | float):
                require_valid(name, text, value, TYPES.get(name, Any))
        return dict(values) if self.repeatable else values[-1]

    def write(self, value: Any) -> tuple[str, ...]:
        """Return the texts that `read` turns into the value: one, or for a repeatable option one for each item."""
        return tuple(map(self.writer, value.items())) if self.repeatable else (self.writer(value),)

    def words(self, value: Any) -> list[str]:
        """Return the words of a command line that set the option to the value."""
        texts = self.write(value)
        if self.switch:
            return [self.flag]
        if self.repeatable or texts[0].startswith("-"):
            return [f"{self.flag}={text}" for text in texts]
        return [self.flag, *texts]
