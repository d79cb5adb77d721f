"""Metrics pages: of each library, of pools whose truth is known, and pages that misbehave."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from poolsize.errors import BadInput, PoolsizeError, WorkFailed
from poolsize.facts.pool_metrics import METRICS, metrics_named, page_samples
from poolsize.observe.observation import ObservedPool, PoolSpan, ServerSpan
from poolsize.observe.pages import observe_page_file, observe_pages
from poolsize.observe.process_load import process_load
from poolsize.observe.samples import Readings
from poolsize.observe.store import load_observation
from poolsize.web_page import page_address
from tests.conftest import Command, assert_soon, measured_again
from tests.observe.metrics_pages import PAGES as LIBRARIES
from tests.observe.sources import SimulatedPool, served
from tests.rogue_page import PAGES, RoguePage, rogue_page

SECONDS, INTERVAL_SECONDS = 3.0, 0.1


@pytest.fixture(scope="module")
def rogue() -> Iterator[RoguePage]:
    with rogue_page() as page:
        yield page


class Kept:
    """The periods that were appended, and the notes."""

    def __init__(self) -> None:
        self.spans: list[PoolSpan] = []
        self.servers: list[ServerSpan] = []
        self.notes: list[str] = []

    def append(self, spans: Sequence[PoolSpan], servers: Sequence[ServerSpan]) -> None:
        """Keep them."""
        self.spans += spans
        self.servers += servers


def observed(*urls: str, seconds: float = SECONDS) -> Kept:
    kept = Kept()
    pages = [page_address(url) for url in urls]
    observe_pages(pages, seconds, kept.append, kept.notes.append, interval_seconds=INTERVAL_SECONDS)
    return kept


@pytest.mark.long
@measured_again
def test_the_mean_in_use_is_that_of_the_pool() -> None:
    pools = [SimulatedPool(2000, 0.002, seed=1), SimulatedPool(1000, 0.02, seed=2)]
    with served(pools[0]) as first, served(pools[1]) as second:
        kept = observed(first, second)
    assert sorted(span.instance for span in kept.spans) == sorted(url.split("/")[2] for url in (first, second))
    of_instance = {span.instance: span for span in kept.spans}
    for url, pool in zip((first, second), pools, strict=True):
        span = of_instance[url.split("/")[2]]
        assert span.in_use_mean[0] == pytest.approx(pool.mean_in_use(), rel=0.15)  # the interval is not quite the same
        assert (span.samples[0] or 0) > SECONDS / INTERVAL_SECONDS / 8
        assert span.size == (50,)


@pytest.mark.long
@measured_again
def test_a_page_that_does_not_answer_costs_one_line(rogue: RoguePage) -> None:
    with served(SimulatedPool(100, 0.02)) as url:
        kept = observed(url, rogue.url("status_500"))
    assert len(kept.spans) == 1
    assert "status 500; poolsize goes on reading it" in kept.notes[0]
    assert "did not answer" in kept.notes[1]


@pytest.mark.costly
@measured_again
def test_a_clock_that_is_set_loses_no_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """NTP sets the clock forward by an hour after 2 s; the periods of 1 s go on."""
    monkeypatch.setattr("poolsize.observe.pages.PERIOD_SECONDS", 1.0)
    monkeypatch.setattr("poolsize.observe.pages.LATE_SECONDS", 0.2)
    began = time.monotonic()
    clocks = SimpleNamespace(time=lambda: time.time() + 3600 * (time.monotonic() > began + 2), monotonic=time.monotonic)
    monkeypatch.setattr("poolsize.observe.pages.time", clocks)
    with served(SimulatedPool(100, 0.02)) as url:
        kept = observed(url, seconds=4.0)
    assert sum(len(span.size) for span in kept.spans) in {4, 5}


@pytest.mark.costly
@measured_again
def test_pages_of_one_host_are_of_different_processes() -> None:
    with served(SimulatedPool(100, 0.02)) as url:
        kept = observed(url, f"{url}?worker=2", seconds=1.0)
    assert len({span.instance for span in kept.spans}) == 2
    assert "worker" not in str(kept.spans)  # a query may contain a token


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
@measured_again
def test_no_page_breaks_the_observation(rogue: RoguePage, name: str) -> None:
    """Endless, huge, slow, binary and damaged pages: an error of poolsize's, soon, or values that can be."""
    began = time.monotonic()
    spans: list[PoolSpan] = []
    with suppress(PoolsizeError):
        spans = observed(rogue.url(name), seconds=1.0).spans
    assert all(value is None or value >= 0 for span in spans for value in span.in_use_mean)
    assert time.monotonic() - began < 15


@pytest.mark.costly
def test_a_page_without_a_pool_is_refused_at_once(rogue: RoguePage) -> None:
    with pytest.raises(BadInput, match="has no metric of a pool that poolsize knows"):
        observed(rogue.url("druid_text"), seconds=60)
    with pytest.raises(WorkFailed, match="status 500"):
        observed(rogue.url("status_500"), seconds=60)
    without = SimulatedPool(500, 0.02)
    with (
        patch.object(without, "page", return_value="process_start_time_seconds 1\n"),
        served(without) as url,
        pytest.raises(BadInput, match="has no metric of a pool that poolsize knows"),
    ):
        observed(url, seconds=60)


@pytest.mark.long
def test_ctrl_c_ends_it_and_answers_with_what_was_seen(tmp_path: Path) -> None:
    with served(SimulatedPool(500, 0.02)) as url:
        command = [sys.executable, "-m", "poolsize", "observe", "--metrics", url, "--output", "a.jsonl", "--json"]
        ran = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert_soon((tmp_path / "a.jsonl").exists)
        time.sleep(40)
        os.kill(ran.pid, signal.SIGINT)
        out, err = ran.communicate(timeout=60)
    assert ran.returncode == 0, err
    (pool,) = json.loads(out)["pools"]
    assert pool["in_use_mean"] == pytest.approx(10, rel=0.2)
    (stored,) = load_observation(tmp_path / "a.jsonl").pools
    assert stored["in_use_mean"][0] == pytest.approx(10, rel=0.2)


def test_without_room_for_its_file_an_observation_has_its_answer(
    poolsize_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page").write_text(LIBRARIES["HikariCP by Micrometer"][0])
    monkeypatch.setattr("poolsize.observe.store.MOST_SPANS", 0)
    done = poolsize_here("observe", "--metrics", "page", "--output", "a.jsonl")
    assert (
        "a.jsonl would be longer than an observation may be: poolsize goes on, and stores no more periods"
        in done.stderr
    )
    assert " connections (now " in done.stdout
    assert (done.returncode, (tmp_path / "a.jsonl").exists()) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "give exactly one source"),
        (("--metrics", "http://127.0.0.1:1", "--selector", 'a="b"'), "--selector is for the URL of --prometheus"),
        (
            ("--prometheus", "http://127.0.0.1:1", "--selector", "a=b"),
            "write the labels in PromQL syntax, in single quotes",
        ),
        (
            ("--prometheus", "http://127.0.0.1:1", "--selector", 'a="b"} or vector(1)'),
            "write the labels in PromQL syntax",
        ),
        (("--prometheus", "http://127.0.0.1:1/?a=b"), "leave the ? and the text behind it out"),
        (("--prometheus", "http://127.0.0.1:1", "--ssl-mode", "required"), "set SSL_CERT_FILE"),
        (("--metrics", "http://127.0.0.1:1", "--prometheus", "http://127.0.0.1:1"), "give exactly one source"),
        (("--metrics", "http://127.0.0.1:1", "--range", "1d"), "--range is for --prometheus"),
        (("--prometheus", "http://127.0.0.1:1", "--for", "1m"), "--for is for --metrics and --url"),
        (("--metrics", "page", "--for", "1m"), "a file is one reading"),
        (("--metrics", "page", "--metrics", "http://127.0.0.1:1"), "a file is one reading"),
        (("--metrics", "absent"), "'absent' is no file: begin a URL with http"),
        (("--metrics", "http://a@b/@c"), "the URL has an @ after the host"),
        (("--metrics", "http://127.0.0.1:1", "--check", "0"), "give a pool size of 1 to"),
        (("--metrics", "http://127.0.0.1:1", "--check", "absent"), "'absent' is no file"),
        (("--metrics", "http://127.0.0.1:1", "--for", "1s"), "--for 1s: give 10 seconds to 7 days"),
        (("--prometheus", "http://127.0.0.1:1", "--range", "1m"), "--range 60s: give 10 minutes to 400 days"),
        (("--prometheus", "http://127.0.0.1:1", "--range", "401d"), "--range 34646400s: give 10 minutes to 400 days"),
        (("--prometheus", "http://u:p@127.0.0.1:1"), "--prometheus contains a password"),
        (("--metrics", "page", "--output", "page"), "page can't be written"),
    ],
)
def test_what_the_command_refuses(
    poolsize_here: Command, tmp_path: Path, arguments: tuple[str, ...], error: str
) -> None:
    (tmp_path / "page").write_text(LIBRARIES["Go"][0])
    done = poolsize_here("observe", *arguments)
    assert done.returncode == 2
    assert error in done.stderr
    assert "p@" not in done.stderr


@pytest.mark.costly
def test_the_check_is_for_a_nightly_job(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "page").write_text(
        LIBRARIES["HikariCP by its own tracker"][0].replace('threads{pool="shop"} 4', 'threads{pool="shop"} 0')
    )
    small = poolsize_here("observe", "--metrics", "page", "--check", "2")
    assert (small.returncode, small.stdout.count("\n")) == (3, 1)
    assert "above the pool size of 2" in small.stdout
    large = poolsize_here("observe", "--metrics", "page", "--check", "50", "--json")
    assert large.returncode == 0, large.stderr
    assert json.loads(large.stdout)["drift"] == []


def test_the_url_of_the_environment_is_no_second_source(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "page").write_text(LIBRARIES["Go"][0])
    done = poolsize_here("observe", "--metrics", "page", url="mysql://root@127.0.0.1:1/")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_library_is_known_by_its_names(library: str) -> None:
    page, expected = LIBRARIES[library]
    found: dict[str, float] = {}
    for sample in page_samples(page):
        if sample.metric.library != "Spring":
            found[sample.metric.quantity] = max(found.get(sample.metric.quantity, 0), sample.value)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_page_has_one_pool_or_server(library: str) -> None:
    readings = Readings()
    for sample in page_samples(LIBRARIES[library][0]):
        readings.add(sample, "", np.array([60.0]), np.array([float(sample.value)]))
    pools, servers = readings.take()
    assert len(pools) + len(servers) == 1
    if pools:
        assert pools[0].in_use_mean == (3,)


def test_no_name_stands_twice() -> None:
    assert len({(metric.name, metric.quantity) for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize(
    "name", ["", "up", "hikaricp_connections", "jvm_threads_live", "tomcat_threads_active", "x" * 999]
)
def test_other_names_are_not_known(name: str) -> None:
    assert metrics_named(name) == ()


def test_names_with_dots_are_known_too() -> None:
    """Prometheus 3 keeps the dots of OpenTelemetry's names."""
    (metric,) = metrics_named("db.client.connection.max")
    assert metric.quantity == "size"


def test_one_reading_of_the_gauge_is_not_the_mean_of_days(tmp_path: Path) -> None:
    kept = Kept()
    (tmp_path / "page").write_text(LIBRARIES["HikariCP by Micrometer"][0] + "process_uptime_seconds 100000\n")
    observe_page_file(tmp_path / "page", kept.append)
    (span,) = kept.spans
    busy = replace(span, in_use_mean=(25.0,), size=(50.0,), uses=(1e6,), usage_seconds=(4e5,))
    load = process_load(ObservedPool.of([busy]))
    assert load
    assert load.mean == pytest.approx(4, rel=0.001)


def test_a_page_in_a_file_counts_since_the_process_started(tmp_path: Path) -> None:
    kept = Kept()
    path = tmp_path / "page"
    path.write_text(LIBRARIES["HikariCP by Micrometer"][0] + "process_uptime_seconds 100000\n")
    assert observe_page_file(path, kept.append) == 100_000
    (span,) = kept.spans
    assert (span.period_seconds, span.uses, span.in_use_max, span.size) == (100_000, (38,), (3,), (8,))
    assert span.in_use_mean == (3,)
    assert span.usage_seconds == pytest.approx((0.177,))
    assert span.usage_buckets == ((10, 30), (None, 8))
    started = path.stat().st_mtime - 100_000
    assert datetime.fromisoformat(span.started).timestamp() == pytest.approx(started, abs=1e-3)
