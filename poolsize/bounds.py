"""The bounds of what a file may hold: far beyond any measurement, and near enough that no number can do harm."""

from typing import Any

from poolsize.errors import BadInput

LARGEST_NUMBER = 10**15
LONGEST_TEXT_SHOWN, LONGEST_NAME_SHOWN = 40, 80
LONGEST_NAME = 10_000
"""The longest text in a run, but for those of the histograms."""
MOST_SECONDS = 300_000
"""The most seconds of a recording, and of a step: more than 3 days."""
LARGEST_POOL = 100_000
"""The largest pool size that a person can mean."""
MOST_CORES, MOST_DISKS, MOST_PROCESSES = 10_000, 100_000, 1_000_000
"""Larger numbers of cores, of disks, or of an application's processes are typing errors."""


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
