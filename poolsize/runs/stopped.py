"""The early end of a step: why, and the figures of the reason."""

from collections.abc import Mapping
from enum import StrEnum

from poolsize.record import Count, Name, record


class StopReason(StrEnum):
    """Why a step ended before its planned length."""

    TOO_MANY_ERRORS = "too_many_errors"
    BACKLOG = "backlog"
    WORKER_LOST = "worker_lost"


@record
class Stopped:
    """An early end of a step.

    reason: why the step ended early.
    values: the figures of the reason. `too_many_errors`: `failed` of all `transactions`. `backlog`: `backlog`,
    transactions that were due and had no connection. `worker_lost`: `lost` of all `workers`.
    """

    reason: StopReason
    values: Mapping[Name, Count]
