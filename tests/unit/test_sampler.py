"""The sampler's seconds, where a reading takes longer than a second."""

from time import monotonic

import gevent
import pytest

from poolsize.facts.status import increases_per_second, read_status
from poolsize.server.sampler import Sampler
from tests.conftest import in_ci, measured_again


@pytest.mark.long
@pytest.mark.parametrize(("place", "most_readings"), in_ci([(0, 6), (2, 5)], (2, 5)))
@measured_again
def test_a_long_reading_counts_in_each_of_its_seconds(place: int, most_readings: int) -> None:
    """As of a server whose thread pool is full: the readings after it come in time, and no second is absurd."""
    readings = 0

    def read() -> dict[str, float]:
        nonlocal readings
        readings += 1
        gevent.sleep(2.4 if readings == place + 1 else 0.0)
        return {"application_cpu": monotonic()}  # it rises by 1 a second

    sampler = Sampler(None, read)
    sampler.start()
    gevent.sleep(6.5)
    sampler.stop()
    seconds = [second for second in sampler.series(6)["application_cpu"] if second is not None]
    assert len(seconds) >= (6 if place else 4)  # no increase is known before the first reading has ended
    assert seconds == pytest.approx([1.0] * len(seconds), rel=0.3)
    assert readings <= most_readings


class Rows:
    """A cursor that has these rows, as a server may send them."""

    def __init__(self, *rows: tuple[object, object]) -> None:
        self._rows = rows

    def execute(self, query: str, args: object = None) -> None:
        """Have the rows."""

    def fetchall(self) -> tuple[tuple[object, object], ...]:
        """Return the rows."""
        return self._rows


def test_a_status_variable_that_is_no_count_is_absent() -> None:
    names = ("Questions", "Connections", "Threads_running", "Innodb_data_fsyncs", "Innodb_row_lock_time")
    rows = Rows(
        *zip(names, ("nan", "1e400", "ON", None, "-1"), strict=True), ("Innodb_row_lock_waits", "7"), ("x", "1")
    )
    assert read_status(rows) == {"Innodb_row_lock_waits": 7.0}


@pytest.mark.parametrize("unusable", [float("nan"), float("inf"), -1.0, 1e300])
def test_an_increase_that_no_run_holds_is_absent(unusable: float) -> None:
    before, after = {"Questions": 0.0, "Connections": 1.0}, {"Questions": unusable, "Connections": 3.0}
    assert increases_per_second(before, after | {"Threads_running": unusable}, 2.0) == {"Connections": 1.0}
    assert increases_per_second({"Questions": 0.0}, {"Questions": 1e15}, 1e-3) == {}
