"""The sampler's seconds, where a reading takes longer than a second."""

from time import monotonic

import gevent
import pytest

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
