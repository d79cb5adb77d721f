"""A recording: throughput and a percentile of each second at several pool sizes, as a CSV file, plain or gzipped."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
Row = tuple[float, float, float]
"""The second, the throughput per second and the percentile in ms of a line."""


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

    def has(self, quantile: str) -> bool:
        """Return whether a percentile, such as p95, is known at some size."""
        return quantile == self.quantile and any(any(seconds.latency_ms) for seconds in self.by_size.values())

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
    table = table_of(path, _inflated(path))
    header = next(table, [])
    quantile = next((match[1] for column in header if (match := QUANTILE.match(column))), "p95")
    places = _places(path, header, (*COLUMNS, f"{quantile}_ms"))
    places_of_all = {column: header.index(column) for column in (USERS, INTERVAL) if column in header}
    rows: dict[int, list[Row]] = {}
    of_all: dict[str, set[float]] = {column: set() for column in places_of_all}
    for number, line in enumerate(table, 2):
        if number > MOST_SECONDS + 1:
            raise BadInput(f"{path} has more than {MOST_SECONDS:,} seconds: shorten it")
        try:
            size, row = _row(line, places)
            for column, figure in _figures_of_all(line, places_of_all):
                of_all[column].add(figure)
        except (ValueError, IndexError):
            raise BadInput(
                f"{path}: line {number}, {shown(','.join(line))}: give a pool size from 1, and numbers from 0"
            ) from None
        rows.setdefault(size, []).append(row)
    if not any(throughput for group in rows.values() for _, throughput, _ in group):
        raise BadInput(f"{path}: no second with a throughput above 0, so there is no curve")
    same = {column: _same(path, column, figures) for column, figures in of_all.items()}
    by_size = {size: _seconds(rows[size]) for size in sorted(rows)}
    return Recording(by_size, int(same[USERS]) if USERS in same else None, quantile, same.get(INTERVAL, 1.0))


def _places(path: Path, header: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return the places of the columns in the header. Raises BadInput where a column is missing."""
    if missing := [column for column in columns if column not in header]:
        raise BadInput(
            f"{path}: the first line has no {', '.join(missing)}; a recording has the columns {','.join(columns)} "
            "(poolsize import makes a recording from the files of load tools)"
        )
    return [header.index(column) for column in columns]


def _row(line: Sequence[str], places: Sequence[int]) -> tuple[int, Row]:
    """Return the pool size of a line, and its row. Raises ValueError and IndexError for an invalid line."""
    size_text, *texts = (line[place] for place in places)
    size, (second, throughput, latency_ms) = int(size_text), map(float, texts)
    if not (can_be(size, throughput, latency_ms) and abs(second) <= LARGEST_NUMBER):
        raise ValueError(line)
    return size, (second, throughput, latency_ms)


def _figures_of_all(line: Sequence[str], places: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Yield the figures of USERS and INTERVAL in a line. Raises ValueError and IndexError for an invalid line."""
    for column, place in places.items():
        figure = float(line[place])
        if not 0 < figure <= LARGEST_NUMBER or (column == USERS and not figure.is_integer()):
            raise ValueError(line)
        yield column, figure


def _same(path: Path, column: str, figures: Collection[float]) -> float:
    """Return the figure that all lines have in a column. Raises BadInput where the lines differ."""
    if len(figures) > 1:
        raise BadInput(
            f"{path}: {min(figures):.12g} and {max(figures):.12g} {column}: a curve has the same number in every line"
        )
    (figure,) = figures
    return figure


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


def table_of(path: Path, text: bytes, delimiter: str = ",") -> Iterator[list[str]]:
    """Yield the rows of a CSV file. Raises BadInput for a damaged file."""
    try:
        yield from csv.reader(lines_of(path, text), delimiter=delimiter)
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


def _seconds(rows: Iterable[Row]) -> Seconds:
    _, throughputs, latency_ms = zip(*sorted(rows), strict=True)
    return Seconds(throughputs, latency_ms)
