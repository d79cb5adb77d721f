"""`poolsize observe --metrics`: metrics pages, read every second for some minutes, or one page in a file."""

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from poolsize.bounds import shortened
from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.pool_metrics import POOLS, Sample, page_samples
from poolsize.files import content
from poolsize.observe.observation import Append
from poolsize.observe.samples import COUNTED, LONGEST_LABELS, PEAKS, PERIOD_SECONDS, Readings, instance_of
from poolsize.web_page import MOST_BYTES, PageAddress, read_page

INTERVAL_SECONDS = 1.0
"""From the beginning of a reading to the next."""
IDLE = 4
"""A page rests at least this many times as long as its reading takes."""
PAGE_SECONDS = 5.0
LATE_SECONDS = 2 * PAGE_SECONDS
"""A period is complete this long after its end."""
MOST_PAGES = 100
MOST_SPANS = 50_000
"""Where there would be more records of one period each, some periods share a record."""
MOST_UPTIME_SECONDS = 10**9
NO_POOL = "it has no metric of a pool that poolsize knows (those of {}, Druid and mysqld_exporter)"


def observe_pages(
    pages: Sequence[PageAddress],
    seconds: float,
    append: Append,
    note: Callable[[str], None],
    progress: Callable[[float], None] = lambda _: None,
    interval_seconds: float = INTERVAL_SECONDS,
) -> None:
    """Read metrics pages for some seconds, and append the periods as they end; Ctrl-C ends it sooner.

    note: shows a line about a page that does not answer. progress: hears the seconds that have passed. Raises BadInput
    where the only page has no pool, and WorkFailed where no page answers with pools.
    """
    started = stored = time.monotonic()  # before the first reading, which would else have a period before the first
    stop, answers = threading.Event(), queue.Queue[_Answer](2 * len(pages))
    for number, address in enumerate(pages):
        arguments = (number, address, stop, answers, interval_seconds)
        threading.Thread(target=_read, args=arguments, daemon=True).start()
    observed = _Observed(pages, note)
    period = min(PERIOD_SECONDS, seconds)
    clock = time.time() - started  # a clock that is set meanwhile changes no rate, and no period
    readings = Readings(period, clock + started)
    try:
        while (passed := time.monotonic() - started) < seconds:
            progress(passed)
            with suppress(queue.Empty):
                observed.add(answers.get(timeout=min(seconds - passed, INTERVAL_SECONDS)), readings, clock)
            if time.monotonic() - stored > period * ceil(readings.pools * seconds / PERIOD_SECONDS / MOST_SPANS):
                stored = time.monotonic()
                append_all(readings, append, clock + stored - LATE_SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        stop.set()
        append_all(readings, append)
    observed.require_some()


@dataclass(frozen=True)
class _Answer:
    """One reading of a page. page: its number. at: by the monotonic clock. failure: why there is none, or None."""

    page: int
    at: float
    failure: str | None
    samples: Sequence[Sample]


def _read(
    number: int, address: PageAddress, stop: threading.Event, answers: "queue.Queue[_Answer]", interval_seconds: float
) -> None:
    while not stop.is_set():
        began = time.monotonic()
        page = read_page(address, PAGE_SECONDS)
        ended = time.monotonic()
        samples = page_samples(page.text) if page.failure is None else ()
        answers.put(_Answer(number, (began + ended) / 2, page.failure, samples))
        stop.wait(max(interval_seconds - (ended - began), IDLE * (time.monotonic() - began)))


class _Observed:
    """What came of each page."""

    def __init__(self, pages: Sequence[PageAddress], note: Callable[[str], None]) -> None:
        self._pages, self._note = pages, note
        self._failures = Counter[int]()
        self._last_failure: dict[int, str] = {}
        self._with_pools: set[int] = set()
        self._answered: set[int] = set()
        hosts = [page.shown.partition("://")[2].partition("/")[0] for page in pages]
        self._names = [
            host
            if hosts.count(host) == 1
            else shortened(f"{page.shown.partition('://')[2]} ({number})", LONGEST_LABELS)
            for number, (host, page) in enumerate(zip(hosts, pages, strict=True), 1)
        ]
        """Of the process of each page: pages of the same host are those of different processes."""

    def add(self, answer: _Answer, readings: Readings, clock: float) -> None:
        """Take an answer. clock: seconds since the epoch at which the monotonic clock was 0."""
        name = self._pages[answer.page].shown
        if answer.failure is not None:
            if not self._failures[answer.page]:
                self._note(f"{name}: {answer.failure}; poolsize goes on reading it")
            self._failures[answer.page] += 1
            self._last_failure[answer.page] = answer.failure
            if answer.page not in self._answered and len(self._pages) == 1:
                raise WorkFailed(f"{name}: {answer.failure}")
            return
        if answer.page not in self._answered and not _has_pool(answer.samples):
            why = f"{name}: {NO_POOL.format(', '.join(POOLS))}"
            if len(self._pages) == 1:
                raise BadInput(f"{why}; name the page with its metrics")
            self._note(why)
        self._answered.add(answer.page)
        if _has_pool(answer.samples):
            self._with_pools.add(answer.page)
        at, page = np.array([clock + answer.at]), self._names[answer.page]
        for sample in answer.samples:
            readings.add(sample, instance_of(sample.labels, page), at, np.array([sample.value], dtype=float))

    def require_some(self) -> None:
        """Say how often pages did not answer. Raises WorkFailed where none had a pool."""
        for page, failures in self._failures.items():
            if failures > 1:
                last = self._last_failure[page]
                self._note(f"{self._pages[page].shown} did not answer {failures:,} times; last: {last}")
        if not self._with_pools:
            raise WorkFailed("no page answered with the metrics of a pool: see the lines above")


def append_all(readings: Readings, append: Append, until: float = np.inf) -> None:
    """Append the periods that are complete."""
    spans, servers = readings.take(until)
    if spans:
        append(spans, None)
    for server in servers:
        append([], server)


def observe_page_file(path: Path, append: Append) -> float | None:
    """Append what a metrics page in a file says, and return for how many seconds its process ran; None if not known.

    Its gauges are a reading of when the file was written. Its counters count since the process started: so they are
    one long period, if the page says when that was. Raises BadInput for a file without metrics of a pool.
    """
    samples = page_samples(content(path, MOST_BYTES).decode("utf-8-sig", errors="replace"))
    if not _has_pool(samples):
        raise BadInput(f"{path}: {NO_POOL.format(', '.join(POOLS))}")
    now = path.stat().st_mtime
    uptime = _uptime(samples, now)
    seconds = uptime or PERIOD_SECONDS
    readings = Readings(seconds, now - seconds)
    for sample in samples:
        at, values = np.array([now - seconds, now - seconds / 2]), np.array([0.0, sample.value])
        if sample.metric.quantity in PEAKS:
            readings.add(sample, instance_of(sample.labels), at, values)
        elif sample.metric.quantity in COUNTED or sample.bound:
            if uptime is not None:
                readings.add(sample, instance_of(sample.labels), np.array([now - seconds, now]), values)
        else:
            readings.add(sample, instance_of(sample.labels), at[1:], values[1:])
    append_all(readings, append)
    return uptime


def _has_pool(samples: Sequence[Sample]) -> bool:
    """Return whether any sample is of a pool or of a server, and not of the process alone."""
    return any(sample.metric.quantity not in {"process_started", "process_uptime"} for sample in samples)


def _uptime(samples: Sequence[Sample], now: float) -> float | None:
    """Return for how many seconds the process of a page ran, until now in seconds since the epoch."""
    known = [sample.value for sample in samples if sample.metric.quantity == "process_uptime"]
    known += [now - sample.value for sample in samples if sample.metric.quantity == "process_started"]
    return next((seconds for seconds in known if 1 <= seconds <= MOST_UPTIME_SECONDS), None)
