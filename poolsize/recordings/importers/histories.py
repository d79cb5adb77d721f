"""Tests that a load tool logged as CSV, of whose steady numbers of users a curve is made: JMeter's, and Locust's."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from math import ceil
from pathlib import Path

from poolsize.bounds import MOST_SECONDS
from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import LoadRun, mean_of_run, usual_quantile
from poolsize.recordings.recording import can_be, table_of

FEWEST_SECONDS = 5
"""A tool passes through a number of users while it starts them; such a short time is not a measurement."""
SAMPLE_COLUMNS = ("timeStamp", "elapsed", "allThreads")
LONGEST_GAP = 30
"""Seconds without a sample, within a test."""
OF_CONTROLLER = "Number of samples in transaction"
"""Begins the message of a transaction controller, whose samples have lines of their own."""
HISTORY_COLUMNS = ("Timestamp", "User Count", "Name", "Total Request Count", "Total Failure Count")
"""The columns of a history that count, beside a percentile."""
PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)%$")
Row = tuple[int, int, float, float]
"""Length of an interval in seconds, number of users, throughput per second and percentile in ms."""


@dataclass(slots=True)
class _Second:
    """The samples that ended in a second: the fewest and most threads, and the times in ms of the successful ones."""

    fewest: int
    most: int
    elapsed_ms: list[int] = field(default_factory=list)


def jmeter(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield what each number of active threads did in its whole seconds, or the mean of a short test.

    Raises BadInput where a column is missing, or a line lacks a number.
    """
    delimiter = next((letter for letter in ",;\t" if letter.encode() in text[:100].partition(b"elapsed")[0]), ",")
    rows = table_of(path, text, delimiter)
    header = next(rows, [])
    if missing := [column for column in SAMPLE_COLUMNS if column not in header]:
        raise BadInput(
            f"{path}: JMeter's results lack the column {missing[0]!r}: let JMeter save them as CSV, with this field"
        )
    seconds = _seconds(path, rows, header)
    if not seconds:
        raise BadInput(f"{path}: JMeter's results have no sample")
    if (length := max(seconds) - min(seconds)) >= MOST_SECONDS:
        raise BadInput(f"{path}: the samples are {length:,} s apart, and poolsize reads {MOST_SECONDS:,} s at most")
    parts = list(_parts(seconds))
    yield from parts or [_mean(path, seconds)]


def _seconds(path: Path, rows: Iterator[list[str]], header: list[str]) -> dict[int, _Second]:
    begin, elapsed, threads = (header.index(column) for column in SAMPLE_COLUMNS)
    success = header.index("success") if "success" in header else None
    message = header.index("responseMessage") if "responseMessage" in header else None
    seconds: dict[int, _Second] = {}
    for row in rows:
        if not row or (message is not None and row[message : message + 1] and row[message].startswith(OF_CONTROLLER)):
            continue
        try:
            began_ms, elapsed_ms, users = int(row[begin]), int(row[elapsed]), int(row[threads])
            passed = success is None or row[success].casefold() == "true"
        except (ValueError, IndexError):
            raise BadInput(
                f"{path}: a line lacks a whole number of `timeStamp` (ms), `elapsed` or `allThreads`"
            ) from None
        second = seconds.setdefault((began_ms + elapsed_ms) // 1000, _Second(users, users))
        second.fewest, second.most = min(second.fewest, users), max(second.most, users)
        if passed:
            second.elapsed_ms.append(elapsed_ms)
        if len(seconds) > MOST_SECONDS:
            raise BadInput(f"{path}: the samples are of more than {MOST_SECONDS:,} seconds: give fewer")
    return seconds


def _parts(seconds: dict[int, _Second]) -> Iterator[LoadRun]:
    """Yield the stretches of seconds with the same number of threads, without their first and last second.

    A second without a sample belongs to the stretch around it: all threads waited. In a longer gap, no test ran.
    """
    stretch: list[int] = []
    users = 0
    for at in [*sorted(seconds), None]:
        now = seconds[at].most if at is not None and seconds[at].fewest == seconds[at].most else None
        if at is not None and now == users and stretch and at - stretch[-1] <= LONGEST_GAP:
            stretch.append(at)
            continue
        whole = range(stretch[0] + 1, stretch[-1]) if stretch else range(0)
        if len(whole) >= FEWEST_SECONDS and users >= 1:
            of_each = [seconds[each].elapsed_ms if each in seconds else [] for each in whole]
            yield LoadRun(users, tuple(map(float, map(len, of_each))), tuple(map(_p95, of_each)), "p95", 1.0)
        stretch, users = ([at], now) if at is not None and now is not None else ([], 0)


def _mean(path: Path, seconds: dict[int, _Second]) -> LoadRun:
    """Return the mean of a test that is too short for seconds, at its largest number of threads.

    Raises BadInput where fewer threads ran for most of the test: the mean is of no pool size.
    """
    every = [ms for second in seconds.values() for ms in second.elapsed_ms]
    users = max(second.most for second in seconds.values())
    if 2 * sum(second.most == users for second in seconds.values()) < len(seconds):
        raise BadInput(f"{path}: no number of threads stayed for {FEWEST_SECONDS} s, so there is no curve")
    return mean_of_run(users, len(every) / (max(seconds) - min(seconds) + 1), _p95(every), "p95")


def _p95(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[ceil(0.95 * len(times_ms)) - 1] if times_ms else 0.0


def locust(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield what each number of users did, by the growth of the total count: Locust's own rate is a mean over 10 s.

    A history without the rows of all requests together has no percentile of them. Raises BadInput for a damaged
    history, and where no number of users stayed for some seconds.
    """
    table = table_of(path, text)
    header = next(table, [])
    if missing := [column for column in HISTORY_COLUMNS if column not in header]:
        raise BadInput(
            f"{path} is not a history of Locust's: the column {missing[0]!r} is missing; give the file "
            "*_stats_history.csv"
        )
    usual = usual_quantile({match[1]: place for place, name in enumerate(header) if (match := PERCENTILE.match(name))})
    places = [*map(header.index, HISTORY_COLUMNS), *([usual[1]] if usual else [])]
    try:
        rows = list(islice(_intervals([row[place] for place in places] for row in table if row), MOST_SECONDS + 1))
    except (ValueError, LookupError, OverflowError):
        raise BadInput(f"{path}: a row of the history lacks a whole number where one belongs; it is damaged") from None
    seconds_of = Counter(users for _, users, _, _ in rows)
    steady = [row for row in rows if row[1] >= 1 and seconds_of[row[1]] >= FEWEST_SECONDS]
    if not steady:
        raise BadInput(f"{path}: no number of users stayed for {FEWEST_SECONDS} s, so there is no curve")
    quantile = usual[0] if usual and any(row[3] for row in steady) else None
    for users, group in groupby(sorted(steady, key=lambda row: row[1]), key=lambda row: row[1]):
        lengths, _, rates, latency_ms = zip(*group, strict=True)
        yield LoadRun(users, rates, latency_ms, quantile, float(Counter(lengths).most_common(1)[0][0]))


def _intervals(rows: Iterable[Sequence[str]]) -> Iterator[Row]:
    """Yield the intervals between the moments of a history. rows: the texts of its columns, also of a percentile's."""
    for (then, users_then, done_then, _), (now, users, done, ms) in pairwise(_moments(rows)):
        requests, failures = (after - before for before, after in zip(done_then, done, strict=True))
        if now > then and users == users_then and requests >= failures:  # it falls where Locust resets its statistics
            row = users, (requests - failures) / (now - then), ms
            if users and not can_be(*row):
                raise ValueError(row)
            yield now - then, *row


def _moments(rows: Iterable[Sequence[str]]) -> Iterator[tuple[int, int, tuple[int, int], float]]:
    """Yield time, users, requests and failures so far, and percentile of each moment.

    Without a row for all requests together, those of each name are added up, and the percentile is unknown.
    """
    for time, group in groupby(rows, key=lambda row: row[0]):
        of_names = list(group)
        _, users, _, requests, failures, *ms = next((row for row in of_names if row[2] == "Aggregated"), of_names[0])
        done = int(requests), int(failures)
        if all(row[2] != "Aggregated" for row in of_names):
            done, ms = (sum(int(row[3]) for row in of_names), sum(int(row[4]) for row in of_names)), []
        yield int(time), int(users), done, 0.0 if not ms or ms[0] == "N/A" else float(ms[0])
