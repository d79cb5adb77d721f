"""The early end of a step: why, and the figures of the reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    """Why a step ended before its planned length."""

    TOO_MANY_ERRORS = "too_many_errors"
    BACKLOG = "backlog"
    WORKER_LOST = "worker_lost"


@dataclass(frozen=True)
class Stopped:
    """An early end of a step.

    reason: why the step ended early.
    values: the figures of the reason. `too_many_errors`: `failed` of all `transactions`. `backlog`: `backlog`,
    transactions that were due and had no connection. `worker_lost`: `lost` of all `workers`.
    """

    reason: StopReason
    values: Mapping[str, int]
