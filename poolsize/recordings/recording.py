"""A recording: throughput and a percentile of each second at several pool sizes, as a CSV file, plain or gzipped."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from poolsize.bounds import LARGEST_NUMBER, LARGEST_POOL, MOST_SECONDS, shown, within
from poolsize.errors import BadInput
from poolsize.files import content

COLUMNS = ("pool_size", "second", "throughput")
QUANTILE = re.compile(r"(p\d{1,2}(?:_\d{1,4})?)_ms$")
"""The name of the fourth column, such as p95_ms."""
USERS, INTERVAL = "users", "interval_seconds"
FEWEST_VALUES = 4
"""Fewer figures of a pool size do not show how much its throughput varies."""
MOST_BYTES = 2**24
"""The largest recording, inflated: MOST_SECONDS with the longest numbers."""
MOST_LINES, MOST_CHARACTERS = 1_000_000, 100_000
"""Of a recording and of a log, and of a line of it."""
GZIP = b"\x1f\x8b"
"""The first bytes of a gzipped file."""
FASTEST, SLOWEST_MS = 1e9, 1e9
"""No throughput per second, and no percentile in ms, is larger."""


@dataclass(frozen=True)
class Seconds:
    """The seconds of one pool size, in the order of measurement.

    throughput: transactions in each second. latency_ms: the recording's percentile of their total time, in ms; 0 where
    unknown. Both have one value a second, or one in each interval of the recording.
    """

    throughput: tuple[float, ...]
    latency_ms: tuple[float, ...]

    def mean_of_few(self) -> "Seconds":
        """Return the seconds, or their mean where they are too few to show their noise."""
        if len(self.throughput) >= FEWEST_VALUES:
            return self
        return Seconds((fmean(self.throughput),), (fmean(self.latency_ms),))


@dataclass(frozen=True)
class Recording:
    """A throughput curve that was measured elsewhere.

    by_size: pool size, ascending -> its seconds, not empty. users: where their number was the same at every size;
    None where it is unknown, or each connection had a user of its own. quantile: name of the percentile, such as p95.
    interval_seconds: over which each figure is a mean, at most.
    """

    by_size: Mapping[int, Seconds]
    users: int | None = None
    quantile: str = "p95"
    interval_seconds: float = 1.0

    @property
    def means_only(self) -> bool:
        """Whether a size has so few figures that the noise is unknown."""
        return any(len(seconds.throughput) < FEWEST_VALUES for seconds in self.by_size.values())

    @property
    def sizes(self) -> tuple[int, ...]:
        """The recorded pool sizes, ascending."""
        return tuple(self.by_size)


def read_recording(path: Path) -> Recording:
    """Return the recording in a CSV file, plain or gzipped.

    Columns: pool_size, second, throughput (per second) and a percentile such as p95_ms (ms, 0 where unknown), in any
    order. Columns users and interval_seconds may follow, each with the same number in every line. Raises BadInput where
    the file can't be read, a line is invalid, or no second has a throughput.
    """
    rows: dict[int, list[tuple[float, ...]]] = {}
    lines = csv.reader(lines_of(path, _inflated(path)))
    header = next(_rows(path, lines), [])
    quantile = next((match[1] for column in header if (match := QUANTILE.match(column))), "p95")
    columns = (*COLUMNS, f"{quantile}_ms")
    missing = [column for column in columns if column not in header]
    if missing:
        raise BadInput(
            f"{path}: the first line has no {', '.join(missing)}; a recording has the columns {','.join(columns)} "
            "(poolsize import makes a recording from the files of load tools)"
        )
    size_column, *value_columns = (header.index(column) for column in columns)
    same_columns = [column for column in (USERS, INTERVAL) if column in header]
    same: dict[str, set[float]] = {column: set() for column in same_columns}
    for number, line in enumerate(_rows(path, lines), 1):
        if number > MOST_SECONDS:
            raise BadInput(f"{path} has more than {MOST_SECONDS:,} seconds: shorten it")
        try:
            of_line = {column: float(line[header.index(column)]) for column in same_columns}
            size, values = int(line[size_column]), tuple(float(line[column]) for column in value_columns)
            valid = all(0 < number <= LARGEST_NUMBER for number in of_line.values()) and can_be(size, *values[1:])
            valid = valid and abs(values[0]) <= LARGEST_NUMBER and of_line.get(USERS, 1.0).is_integer()
            for column, number_of_line in of_line.items():
                same[column].add(number_of_line)
        except (ValueError, IndexError):
            valid = False
        if not valid:
            raise BadInput(
                f"{path}: line {lines.line_num}, {shown(','.join(line))}: give a pool size from 1, and numbers from 0"
            )
        rows.setdefault(size, []).append(values)
    if not any(throughput for group in rows.values() for _, throughput, _ in group):
        raise BadInput(f"{path}: no second with a throughput above 0, so there is no curve")
    for column, numbers in same.items():
        if len(numbers) > 1:
            raise BadInput(
                f"{path}: {min(numbers):.12g} and {max(numbers):.12g} {column}: a curve has the same number in every "
                "line"
            )
    users = next(map(int, same.get(USERS, ())), None)
    interval_seconds = next(iter(same.get(INTERVAL, ())), 1.0)
    return Recording({size: _seconds(rows[size]) for size in sorted(rows)}, users, quantile, interval_seconds)


def can_be(pool_size: int, throughput: float, latency_ms: float) -> bool:
    """Return whether a second can have been measured: with a pool size from 1, and numbers from 0 that make sense."""
    return 1 <= pool_size <= LARGEST_POOL and 0 <= throughput <= FASTEST and 0 <= latency_ms <= SLOWEST_MS


def write_recording(recording: Recording, path: Path) -> None:
    """Write a recording as a CSV file, gzipped if the name ends in .gz.

    Raises BadInput where the file can't be written.
    """
    try:
        with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            same: dict[str, float | str] = {} if recording.users is None else {USERS: recording.users}
            if recording.interval_seconds != 1:
                same[INTERVAL] = f"{recording.interval_seconds:.9g}"
            writer.writerow([*COLUMNS, f"{recording.quantile}_ms", *same])
            for size, seconds in recording.by_size.items():
                for number, values in enumerate(zip(seconds.throughput, seconds.latency_ms, strict=True), start=1):
                    second = f"{number * recording.interval_seconds:.9g}"
                    writer.writerow([size, second, *(f"{value:.9g}" for value in values), *same.values()])
    except OSError as error:
        raise BadInput(f"{path} can't be written ({error.strerror}): name another `output`") from None


def _rows(path: Path, lines: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from lines
    except csv.Error as error:
        raise BadInput(f"{path} is not a CSV file: {error}") from None


def lines_of(path: Path, text: bytes) -> Iterator[str]:
    """Yield the lines of a file. Raises BadInput for many or long lines, and for a text that is not in UTF-8."""
    lines = io.TextIOWrapper(io.BytesIO(text), "utf-8-sig", newline="")
    try:
        for number, line in enumerate(iter(partial(lines.readline, MOST_CHARACTERS + 1), "")):
            if number == MOST_LINES or len(line) > MOST_CHARACTERS:
                raise BadInput(
                    f"{path} has more than {MOST_LINES:,} lines, or a line of more than {MOST_CHARACTERS:,} characters"
                )
            yield line
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not a text in UTF-8") from None


def _inflated(path: Path) -> bytes:
    text = content(path, MOST_BYTES)
    try:
        if text.startswith(GZIP):
            with gzip.open(io.BytesIO(text)) as file:
                text = within(str(path), file.read(MOST_BYTES + 1), MOST_BYTES)
        return text
    except (OSError, EOFError, zlib.error):
        raise BadInput(f"{path} is not a complete gzip file") from None


def _seconds(rows: Iterable[tuple[float, ...]]) -> Seconds:
    _, throughputs, latency_ms = zip(*sorted(rows), strict=True)
    return Seconds(throughputs, latency_ms)
