"""The sampler's seconds, where a reading takes longer than a second."""

from time import monotonic

import gevent
import pytest

from poolsize.target.sampler import Sampler


@pytest.mark.long
def test_a_long_reading_counts_in_each_of_its_seconds() -> None:
    """As of a server whose thread pool is full: the readings after it come in time, and no second is empty."""
    delays = iter([0.0, 0.0, 2.4])

    def read() -> dict[str, float]:
        gevent.sleep(next(delays, 0.0))
        return {"application_cpu": monotonic()}  # it rises by 1 a second

    sampler = Sampler(None, read)
    sampler.start()
    gevent.sleep(6.5)
    sampler.stop()
    assert sampler.series(6)["application_cpu"] == pytest.approx([1.0] * 6, rel=0.3)
