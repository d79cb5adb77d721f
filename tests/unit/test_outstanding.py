"""The outstanding transactions of an open loop: how many, and for how long they occupy connections."""

import pytest

from poolsize.load import loops
from poolsize.load.loops import Outstanding


def test_connections_are_busy_from_arrivals_to_ends_and_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0]
    monkeypatch.setattr(loops, "perf_counter_ns", lambda: clock[0])
    counted = Outstanding(connections=2)

    def at(seconds: float) -> Outstanding:
        clock[0] = round(seconds * 1e9)
        return counted

    at(5.5).add(1)
    assert at(6.0).end_second() == (0, 0.5)
    at(6.25).add(1)
    at(6.5).add(1)
    assert at(7.0).end_second() == (1, 0.25 + 2 * 0.75)
    at(7.5).add(-1)
    at(7.75).add(-1)
    assert at(8.0).end_second() == (0, 2 * 0.75 + 0.25)
    assert at(9.0).end_second() == (0, 1.0)
