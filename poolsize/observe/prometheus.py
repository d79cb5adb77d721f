"""`poolsize observe --prometheus`: what a Prometheus server stored, or a file of its answer to a range query."""

import io
import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import numpy as np

from poolsize.analysis.vector import Vector
from poolsize.bounds import shortened
from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.pool_metrics import Quantity, metrics_named, sample_of
from poolsize.files import opened
from poolsize.observe.observation import Append, shown
from poolsize.observe.pages import NO_POOL
from poolsize.observe.samples import BUCKETS, COUNTED, PERIOD_SECONDS, Readings, instance_of
from poolsize.terminal import visible
from poolsize.units import count, minutes
from poolsize.web_page import PageAddress, WebPage, page_address, read_page

TOKEN, LOGIN = "POOLSIZE_PROMETHEUS_TOKEN", "POOLSIZE_PROMETHEUS_LOGIN"
"""Environment variables: a bearer token; USER:PASSWORD."""
ANSWER_SECONDS, PAUSES_SECONDS = 60.0, (1.0, 5.0)
"""The longest time for an answer; the pauses before a server that fails for a moment is asked again."""
MOST_ANSWER_BYTES, GOOD_ANSWER_BYTES = 32_000_000, 3_000_000
MOST_POINTS, FIRST_POINTS = 10_000, 30
"""Values of a series in an answer: Prometheus gives at most 11,000."""
MOST_NAMES, MOST_VALUES = 1_000, 100_000_000
LONGEST_IN_MINUTES = 7 * 86_400
"""A longer range has longer periods."""
USUAL_INTERVAL_SECONDS = 30.0
BUCKET_STEPS = 24
MOST_MISSING = 0.1
"""The share of the range that may pass before the first reading without a note."""
MOST_ASKED, MOST_VALUES_SHOWN, LONGEST_LABELS_SHOWN = 50, 6, 400
"""Metrics whose labels a message shows; values of each label, and characters of all."""
OF_NO_POOL = ("__name__", "le", "quantile", "state")
"""Labels that tell no pools apart."""
LIMIT: frozenset[Quantity] = frozenset({"max_connections", "connected"})
"""What is read of a database server that may be another than that of the selected pools."""
MOST_FILE_BYTES, MOST_SERIES_BYTES, MOST_LABEL_BYTES = 2**31, 2**23, 2**16
READ_BYTES = 2**20
WARNING_CHARACTERS = 2_000
"""At the beginning and the end of an answer, which may contain a warning."""
OVERLAP_BYTES = 200
"""A text that is searched for may begin this long before the end of a part that was read."""
STATISTICS: Mapping[Quantity, Mapping[str, Quantity]] = {
    "in_use": {
        "avg_over_time": "in_use",
        "max_over_time": "in_use_max",
        "stdvar_over_time": "in_use_variance",
        "count_over_time": "samples",
    },
    "waiting": {"avg_over_time": "waiting", "max_over_time": "waiting_max"},
    "running": {"avg_over_time": "running", "max_over_time": "running_max"},
}
"""Gauge -> the functions over each period that Prometheus computes of all its scrapes, and what they are."""
_SUCCESS = re.compile(r'\s*\{\s*"status"\s*:\s*"success"')
_PARTIAL = re.compile(r'"warnings"\s*:\s*\[\s*"((?:[^"\\]|\\.){1,300})"|"isPartial"\s*:\s*true')
"""A sign of Thanos, Mimir or VictoriaMetrics that a part of them did not answer."""
_LASTING = re.compile(r"status 4(?!29)|redirects")
"""A failure that remains when the server is asked again."""
_TOO_MUCH = re.compile(r"longer than|did not answer completely|timed out|too many samples")
"""A sign that a query asks for more than poolsize reads, or than Prometheus computes."""
_MATCHER = r'[A-Za-z_]\w{0,100}\s{0,9}(?:=~|!~|!=|=)\s{0,9}"(?:[^"\\\x00-\x1f]|\\.){0,500}"'
_MATCHERS = re.compile(rf"{_MATCHER}(?:\s{{0,9}},\s{{0,9}}{_MATCHER}){{0,30}}", re.ASCII)
_LABEL = re.compile(r"([A-Za-z_]\w*)\s*(?:=~|!~|!=|=)", re.ASCII)
_METRIC = re.compile(rb'"metric"\s*:\s*(?=\{)')
_VALUES = re.compile(rb'\s*,\s*"values"\s*:\s*\[\s*')
_END = re.compile(rb"\]\s*\]")
_JSON = json.JSONDecoder()

Labels = dict[str, str]


def prometheus_address(url: str) -> PageAddress:
    """Return the address of a Prometheus server, with the token or the login of the environment. Raises BadInput."""
    try:
        address = page_address(url)
    except ValueError as error:
        raise BadInput(f"`prometheus`: {error}") from None
    if "?" in address.target:
        raise BadInput(f"`prometheus` {address.shown}: leave the ? and the text behind it out of the base URL")
    if address.authorization is not None:
        raise BadInput(f"`prometheus` contains a password: set {LOGIN} to USER:PASSWORD, and leave it out of the URL")
    if token := os.environ.get(TOKEN):
        authorization = f"Bearer {token}"
    elif login := os.environ.get(LOGIN):
        authorization = f"Basic {b64encode(login.encode()).decode()}"
    else:
        return address
    if not authorization.isascii() or not authorization.isprintable():
        raise BadInput(f"{TOKEN if token else LOGIN} has a character that no header of HTTP may have")
    return replace(address, authorization=authorization)


def read_selector(text: str) -> str:
    """Return matchers of labels as PromQL has them, without braces. Raises BadInput."""
    matchers = text.strip().removeprefix("{").removesuffix("}").strip().removesuffix(",").strip()
    if not _MATCHERS.fullmatch(matchers):
        raise BadInput(
            f"`selector` {shown(text)}: write the labels in PromQL syntax, in single quotes: "
            '\'namespace="prod",app="shop"\''
        )
    return matchers


def observe_prometheus(
    address: PageAddress, seconds: float, append: Append, note: Callable[[str], None], selector: str = ""
) -> None:
    """Read the last `seconds` of all pools and MySQL servers that a Prometheus server knows, and append their periods.

    note: shows what is read. selector: matchers of the labels of the pools, as read_selector returns them. Counters are
    read at the ends of periods; of gauges, the server computes the statistics of all scrapes in each period. Raises
    WorkFailed where the server does not answer, and BadInput where it knows no pool.
    """
    server, unselected = (_Server(address, each, note) for each in (selector, ""))
    now = time.time()
    names = server.names(now - seconds, now)
    if not names:
        if selector:
            known = unselected.labels_of_pools(now - seconds, now, selector)
            way_out = f". Pools have these labels: {known}" if known else ": check their names and values"
            raise BadInput(
                f"{address.shown}: in the last {minutes(seconds)}, no metric of a pool has the labels "
                f"{shown(selector)}{way_out}"
            )
        raise BadInput(f"{address.shown}: {NO_POOL.format('the known libraries')} in the last {minutes(seconds)}")
    step = period_of(server.scrape_interval(names), seconds)
    begin, end = (now - seconds) // step * step, now // step * step
    readings, oldest = Readings(step, note=note), end
    note(f"reads {count(len(names), 'metric')} of pools, of the last {minutes(end - begin)}")
    selectors = [(name, server.selector_of(name)) for name in names]
    if selector and all(map(_is_of_pool, names)):
        selectors += unselected.limit_of_only_database(now - seconds, now)
    for name, of_name in selectors:
        for query in _queries(of_name, name, step, end - begin):
            for labels, at, values in server.matrix(query.expression, begin + 2 * query.shift, end, query.step):
                oldest = min([oldest, *(at[:1].tolist() if _is_of_pool(name) else [])])
                sample = sample_of(name, labels, 1.0)
                quantity = query.quantities.get(sample.metric.quantity) if sample else None
                if sample is not None and quantity is not None:
                    sample = replace(sample, metric=replace(sample.metric, quantity=quantity))
                    readings.add(sample, "", at - query.shift, values * sample.value)
    if readings.is_empty:
        raise BadInput(
            f"{address.shown}: it has metrics of a pool, but no whole minute of them in the last {minutes(seconds)}: "
            "wait two minutes, or give a longer --range"
        )
    if oldest - begin > MOST_MISSING * (end - begin) + 2 * step:
        note(f"the metrics are of the last {minutes(end - oldest)} only: Prometheus has none that are older")
    append(*readings.take())


@dataclass(frozen=True)
class _Query:
    """A range query. shift: seconds by which the values are older than their moments.

    quantities: what the metric counts -> what the values are; nothing for those of other labels that are not used.
    """

    expression: str
    step: float
    shift: float
    quantities: Mapping[Quantity, Quantity]


def _queries(selector: str, name: str, step: float, seconds: float) -> Iterator[_Query]:
    """Yield the range queries of a metric, whose labels may say what it counts. selector: of its series."""
    counted = {metric.quantity for metric in metrics_named(name)}
    window = f"[{step:.0f}s]"
    if counted & {*BUCKETS}:
        yield _Query(
            selector, max(step, ceil(seconds / BUCKET_STEPS / step) * step), 0.0, {each: each for each in counted}
        )
        return
    of_function: dict[str, dict[Quantity, Quantity]] = {}
    for each in counted:  # a counter's plain value is repeated for 5 minutes
        default: dict[str, Quantity] = {"last_over_time" if each in COUNTED else "max_over_time": each}
        for function, its in STATISTICS.get(each, default).items():
            of_function.setdefault(function, {})[each] = its
    for function, quantities in of_function.items():
        shift = 0.0 if function == "last_over_time" else step / 2
        yield _Query(f"{function}({selector}{window})", step, shift, quantities)


def _first(values: set[str]) -> list[str]:
    """Return the first of these values, and a sign for the others."""
    return sorted(values)[:MOST_VALUES_SHOWN] + (["..."] if len(values) > MOST_VALUES_SHOWN else [])


def _is_of_pool(name: str) -> bool:
    """Return whether a known metric is of a pool, and not of a database server."""
    return any(metric.library for metric in metrics_named(name))


def period_of(interval_seconds: float, seconds: float = 0.0) -> float:
    """Return the period for readings at this interval over so many seconds: whole minutes."""
    return PERIOD_SECONDS * max(
        1, ceil(interval_seconds / PERIOD_SECONDS - 0.01), ceil(seconds / LONGEST_IN_MINUTES - 0.01)
    )


class _Server:
    """A Prometheus server, asked one query after the other."""

    def __init__(self, address: PageAddress, selector: str, note: Callable[[str], None]) -> None:
        self._address, self._selector, self._note = address, selector, note
        self._path = address.target.rstrip("/")
        self._values, self._is_partial, self._has_answered = 0, False, False

    def selector_of(self, name: str) -> str:
        """Return the selector of a metric's series."""
        return f'{{__name__="{name}"{"," if self._selector else ""}{self._selector}}}'

    def names(self, begin: float, end: float) -> list[str]:
        """Return the names of the metrics that poolsize knows."""
        times = {"start": f"{begin:.0f}", "end": f"{end:.0f}"}
        matching = {"match[]": f'{{__name__!="",{self._selector}}}'} if self._selector else {}
        text = self._get("/api/v1/label/__name__/values", **times, **matching)
        try:
            names = json.loads(text)["data"]
            known = [name for name in names if isinstance(name, str) and '"' not in name and "\\" not in name]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._no_prometheus() from None
        quantities = {name: metrics_named(name) for name in known}
        used = [name for name, its in quantities.items() if its and not its[0].quantity.startswith("process_")]
        if len(used) > MOST_NAMES:
            raise WorkFailed(
                f"{self._address.shown} has more than {MOST_NAMES:,} metrics of pools: name some with --selector"
            )
        return used

    def labels_of_pools(self, begin: float, end: float, selector: str) -> str:
        """Return the labels of the pools with their values, those of the selector first; "" if they can't be read."""
        try:
            names = [name for name in self.names(begin, end) if _is_of_pool(name)]
            all_series = [labels for name in names[:MOST_ASKED] for labels in self._series(name, begin, end)]
        except WorkFailed:  # it may ask for a label of the selector
            return ""
        values: dict[str, set[str]] = {}
        for label, value in (pair for labels in all_series for pair in labels.items() if pair[0] not in OF_NO_POOL):
            values.setdefault(label, set()).add(value)
        selected = set(_LABEL.findall(selector))
        in_order = sorted(values, key=lambda label: (label not in selected, len(values[label]), label))
        text = "; ".join(f"{label}: {', '.join(_first(values[label]))}" for label in in_order)
        return shortened(" ".join(visible(text).split()), LONGEST_LABELS_SHOWN)

    def limit_of_only_database(self, begin: float, end: float) -> list[tuple[str, str]]:
        """Return the name and the selector of the metrics with the limit of the only database server.

        Of none if there are several servers, or the metrics can't be read without a selector.
        """
        try:
            names = [name for name in self.names(begin, end) if metrics_named(name)[0].quantity in LIMIT]
            servers = {instance_of(labels, "") for name in names for labels in self._series(name, begin, end)}
        except WorkFailed:
            return []
        if len(servers) != 1:
            return []
        self._note("no database server has these labels: reads max_connections of the only server in Prometheus")
        return [(name, self.selector_of(name)) for name in names]

    def _series(self, name: str, begin: float, end: float) -> list[Labels]:
        """Return the labels of the series of a metric."""
        times = {"start": f"{begin:.0f}", "end": f"{end:.0f}"}
        text = self._get("/api/v1/series", **times, **{"match[]": self.selector_of(name)})
        try:
            return [{str(label): str(value) for label, value in labels.items()} for labels in json.loads(text)["data"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._no_prometheus() from None

    def scrape_interval(self, names: list[str]) -> float:
        """Return the usual number of seconds between two scrapes of the pools."""
        for name in sorted(names, key=lambda name: name.endswith("_bucket"))[:3]:
            text = self._get("/api/v1/query", query=f"{self.selector_of(name)}[5m]")
            gaps = [gap for _, at, _ in matrix_series(io.BytesIO(text.encode())) for gap in np.diff(at)]
            if gaps:
                return float(np.median(gaps))
        return USUAL_INTERVAL_SECONDS

    def matrix(self, expression: str, begin: float, end: float, step: float) -> Iterator[tuple[Labels, Vector, Vector]]:
        """Yield the series of a range query, in parts of a bounded number of points."""
        at, points = begin, FIRST_POINTS
        while at <= end:
            until = min(end, at + step * (points - 1))
            times = {"start": f"{at:.3f}", "end": f"{until:.3f}", "step": f"{step:.0f}"}
            try:
                text = self._get("/api/v1/query_range", query=expression, **times)
            except _TooLong:
                if points == 1:
                    raise
                points = max(1, points // 8)
                continue
            for series in matrix_series(io.BytesIO(text.encode())):
                self._values += series[1].size
                yield series
            if self._values > MOST_VALUES:
                raise WorkFailed(f"the server has more than {MOST_VALUES:,} values of pools: give a shorter --range")
            points = int(np.clip(points * GOOD_ANSWER_BYTES / len(text), 1, MOST_POINTS))
            at = until + step

    def _get(self, path: str, **parameters: str) -> str:
        page = self._page(f"{self._path}{path}?{urlencode(parameters)}")
        if page.failure is None:
            if not _SUCCESS.match(page.text) or not page.text.endswith(("}", "}\n")):
                raise self._no_prometheus()
            self._has_answered = True
            if not self._is_partial and (
                warning := _PARTIAL.search(page.text[:WARNING_CHARACTERS] + page.text[-WARNING_CHARACTERS:])
            ):
                self._is_partial = True
                self._note(f"the answers of {self._address.shown} may lack series: {shown(warning[1] or 'isPartial')}")
            return page.text
        why = f": set {TOKEN} or {LOGIN}" if page.failure in {"status 401", "status 403"} else ""
        why = why or (": name the base URL, without the path of a page" if page.failure == "status 404" else "")
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            why = why or f": {shown(json.loads(page.text)['error'])}"
        if self._has_answered and _is_too_much(page):
            raise _TooLong(f"{self._address.shown}: {page.failure}{why}: give a shorter --range")
        raise WorkFailed(f"{self._address.shown}{path}: {page.failure}{why}")

    def _page(self, target: str) -> WebPage:
        """Return what the server answers. A server that has answered before may fail for a moment, or its proxy."""
        pauses = list(PAUSES_SECONDS if self._has_answered else ())
        while True:
            page = read_page(replace(self._address, target=target), ANSWER_SECONDS, MOST_ANSWER_BYTES)
            if page.failure is None or not pauses or _LASTING.match(page.failure) or _is_too_much(page):
                return page
            self._note(f"{self._address.shown}: {page.failure}: asks again")
            time.sleep(pauses.pop(0))

    def _no_prometheus(self) -> WorkFailed:
        return WorkFailed(f"{self._address.shown} does not answer as Prometheus does: name its base URL")


def _is_too_much(page: WebPage) -> bool:
    return bool(_TOO_MUCH.search(f"{page.failure} {page.text}"))


class _TooLong(WorkFailed):
    """An answer that is longer than may be read, or takes too long."""


def observe_answer_file(path: Path, append: Append, note: Callable[[str], None]) -> None:
    """Append what the answer of Prometheus to a range query says, which is in a file. Raises BadInput.

    note: shows which pools are left out.
    """
    readings: Readings | None = None
    unnamed = False
    try:
        with opened(path) as file:
            for labels, at, values in matrix_series(file, str(path)):
                name = labels.get("__name__", "")
                unnamed = unnamed or not name
                sample = sample_of(name, labels, 1.0)
                if sample is None:
                    continue
                if readings is None:
                    interval = float(np.median(np.diff(at))) if at.size > 1 else 0.0
                    readings = Readings(period_of(interval), note=note)
                readings.add(sample, "", at, values * sample.value)
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    if readings is None or readings.is_empty:
        why = (
            "its series have no __name__: query the metrics without a function"
            if unnamed
            else NO_POOL.format("the known libraries")
        )
        raise BadInput(f"{path}: {why}")
    append(*readings.take())


def matrix_series(file: BinaryIO, named: str = "the answer") -> Iterator[tuple[Labels, Vector, Vector]]:
    """Yield the labels, the times in seconds and the values of each series in an answer to a range query.

    The file is read in parts: json would take ten times its size in memory. Raises BadInput for a damaged file.
    """
    text = _Text(file, named)
    while text.goes_to(_METRIC):
        labels = text.labels()
        if not text.goes_to(_VALUES, at_once=True):
            continue  # a histogram of its own kind, or an instant vector
        yield labels, *text.values()


class _Text:
    """A file of JSON, of which a part is in memory."""

    def __init__(self, file: BinaryIO, named: str) -> None:
        self._file, self._named = file, named
        self._part, self._at, self._read = b"", 0, 0
        self._times: list[bytes] = []
        self._moments: Vector = np.zeros(0)

    def _more(self) -> bool:
        """Read another part, and forget the text before this place. Return False at the end."""
        new = self._file.read(READ_BYTES) or b""
        self._part, self._at = self._part[self._at :] + new, 0
        self._read += len(new)
        if self._read > MOST_FILE_BYTES:
            raise BadInput(f"{self._named} is longer than {MOST_FILE_BYTES // 2**30} GiB: query a shorter range")
        return bool(new)

    def goes_to(self, pattern: re.Pattern[bytes], *, at_once: bool = False) -> bool:
        """Go behind the next text of this pattern, which must be here if at_once. Return False without any."""
        while True:
            match = pattern.match(self._part, self._at) if at_once else pattern.search(self._part, self._at)
            if match is not None and match.end() < len(self._part):
                self._at = match.end()
                return True
            if at_once and match is None and len(self._part) - self._at > OVERLAP_BYTES:
                return False
            if not at_once and match is None:
                self._at = max(self._at, len(self._part) - OVERLAP_BYTES)
            if not self._more():
                return False

    def labels(self) -> Labels:
        while True:
            text = self._part[self._at : self._at + MOST_LABEL_BYTES]
            try:
                _, length = _JSON.raw_decode(text.decode("latin-1"))  # in which each byte is a character
                labels = json.loads(text[:length].decode(errors="replace"))
            except (ValueError, RecursionError):
                if len(text) < MOST_LABEL_BYTES and self._more():
                    continue
                raise self._damaged() from None
            if not all(isinstance(each, str) for each in labels.values()):
                raise self._damaged()
            self._at += length
            return dict(labels)

    def values(self) -> tuple[Vector, Vector]:
        """Return the times and the values up to the end of a series."""
        if self._part[self._at : self._at + 1] == b"]":
            return np.zeros(0), np.zeros(0)
        searched = self._at
        while not (match := _END.search(self._part, searched)):
            before = len(self._part) - self._at
            if before > MOST_SERIES_BYTES or not self._more():
                raise self._damaged()
            searched = max(0, before - OVERLAP_BYTES)
        parts = self._part[self._at : match.start()].translate(None, b'[]" \t\r\n').split(b",")
        times = parts[0::2]
        try:
            if times != self._times:  # else, as nearly always, they are those of the series before
                self._times, self._moments = times, np.fromiter(map(float, times), float)
            values = np.fromiter(map(float, parts[1::2]), float)
        except ValueError:
            raise self._damaged() from None
        if values.size != self._moments.size or not np.isfinite(self._moments).all():
            raise self._damaged()
        self._at = match.end()
        return self._moments, values

    def _damaged(self) -> BadInput:
        near = shown(self._part[self._at : self._at + 30].decode("ascii", errors="replace"))
        return BadInput(f"{self._named} is not the JSON of a range query, or is damaged, near {near}")
