"""`poolsize observe --metrics`: metrics pages, read every second for some minutes, or one page in a file."""

import queue
import threading
import time
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
from poolsize.observe.samples import COUNTED, LONGEST_LABELS, PEAKS, PERIOD_SECONDS, Readings
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
    observed = _pages(pages)
    for page in observed:
        threading.Thread(target=_read, args=(page, stop, answers, interval_seconds), daemon=True).start()
    period = min(PERIOD_SECONDS, seconds)
    clock = time.time() - started  # a clock that is set meanwhile changes no rate, and no period
    readings = Readings(period, clock + started, note)
    try:
        while (passed := time.monotonic() - started) < seconds:
            progress(passed)
            with suppress(queue.Empty):
                answer = answers.get(timeout=min(seconds - passed, INTERVAL_SECONDS))
                if answer.page.take(answer, note, is_alone=len(pages) == 1):
                    at = np.array([clock + answer.at])
                    for sample in answer.samples:
                        readings.add(sample, answer.page.name, at, np.array([sample.value], dtype=float))
            if time.monotonic() - stored > period * ceil(readings.pools * seconds / PERIOD_SECONDS / MOST_SPANS):
                stored = time.monotonic()
                append(*readings.take(clock + stored - LATE_SECONDS))
    except KeyboardInterrupt:
        pass
    finally:
        stop.set()
        append(*readings.take())
    for page in observed:
        if page.failures > 1:
            note(f"{page.address.shown} did not answer {page.failures:,} times; last: {page.last_failure}")
    if not any(page.has_pool for page in observed):
        raise WorkFailed("no page answered with the metrics of a pool: see the lines above")


@dataclass
class _Page:
    """A page, and what came of it so far. name: of its process."""

    address: PageAddress
    name: str
    failures: int = 0
    last_failure: str = ""
    has_answered: bool = False
    has_pool: bool = False

    def take(self, answer: "_Answer", note: Callable[[str], None], *, is_alone: bool) -> bool:
        """Note an answer's failure, and return whether the page answered. Raises WorkFailed or BadInput if alone."""
        is_first, shown = not self.has_answered, self.address.shown
        if answer.failure is not None:
            if not self.failures:
                note(f"{shown}: {answer.failure}; poolsize goes on reading it")
            self.failures, self.last_failure = self.failures + 1, answer.failure
            if is_first and is_alone:
                raise WorkFailed(f"{shown}: {answer.failure}")
            return False
        has_pool = _has_pool(answer.samples)
        if is_first and not has_pool:
            why = f"{shown}: {NO_POOL.format(', '.join(POOLS))}"
            if is_alone:
                raise BadInput(f"{why}; name the page with its metrics")
            note(why)
        self.has_answered, self.has_pool = True, self.has_pool or has_pool
        return True


def _pages(addresses: Sequence[PageAddress]) -> list[_Page]:
    """Return the pages; those of the same host are of different processes, and have numbers in their names."""
    paths = [address.shown.partition("://")[2] for address in addresses]
    hosts = [path.partition("/")[0] for path in paths]
    numbered = [shortened(f"{path} ({number})", LONGEST_LABELS) for number, path in enumerate(paths, 1)]
    names = [host if hosts.count(host) == 1 else name for host, name in zip(hosts, numbered, strict=True)]
    return list(map(_Page, addresses, names))


@dataclass(frozen=True)
class _Answer:
    """One reading of a page. at: by the monotonic clock. failure: why there is none, or None."""

    page: _Page
    at: float
    failure: str | None
    samples: Sequence[Sample]


def _read(page: _Page, stop: threading.Event, answers: "queue.Queue[_Answer]", interval_seconds: float) -> None:
    while not stop.is_set():
        began = time.monotonic()
        answer = read_page(page.address, PAGE_SECONDS)
        ended = time.monotonic()
        samples = page_samples(answer.text) if answer.failure is None else ()
        answers.put(_Answer(page, (began + ended) / 2, answer.failure, samples))
        stop.wait(max(interval_seconds - (ended - began), IDLE * (time.monotonic() - began)))


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
    begin, middle = now - seconds, now - seconds / 2
    readings = Readings(seconds, begin)
    for sample in samples:
        if sample.metric.quantity in PEAKS:
            readings.add(sample, "", np.array([begin, middle]), np.array([0.0, sample.value]))
        elif sample.metric.quantity not in COUNTED and not sample.bound:
            readings.add(sample, "", np.array([middle]), np.array([float(sample.value)]))
        elif uptime is not None:
            readings.add(sample, "", np.array([begin, now]), np.array([0.0, sample.value]))
    append(*readings.take())
    return uptime


def _has_pool(samples: Sequence[Sample]) -> bool:
    """Return whether any sample is of a pool or of a server, and not of the process alone."""
    return any(sample.metric.quantity not in {"process_started", "process_uptime"} for sample in samples)


def _uptime(samples: Sequence[Sample], now: float) -> float | None:
    """Return for how many seconds the process of a page ran, until now in seconds since the epoch."""
    known = [sample.value for sample in samples if sample.metric.quantity == "process_uptime"]
    known += [now - sample.value for sample in samples if sample.metric.quantity == "process_started"]
    return next((seconds for seconds in known if 1 <= seconds <= MOST_UPTIME_SECONDS), None)
