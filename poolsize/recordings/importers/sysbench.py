"""Outputs of sysbench 0.4 to 1.1: its lines for each interval, and the closing statistics of runs without any."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from poolsize.errors import BadInput
from poolsize.recordings.importers.load_run import LoadRun, common_interval, mean_of_run, quantile_name
from poolsize.recordings.recording import can_be, lines_of

LONGEST_LINE_SHOWN = 60
INTERVAL = re.compile(
    r"\[ {0,9}(?P<at>\d{1,9})s ?\] (?:thds: |threads: |Intermediate results: )(?P<threads>\d{1,9})(?: threads)?,? "
    r"(?:tps|eps): (?P<tps>[\d.]{1,40})"
)
LATENCY = re.compile(r"lat \(ms, ?(\d{1,3})%\): ([\d.]{1,40})|response time: ([\d.]{1,40})ms \((\d{1,3})%\)")
CSV = re.compile(r"(?P<at>\d{1,9}),(?P<threads>\d{1,9}),(?P<tps>\d[\d.]{0,40}),(?:[\d.]{1,40},){4}(?P<ms>[\d.]{1,40}),")
"""A line of the hook report_csv, which does not name its percentile."""
JSON = re.compile(r'"(time|threads|tps|latency)": {1,9}([\d.]{1,40}),')
"""A figure of the hook report_json."""
BEGINS = re.compile(r"sysbench \d|Running the test with following options")
DECLARED = re.compile(r"Number of threads: (\d{1,9})$")
TRANSACTIONS = re.compile(r"transactions: {1,60}\d{1,18} {1,9}\(([\d.]{1,40}) per sec")
PERCENTILE = re.compile(r"(?:approx\. {1,9}(\d{1,3}) {0,2}percentile|(\d{1,3})th percentile): {1,60}([\d.]{1,40})")
Line = tuple[int, int, float, float]
"""Its second, number of threads, throughput and percentile in ms."""


@dataclass
class _Run:
    """The figures of one run so far. declared: its number of threads, or 0. mean: its throughput, by the statistics."""

    declared: int = 0
    lines: list[Line] = field(default_factory=list)
    quantile: str | None = None
    mean: float | None = None
    mean_ms: float = 0.0

    def parts(self) -> Iterator[LoadRun]:
        """Yield the lines of each number of threads, or the mean of the run where it has fewer than two lines.

        At the end of a run, threads leave: lines with fewer threads than before are no pool size.
        """
        lines, most = self.lines, max([self.declared, *(threads for _, threads, _, _ in self.lines)])
        while lines and lines[-1][1] < most:
            lines.pop()
        if len(lines) < 2 and self.mean is not None and most:
            yield mean_of_run(most, self.mean, self.mean_ms, self.quantile)
            return
        interval = common_interval([at for at, *_ in lines])
        for size, group in groupby(sorted(lines, key=itemgetter(1)), key=itemgetter(1)):
            _, _, tps, ms = zip(*group, strict=True)
            yield LoadRun(size, tps, ms if self.quantile else (0.0,) * len(ms), self.quantile, interval)


def read(path: Path, text: bytes) -> Iterator[LoadRun]:
    """Yield the runs in an output of sysbench. Raises BadInput for an output without a run, and for absurd numbers."""
    run, is_any, entry = _Run(), False, dict[str, str]()
    for number, line in enumerate(map(str.strip, lines_of(path, text)), start=1):
        if (place := line.find("FATAL: ")) >= 0:
            shown = line[place : place + LONGEST_LINE_SHOWN]
            raise BadInput(f"{path}: line {number}: {shown!r}: this run of sysbench failed: measure it again")
        figures = _figures(path, line, entry)
        begins = BEGINS.match(line) and (run.lines or run.mean is not None)
        if begins or (figures and run.lines and figures[0][0] <= run.lines[-1][0]):
            yield from run.parts()
            is_any, run = True, _Run()
        if figures:
            run.lines.append(figures[0])
            run.quantile = figures[1] or run.quantile
        elif declared := DECLARED.match(line):
            run.declared = int(declared[1])
        elif (mean := TRANSACTIONS.match(line)) and run.mean is None:
            run.mean = _number(path, line, mean[1])
        elif percentile := PERCENTILE.match(line):
            run.quantile = quantile_name(percentile[1] or percentile[2])
            run.mean_ms = _number(path, line, percentile[3])
    parts = list(run.parts())
    yield from parts
    if not (parts or is_any):
        raise BadInput(
            f"{path} has no figures of sysbench, such as [ 1s ] thds: 16 tps: 494.2 ...: run sysbench with "
            "--report-interval=1"
        )


def _figures(path: Path, line: str, entry: dict[str, str]) -> tuple[Line, str | None] | None:
    """Return the figures of an interval that ends with a line, and the name of their percentile; None for other lines.

    entry: the figures of report_json since the last interval.
    """
    if match := INTERVAL.match(line):
        latency = LATENCY.search(line, match.end(), match.end() + 400)
        quantile, ms = (latency[1] or latency[4], latency[2] or latency[3]) if latency else ("0", "0")
        name = quantile_name(quantile) if int(quantile) else None  # --percentile=0 switches it off
        return _line(path, line, match["at"], match["threads"], match["tps"], ms), name
    if match := CSV.match(line):
        return _line(path, line, *match.group("at", "threads", "tps", "ms")), None
    if match := JSON.match(line):
        entry[match[1]] = match[2]
        if match[1] == "latency" and entry.keys() >= {"time", "threads", "tps"}:
            at, threads, tps, ms = (entry.pop(name) for name in ("time", "threads", "tps", "latency"))
            if threads != "0":  # the statistics of the whole run
                return _line(path, line, at, threads, tps, ms), None
    return None


def _line(path: Path, line: str, at: str, threads: str, tps: str, ms: str) -> Line:
    values = (
        int(at) if at.isdigit() else 0,
        int(threads) if threads.isdigit() else 0,
        _number(path, line, tps),
        _number(path, line, ms),
    )
    if not can_be(*values[1:]):
        raise _absurd(path, line)
    return values


def _number(path: Path, line: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _absurd(path, line) from None


def _absurd(path: Path, line: str) -> BadInput:
    return BadInput(f"{path}: {line[:LONGEST_LINE_SHOWN]!r} has numbers that sysbench does not write")
