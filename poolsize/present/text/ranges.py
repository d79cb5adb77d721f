"""The 95 % range of a pool size, with an open end where the answer may lie beyond the measured sizes."""

from collections.abc import Set
from typing import TYPE_CHECKING

from poolsize.answer.finding import Code
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import verdict_on_size

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.analysis.analysis import Analysis


WITHOUT_RANGE = {Code.CARRIES_RATE, Code.LIMIT_DECIDES}
"""Findings of an answer that is a measured size, or that a limit decides: no 95 % range was estimated.

A broken limit may decide the answer too (`decides`).
"""


def range_text(answer: Recommendation) -> str:
    """Return the 95 % range of an answer, such as "95 % range 2 to 3"; empty where none was estimated.

    An end is open where pools beyond the measured sizes may be the answer: the users could not fill larger pools, the
    curve still rises, or the answer is the smallest size. Empty, too, for a single measured size.
    """
    if answer.range is None or any(
        finding.code in WITHOUT_RANGE or finding.values.get("decides") for finding in answer.findings
    ):
        return ""
    return _text(*answer.range, {finding.code for finding in answer.findings if answer.application is None})


def plateau_range_text(analysis: "Analysis") -> str:
    """Return the 95 % range of the plateau's start, as `range_text` does.

    Empty without a fitted curve, such as at a fixed rate.
    """
    plateau = analysis.plateau
    if plateau is None or analysis.curve is None:
        return ""
    _, finding = verdict_on_size(analysis, plateau.pool_size)
    return _text(plateau.low, plateau.high, {finding.code} if finding else set())


def _text(low: int, high: int, codes: Set[Code]) -> str:
    if Code.ONE_SIZE in codes:
        return ""
    if codes & {Code.USERS_LIMITED, Code.STILL_RISING}:
        return f"95 % range {low} or more"
    if Code.SMALLEST_SIZE in codes:
        return f"95 % range {high} or less"
    return f"95 % range {low}" if low == high else f"95 % range {low} to {high}"
