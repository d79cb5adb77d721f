"""Each library's metrics page: what it counts, in which unit, and what on it is no pool of a database."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from poolsize.facts.pool_metrics import METRICS, metrics_named, page_samples
from poolsize.observe.pages import observe_page_file
from poolsize.observe.samples import Readings
from tests.observe.metrics_pages import PAGES
from tests.observe.test_pages import Kept


@pytest.mark.parametrize("library", PAGES)
def test_each_library_is_known_by_its_names(library: str) -> None:
    page, expected = PAGES[library]
    found: dict[str, float] = {}
    for sample in page_samples(page):
        if sample.metric.library != "Spring":
            found[sample.metric.quantity] = max(found.get(sample.metric.quantity, 0), sample.value)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("library", PAGES)
def test_each_page_has_one_pool_or_server(library: str) -> None:
    readings = Readings()
    for sample in page_samples(PAGES[library][0]):
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


def test_a_page_in_a_file_counts_since_the_process_started(tmp_path: Path) -> None:
    kept = Kept()
    path = tmp_path / "page"
    path.write_text(PAGES["HikariCP by Micrometer"][0] + "process_uptime_seconds 100000\n")
    assert observe_page_file(path, kept.append) == 100_000
    (span,) = kept.spans
    assert (span.period_seconds, span.uses, span.in_use_max, span.size) == (100_000, (38,), (3,), (8,))
    assert span.in_use_mean == pytest.approx((0.177 / 100_000,), abs=1e-6)
    assert span.usage_buckets == ((10, 30), (None, 8))
    started = path.stat().st_mtime - 100_000
    assert datetime.fromisoformat(span.started).timestamp() == pytest.approx(started, abs=1e-3)
