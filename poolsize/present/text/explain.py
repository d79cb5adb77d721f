"""A recommendation in words, for Python: the text that the command line prints."""

from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.recommendation import recommendation_text


def explain(answer: Recommendation) -> str:
    """Return a recommendation as text: the pool size, the reasons, the price table and the warnings."""
    return recommendation_text(answer)
