"""The record of requests: each user's gaps, failed requests, and the seconds of several names."""

import gevent

from poolsize.analysis.stats.percentiles import merged
from poolsize.load.messages import WorkerReport
from poolsize.load.recorder import Cost, histogram
from poolsize.service_under_test.worker import MOST_NAMES, OTHER_NAMES, RequestStep

MS = 1_000_000
NO_COST = Cost(0.0, 0.0, 0.0)


def test_each_user_has_gaps_of_its_own() -> None:
    """Two users, each with two requests and 30 ms between them: no gap before the first, one of 30 ms or more after."""
    step = RequestStep(2, lambda _: None)

    def user() -> None:
        step.record("GET /", 5 * MS, None)
        gevent.sleep(0.03)
        step.record("GET /", 0, None)

    gevent.joinall([gevent.spawn(user), gevent.spawn(user)], raise_error=True)
    second = step.end_second()
    assert second.transactions == 4
    assert 0.06 <= second.gap_seconds < 10
    assert len(step.served) == 2


def test_a_failed_request_is_a_part_of_the_next_gap() -> None:
    step = RequestStep(2, lambda _: None)
    step.record("GET /", 1 * MS, None)
    gevent.sleep(0.02)
    step.record("GET /", 20 * MS, "status_503")
    step.record("GET /", 0, None)
    second = step.end_second()
    assert second.errors == {"status_503": 1}
    assert second.transactions == 2
    assert second.gap_seconds >= 0.02
    assert histogram([second.failed]).get_total_count() == 1


def test_names_that_come_later_are_counted_too() -> None:
    step = RequestStep(2, lambda _: None)
    assert step.end_second().transactions == 0
    step.record("GET /", MS, None)
    step.end_second()
    step.record("POST /tasks", 2 * MS, None)
    step.record("GET /", MS, None)
    step.end_second()
    report = WorkerReport.of(2, [], step.seconds, NO_COST)
    assert {name: merged([kind["total"]]).get_total_count() for name, kind in report.kinds.items()} == {
        "GET /": 2,
        "POST /tasks": 1,
    }


def test_many_names_share_a_recorder() -> None:
    """A Locust file that puts ids into its URLs must not slow the load generator down."""
    step = RequestStep(2, lambda _: None)
    for number in range(1000):
        step.record(f"GET /tasks/{number}", MS, None)
    second = step.end_second()
    assert second.transactions == 1000
    assert len(second.kinds) == MOST_NAMES + 1
    assert second.kinds[OTHER_NAMES].transactions == 1000 - MOST_NAMES
