"""Recordings from files of other load tools: sysbench's logs, and the history that Locust writes with --csv."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from pathlib import Path

from poolsize.bounds import MOST_SECONDS
from poolsize.errors import BadInput
from poolsize.files import content
from poolsize.recordings.recording import Recording, Seconds, can_be, lines_of

SYSBENCH_LINE = re.compile(
    r"^\[ *(?P<at>\d+)s *\] thds: (?P<threads>\d+) tps: (?P<tps>[\d.]+) "
    r".*lat \(ms, ?(?P<quantile>\d+)%\): (?P<ms>[\d.]+)"
)
LOCUST_COLUMNS = ("Timestamp", "User Count", "Name", "95%", "Total Request Count", "Total Failure Count")
"""The columns of a history that count."""
FEWEST_SECONDS = 5
"""Locust passes through a number of users while it starts them; such a short time is not a measurement."""

MOST_BYTES = 2**25
"""The largest log: sysbench's of some 70 hours."""
LONGEST_LINE_SHOWN = 60

Rows = list[tuple[int, float, float]]
"""Pool size, throughput per second and p95 in ms of each second."""


def read_logs(paths: Sequence[Path]) -> Recording:
    """Return a single recording of all files: sysbench's logs, or a history of Locust's.

    The pool size is the number of sysbench's threads or of Locust's users, each with a connection of its own.
    Raises BadInput where a file can't be read, has another format, or lacks seconds.
    """
    rows: Rows = []
    for path in paths:
        rows += _rows(path, content(path, MOST_BYTES))
        if len(rows) > MOST_SECONDS:
            raise BadInput(
                f"the logs have more than {MOST_SECONDS:,} seconds together, counted up to {path}: give fewer logs"
            )
    ascending = sorted(rows, key=lambda row: row[0])
    by_size = {size: list(group) for size, group in groupby(ascending, key=lambda row: row[0])}
    return Recording(
        {
            size: Seconds(tuple(rate for _, rate, _ in group), tuple(p95_ms for _, _, p95_ms in group))
            for size, group in by_size.items()
        }
    )


def _rows(path: Path, log: bytes) -> Rows:
    read = _locust if log.removeprefix(codecs.BOM_UTF8).startswith(b"Timestamp,") else _sysbench
    return read(path, lines_of(path, log))


def _sysbench(path: Path, lines: Iterable[str]) -> Rows:
    rows = []
    for match in islice(filter(None, (SYSBENCH_LINE.match(line.strip()) for line in lines)), MOST_SECONDS + 1):
        if match["quantile"] != "95":
            raise BadInput(f"{path} has the {match['quantile']}th percentile: run sysbench with --percentile=95")
        rows.append(_sysbench_second(path, match))
    if not rows:
        raise BadInput(
            f"{path} has no line of sysbench for a second, such as [ 1s ] thds: 16 tps: 494.2 ..., nor is it a history "
            "of Locust's: run sysbench with --report-interval=1"
        )
    _require_every_second(path, [second for second, _ in rows])
    return [row for _, row in rows]


def _sysbench_second(path: Path, line: re.Match[str]) -> tuple[int, tuple[int, float, float]]:
    """Return the second of a line, and its pool size, throughput and p95. Raises BadInput for absurd numbers."""
    try:
        row = int(line["threads"]), float(line["tps"]), float(line["ms"])
        if can_be(*row):
            return int(line["at"]), row
    except ValueError:
        pass
    raise BadInput(f"{path}: {line.string[:LONGEST_LINE_SHOWN]!r} has numbers that sysbench does not write")


def _require_every_second(path: Path, seconds: Iterable[int]) -> None:
    for before, after in pairwise(seconds):
        if after > before + 1:
            raise BadInput(f"{path} goes from second {before} to {after}: run sysbench with --report-interval=1")


def _locust(path: Path, lines: Iterable[str]) -> Rows:
    """Return a row for each interval of the history, by the growth of the total count."""
    table = csv.reader(lines)
    try:
        header = next(table)
        if missing := [column for column in LOCUST_COLUMNS if column not in header]:
            raise BadInput(
                f"{path} is not a history of Locust's: the column {missing[0]!r} is missing; give the file "
                "*_stats_history.csv"
            )
        places = [header.index(column) for column in LOCUST_COLUMNS]
        name = header.index("Name")
        totals = ([row[place] for place in places] for row in table if row[name : name + 1] == ["Aggregated"])
        rows = list(islice(_intervals(totals), MOST_SECONDS + 1))
    except csv.Error as error:
        raise BadInput(f"{path} is not a history of Locust's: {error}") from None
    except (ValueError, LookupError, OverflowError):
        raise BadInput(f"{path}: a row of the history lacks a whole number where one belongs; it is damaged") from None
    seconds_of = Counter(users for users, _, _ in rows)
    steady = [row for row in rows if row[0] >= 1 and seconds_of[row[0]] >= FEWEST_SECONDS]
    if not steady:
        raise BadInput(f"{path}: no number of users stayed for {FEWEST_SECONDS} s, so there is no curve")
    return steady


def _intervals(totals: Iterable[Sequence[str]]) -> Iterator[tuple[int, float, float]]:
    """Yield pool size, throughput and p95 of each interval; Locust's own rate is a mean over ten seconds.

    totals: the texts of LOCUST_COLUMNS in the rows of all requests together.
    """
    for (then, users_then, _, _, *done_then), (now, users, _, p95_ms, *done_now) in pairwise(totals):
        seconds = int(now) - int(then)
        if seconds > 0 and users_then == users:
            requests, failures = (int(after) - int(before) for before, after in zip(done_then, done_now, strict=True))
            row = int(users), (requests - failures) / seconds, _number(p95_ms)
            if requests >= failures and row[0]:  # the count falls where Locust resets its statistics
                yield _required(row)


def _required(row: tuple[int, float, float]) -> tuple[int, float, float]:
    """Return pool size, throughput and p95 that can have been measured. Raises ValueError for others."""
    if not can_be(*row):
        raise ValueError(row)
    return row


def _number(text: str) -> float:
    return 0.0 if text == "N/A" else float(text)
