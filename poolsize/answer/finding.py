"""Finding: a reason, a warning or a refusal, as a record of its figures; `present.text.sentences` words it.

The module in which a finding arises defines its record: a subclass of Reason, Caution or Refusal. Shares are fractions.
A field `way_out` holds the action that improves the answer, or None.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, dataclass_transform


class Severity(StrEnum):
    """Kinds of findings. REASON explains an answer, WARNING limits its use, REFUSAL explains why there is no answer."""

    REASON = "reason"
    WARNING = "warning"
    REFUSAL = "refusal"


@dataclass_transform(frozen_default=True)
class Figures:
    """Figures by names with units. Every subclass is a frozen dataclass.

    code: of the record in JSON; empty for figures that several records share, and for a kind of records.
    """

    code: ClassVar[str] = ""

    def __init_subclass__(cls, code: str = "") -> None:
        """Make the class a frozen dataclass."""
        cls.code = code or cls.code
        dataclass(frozen=True)(cls)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return names and values as in JSON: with shared figures, without the way out, and without default values."""
        for name, value in vars(self).items():
            if isinstance(value, Figures) and not value.code:
                yield from value.items()
            elif name != "way_out" and value is not getattr(type(self), name, ...):
                yield name, value


class WayOut(Figures):
    """An action that improves an answer; `present.text.sentences.ways_out` adds the options for it."""


class Finding(Figures):
    """A reason, a warning or a refusal."""

    severity: ClassVar[Severity]


class Reason(Finding):
    """A finding that explains the answer."""

    severity = Severity.REASON


class Caution(Finding):
    """A finding that limits the answer's use: a warning."""

    severity = Severity.WARNING


class Refusal(Finding):
    """A finding that explains why there is no answer."""

    severity = Severity.REFUSAL
