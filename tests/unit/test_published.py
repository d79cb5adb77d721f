"""The curves of the literature, answered as a person would who looks at their plots."""

import csv

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.errors import BadInput
from poolsize.experiments.survey.timing import USERS
from poolsize.present.plots import alt_text
from poolsize.present.text.recommendation import recommendation_text
from poolsize.recordings.published import published_curves, timings_of
from poolsize.sweep.replay import recorded_run
from tests.conftest import ROOT, in_ci
from tests.golden import assert_golden

SEEN = {
    "druid_insert_mysql57": (8, 8, "users-limited", "flat from 50 on, as many as users; nothing between 8 and 50"),
    "druid_insert_mysql9": (8, 8, "users-limited", "flat from 50 on, as many as users; nothing between 8 and 50"),
    "druid_insert_mysql56": (50, 100, "measured", "100 is 2 % below the best; none between 8 and 100, where it bends"),
    "rds_threadpool_oltp_rw": (32, 32, "measured", "12,700 at 32, then flat: the thread pool holds it"),
    "rds_threadpool_oltp_rw_queries": (32, 32, "measured", "64,000 at 32, then flat: the thread pool holds it"),
    "callaghan_ro_innodb5626": (40, 48, "measured", "peaks at 48; 40 is 8 % below, then it falls"),
    "callaghan_rw_innodb5626": (38, 48, "measured", "peaks at 48; 40 is 2 % below, 32 is 12 % below"),
    "mariadb_oltp_ro": (32, 64, "measured", "peaks at 64; 32 is 3 % below, 16 is 19 % below"),
    "specsdm91": (45, 72, "measured", "peaks at 72; 36 is 11 % below, nothing between"),
    "cisco": (22, 25, "measured", "peaks at 27; 22 is 6 % below, 23 is 3 % below"),
    "autoscaling_hikari_readMostly": (22, 24, "measured", "24 is within 1 % of the best, 16 is 11 % below"),
    "autoscaling_hikari_writeHeavy": (28, 40, "measured", "32 is 2 % below the best, 24 is 10 % below"),
    "autoscaling_hikari_longTx": (17, 24, "measured", "flat from 24 on, 16 is 7 % below"),
    "autoscaling_dbcp2_readMostly": (24, 32, "measured", "24 is 5.3 % below the best, 32 is 2 % below"),
    "autoscaling_dbcp2_writeHeavy": (36, 48, "measured", "48 is 2 % below the best, 32 is 7 % below"),
    "autoscaling_dbcp2_longTx": (17, 24, "measured", "flat from 24 on, 16 is 6 % below"),
    "autoscaling_agroal_readMostly": (19, 24, "measured", "24 is at the best, 16 is 16 % below"),
    "autoscaling_agroal_writeHeavy": (28, 40, "measured", "32 is 2 % below the best, 24 is 9 % below"),
    "autoscaling_agroal_longTx": (17, 24, "measured", "flat from 24 on, 16 is 6 % below"),
}  # fmt: skip
"""Curve -> smallest and largest size, and the verdict, that the plot suggests, and why."""


def test_every_published_curve_was_looked_at() -> None:
    assert SEEN.keys() == published_curves().keys()


@pytest.mark.long
@pytest.mark.parametrize(
    "name", in_ci(SEEN, "druid_insert_mysql9", "callaghan_rw_innodb5626", "cisco", "autoscaling_hikari_longTx")
)
def test_the_answer_is_a_person_s(name: str) -> None:
    curve = published_curves()[name]
    answer = recommend(analyze(recorded_run(curve.recording, name, curve.cores or 8)))
    low, high, verdict, why = SEEN[name]
    assert answer.verdict == verdict
    assert (low or 0) <= (answer.pool_size or 0) <= (high or 0)
    text = f"{name}: {curve.server}, {curve.workload}\nWhat the plot shows: {why}.\n\n{recommendation_text(answer)}\n"
    assert_golden(f"published/{name}.txt", text)


def test_the_figures_are_the_file_s() -> None:
    with (ROOT / "data/published/published_curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    curves = published_curves()
    assert sum(len(curve.recording.sizes) for curve in curves.values()) == len(rows)
    for row in rows:
        assert set(curves[row["curve"]].recording.by_size[int(row["x"])].throughput) == {float(row["throughput"])}


def test_repeated_timings_are_found_by_the_pool_s_name() -> None:
    pools = ["hikari", "HikariCP (Java)", "asyncmy (tasks)"]
    found = timings_of("select_one", pools)
    assert list(dict.fromkeys(timing.pool for timing in found)) == pools
    assert {timing.threads for timing in found} == set(USERS)
    assert "asyncmy (tasks)" in alt_text.of_survey("select_one", pools)
    with pytest.raises(BadInput, match="nothing: no pool of the test select_one; it has tomcat-jdbc"):
        timings_of("select_one", ["nothing"])
