"""Findings are frozen records, as dataclasses are."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from poolsize.answer.finding import MoreUsers, SweepBeyond

BEYOND = SweepBeyond((16, 32), shorter_pauses=False)


def test_figures_have_their_defaults_and_can_be_replaced() -> None:
    assert SweepBeyond(pool_sizes=(16, 32), shorter_pauses=False, users=None) == BEYOND
    assert replace(BEYOND, users=64).users == 64
    assert hash(replace(BEYOND, users=64)) == hash(SweepBeyond((16, 32), False, 64))
    assert repr(BEYOND) == "SweepBeyond(pool_sizes=(16, 32), shorter_pauses=False, users=None)"
    assert replace(BEYOND, users=64) != BEYOND != MoreUsers(users=None, smaller_sizes=False, shorter_pauses=False)


def test_figures_that_are_missing_unknown_or_given_twice_are_refused() -> None:
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (((1,),), {}), (((1,), True, None, 3), {}), (((1,), True), {"pool_sizes": (2,)}),
    ]  # fmt: skip
    for figures, named in given:
        with pytest.raises(TypeError, match="SweepBeyond takes pool_sizes, shorter_pauses, users"):
            SweepBeyond(*figures, **named)
    with pytest.raises(TypeError, match="not pool_sizes, shorter_pauses, size"):
        SweepBeyond((1,), True, size=3)  # type: ignore[call-arg]


def test_no_figure_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BEYOND.users = 3  # type: ignore[misc]
