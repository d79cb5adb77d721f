"""The pools and settings that a file has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from poolsize.pool_files.library import Library, Value

PLACEHOLDER = re.compile(r"\$\{[^:{}]+(?::(?P<default>.*))?\}")
"""Of Spring: ${NAME:default}; the default may have further colons."""
DURATION = re.compile(r"(?P<number>\d+)(?P<unit>ms|s|m|h|d)")
"""Of HikariCP's own properties."""
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class FoundSetting:
    """A setting in a file.

    name: as the file spells it. text: its value as the file writes it. value: the value, or the default that holds
    where the environment gives no other; None where the file alone does not tell it. line: in the file, from 1.
    """

    name: str
    text: str
    value: Value
    line: int


@dataclass(frozen=True)
class FoundPool:
    """A pool that a file configures. place: where in the file, for people. settings: by the library's own names."""

    library: Library
    place: str
    settings: Mapping[str, FoundSetting]

    def value(self, setting: str) -> Value:
        """Return a setting's value: the file's, or the library's default; None where it is not known."""
        if setting in self.settings:
            return self.settings[setting].value
        return self.library.defaults[setting]

    def number(self, setting: str) -> float | None:
        """Return a setting's value as a number; None where it is none, or not known."""
        value = self.value(setting)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def has(self, setting: str) -> bool:
        """Return whether the file has the setting."""
        return setting in self.settings


def value_of(text: str) -> Value:
    """Return the value of a text in a properties or YAML file; of a placeholder, its default or None."""
    text = text.strip()
    if match := PLACEHOLDER.fullmatch(text):
        default = match["default"]
        return value_of(default) if default else None
    if "${" in text:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            continue
    if match := DURATION.fullmatch(text):
        return int(match["number"]) * MILLISECONDS[match["unit"]]
    return text
