"""A recording: throughput and p95 of each second at several pool sizes, as a CSV file, plain or gzipped."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from poolsize.bounds import LARGEST_NUMBER, LARGEST_POOL, MOST_SECONDS, shown, within
from poolsize.errors import BadInput
from poolsize.files import content

COLUMNS = ("pool_size", "second", "throughput", "p95_ms")
USERS = "users"
MOST_BYTES = 2**24
"""The largest recording, inflated: MOST_SECONDS with the longest numbers."""
MOST_LINES, MOST_CHARACTERS = 1_000_000, 100_000
"""Of a recording and of a log, and of a line of it."""
GZIP = b"\x1f\x8b"
"""The first bytes of a gzipped file."""
FASTEST, SLOWEST_MS = 1e9, 1e9
"""No throughput per second, and no p95 in ms, is larger."""


@dataclass(frozen=True)
class Seconds:
    """The seconds of one pool size, in the order of measurement.

    throughput: transactions in each second. p95_ms: of their total time, in ms; 0 where unknown. Both have one value
    a second.
    """

    throughput: tuple[float, ...]
    p95_ms: tuple[float, ...]


@dataclass(frozen=True)
class Recording:
    """A throughput curve that was measured elsewhere.

    by_size: pool size, ascending -> its seconds, not empty. users: where their number was the same at every size;
    None where it is unknown, or each connection had a user of its own.
    """

    by_size: Mapping[int, Seconds]
    users: int | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The recorded pool sizes, ascending."""
        return tuple(self.by_size)


def read_recording(path: Path) -> Recording:
    """Return the recording in a CSV file, plain or gzipped.

    Columns: pool_size, second, throughput (per second) and p95_ms (ms, 0 where unknown), in any order. A column users
    may follow, with the same number in every line. Raises BadInput where the file can't be read, a line is invalid, or
    no second has a throughput.
    """
    rows: dict[int, list[tuple[float, ...]]] = {}
    lines = csv.reader(lines_of(path, _inflated(path)))
    header = next(_rows(path, lines), [])
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise BadInput(
            f"{path}: the first line has no {', '.join(missing)}; a recording has the columns {','.join(COLUMNS)} "
            "(poolsize import makes one from sysbench's logs or a Locust history)"
        )
    size_column, *value_columns = (header.index(column) for column in COLUMNS)
    users_column = header.index(USERS) if USERS in header else None
    users: set[int] = set()
    for number, line in enumerate(_rows(path, lines), 1):
        if number > MOST_SECONDS:
            raise BadInput(f"{path} has more than {MOST_SECONDS:,} seconds: shorten it")
        try:
            of_line = set() if users_column is None else {int(line[users_column])}
            users |= of_line
            size, values = int(line[size_column]), tuple(float(line[column]) for column in value_columns)
            valid = all(1 <= number <= LARGEST_NUMBER for number in of_line) and abs(values[0]) <= LARGEST_NUMBER
            valid = valid and can_be(size, *values[1:])
        except (ValueError, IndexError):
            valid = False
        if not valid:
            raise BadInput(
                f"{path}: line {lines.line_num}, {shown(','.join(line))}: give a pool size from 1, and numbers from 0"
            )
        rows.setdefault(size, []).append(values)
    if not any(throughput for group in rows.values() for _, throughput, _ in group):
        raise BadInput(f"{path}: no second with a throughput above 0, so there is no curve")
    if len(users) > 1:
        raise BadInput(f"{path}: {min(users)} and {max(users)} users: a curve has the same number in every line")
    return Recording({size: _seconds(rows[size]) for size in sorted(rows)}, *users)


def can_be(pool_size: int, throughput: float, p95_ms: float) -> bool:
    """Return whether a second can have been measured: with a pool size from 1, and numbers from 0 that make sense."""
    return 1 <= pool_size <= LARGEST_POOL and 0 <= throughput <= FASTEST and 0 <= p95_ms <= SLOWEST_MS


def write_recording(recording: Recording, path: Path) -> None:
    """Write a recording as a CSV file, gzipped if the name ends in .gz.

    Raises BadInput where the file can't be written.
    """
    try:
        with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            users = [] if recording.users is None else [recording.users]
            writer.writerow([*COLUMNS, *([USERS] if users else [])])
            for size, seconds in recording.by_size.items():
                for second, values in enumerate(zip(seconds.throughput, seconds.p95_ms, strict=True), start=1):
                    writer.writerow([size, second, *(f"{value:.9g}" for value in values), *users])
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
    _, throughputs, p95s_ms = zip(*sorted(rows), strict=True)
    return Seconds(throughputs, p95s_ms)
