"""The history that Locust 1.0 and later write with --csv."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from pathlib import Path

from poolsize.bounds import MOST_SECONDS
from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import FEWEST_SECONDS, LoadRun, usual_quantile
from poolsize.recordings.recording import can_be, table_of

COLUMNS = ("Timestamp", "User Count", "Name", "Total Request Count", "Total Failure Count")
"""The columns of a history that count, beside a percentile."""
PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)%$")
Row = tuple[int, int, float, float]
"""Length of an interval in seconds, number of users, throughput per second and percentile in ms."""


def read(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield what each number of users did, by the growth of the total count: Locust's own rate is a mean over 10 s.

    A history without the rows of all requests together has no percentile of them. Raises BadInput for a damaged
    history, and where no number of users stayed for some seconds.
    """
    table = table_of(path, text)
    header = next(table, [])
    if missing := [column for column in COLUMNS if column not in header]:
        raise BadInput(
            f"{path} is not a history of Locust's: the column {missing[0]!r} is missing; give the file "
            "*_stats_history.csv"
        )
    usual = usual_quantile({match[1]: place for place, name in enumerate(header) if (match := PERCENTILE.match(name))})
    places = [*map(header.index, COLUMNS), *([usual[1]] if usual else [])]
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
    """Yield the intervals between the moments of a history. rows: the texts of COLUMNS, and a percentile's if any."""
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
