"""The 95 % range of an answer as text."""

from poolsize.analysis.analysis import Analysis
from poolsize.answer.recommendation import Recommendation
from poolsize.answer.verdict import MeansOnly, OpenEnd, known_range, verdict_on_size

UNKNOWN = "range unknown: too few figures of a pool size"


def range_text(answer: Recommendation) -> str:
    """Return the 95 % range of an answer, such as "95 % range 2 to 3"; empty where none was estimated."""
    if any(isinstance(finding, MeansOnly) for finding in answer.findings):
        return UNKNOWN
    return _range(answer.range, answer.range_open)


def plateau_range_text(analysis: Analysis) -> str:
    """Return the 95 % range of the plateau's start; empty without a fitted curve, such as at a fixed rate."""
    if analysis.plateau is None:
        return ""
    if analysis.setting.means_only:
        return UNKNOWN
    _, findings = verdict_on_size(analysis, analysis.plateau.pool_size)
    return _range(*known_range(analysis, findings))


def _range(sizes: tuple[int, int] | None, open_end: OpenEnd | None) -> str:
    if sizes is None:
        return ""
    low, high = sizes
    if open_end:
        return f"95 % range {f'{low} or more' if open_end == 'high' else f'{high} or less'}"
    return f"95 % range {low} only" if low == high else f"95 % range {low} to {high}"
