"""The work that a server does for others, before a sweep adds its own."""

import time
from dataclasses import dataclass

from poolsize.errors import BadInput
from poolsize.facts.server import Cursor, number_of, read_pairs

SAMPLES_SECONDS = (0.2, 1.0)
"""The second sample is taken where the first is busy: a single burst, as of monitoring, is no load."""
OWN_STATEMENTS = 1
"""Of the sample itself, which the server counts."""
BUSY_PER_SECOND = 10.0


@dataclass(frozen=True)
class Activity:
    """The work of other programs on a server. statements_per_second: the least of the samples."""

    statements_per_second: float

    @property
    def busy(self) -> bool:
        """Whether a load would disturb others, and be disturbed."""
        return self.statements_per_second >= BUSY_PER_SECOND


def read_activity(cursor: Cursor) -> Activity:
    """Return what others do on the server while the cursor's connection is the only one of poolsize's.

    Raises BadInput where the server does not count statements.
    """
    activity = Activity(float("inf"))
    for seconds in SAMPLES_SECONDS:
        if activity.busy:
            activity = Activity(min(activity.statements_per_second, _statements_per_second(cursor, seconds)))
    return activity


def _statements_per_second(cursor: Cursor, seconds: float) -> float:
    before, started = _questions(cursor), time.perf_counter()
    time.sleep(seconds)
    statements = _questions(cursor) - before - OWN_STATEMENTS
    return max(0.0, statements / (time.perf_counter() - started))


def _questions(cursor: Cursor) -> int:
    questions = number_of(read_pairs(cursor, "questions"), "Questions")
    if questions is None:
        raise BadInput("`url`: the server does not count its statements, so it may be serving others: add `yes`")
    return questions
