"""A pool that a file configures, and its settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from poolsize.pool_config.library import Library, Value

PLACEHOLDER = re.compile(r"\$\{[^:{}]+(?::(?P<default>.*))?\}")
"""Of Spring: ${NAME:default}; the default may have further colons."""
NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,6})?")
"""Longer numbers are not settings of a pool."""
DURATION = re.compile(r"(?P<number>\d{1,12})(?P<unit>ms|s|m|h|d)")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class FileSetting:
    """A setting in a file.

    name: as the file spells it. text: its value as the file writes it. value: the value, or the default that holds
    where the environment gives no other; None where the file alone does not contain it. line: in the file, from 1.
    """

    name: str
    text: str
    value: Value
    line: int


@dataclass(frozen=True)
class FilePool:
    """A pool that a file configures.

    place: where in the file, for people. settings: by the library's own names. unread: settings that the library does
    not read, because it has another name for them or none. complete: whether the settings that the file does not have
    are at their defaults; else they are unknown.
    """

    library: Library
    place: str
    settings: Mapping[str, FileSetting]
    unread: tuple[FileSetting, ...] = ()
    complete: bool = True

    def value(self, setting: str) -> Value:
        """Return the value of a setting of the library: the file's, or the default; None where it is not known."""
        if setting in self.settings:
            return self.settings[setting].value
        return self.library.defaults[setting] if self.complete else None

    def number(self, setting: str) -> float | None:
        """Return a setting's value as a number; None where it is none, or not known."""
        value = self.value(setting)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def has(self, setting: str) -> bool:
        """Return whether the file has the setting."""
        return setting in self.settings


def value_of(text: str, *, durations: bool = False) -> Value:
    """Return the value of a text in a file of keys and values; of a placeholder, its default or None.

    durations: whether the library reads 30s and 5m; they become milliseconds.
    """
    text = text.strip()
    if match := PLACEHOLDER.fullmatch(text):
        default = match["default"]
        return value_of(default, durations=durations) if default else None
    if "${" in text:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if match := NUMBER.fullmatch(text):
        return float(text) if match[1] else int(text)
    if durations and (match := DURATION.fullmatch(text)):
        return int(match["number"]) * MILLISECONDS[match["unit"]]
    return text
