"""The 95 % range of an answer as text."""

from collections.abc import Sequence

from poolsize.analysis.analysis import Analysis
from poolsize.answer.finding import Finding
from poolsize.answer.latency_limit import LimitBroken, LimitDecides
from poolsize.answer.reasons import CarriesRate
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import OneSize, SmallestSize, StillRising, UsersLimited, verdict_on_size
from poolsize.units import sizes_text


def range_text(answer: Recommendation) -> str:
    """Return the 95 % range of an answer, such as "95 % range 2 to 3"; empty where none was estimated.

    An end is open where pools beyond the measured sizes may be the answer. Empty, too, for a single measured size.
    """
    if answer.range is None:
        return ""
    for finding in answer.findings:  # a measured size, or a limit that decides: no 95 % range was estimated
        if isinstance(finding, CarriesRate | LimitDecides) or (isinstance(finding, LimitBroken) and finding.decides):
            return ""
    return _range(answer.range, answer.findings if answer.application is None else ())


def plateau_range_text(analysis: Analysis) -> str:
    """Return the 95 % range of the plateau's start, as `range_text` does; empty without a fitted curve."""
    plateau = analysis.plateau
    if plateau is None or analysis.curve is None:
        return ""
    _, finding = verdict_on_size(analysis, plateau.pool_size)
    return _range((plateau.low, plateau.high), (finding,) if finding else ())


def _range(sizes: tuple[int, int], findings: Sequence[Finding]) -> str:
    for finding in findings:
        if isinstance(finding, OneSize):
            return ""
        if isinstance(finding, UsersLimited | StillRising):
            return f"95 % range {sizes[0]} or more"
        if isinstance(finding, SmallestSize):
            return f"95 % range {sizes[1]} or less"
    return f"95 % range {sizes_text(sizes)}"
