"""Ends a sweep whose account loses a privilege, or whose server becomes read-only."""

from poolsize.errors import WorkFailed
from poolsize.runs.run import Step
from poolsize.runs.stopped import StopReason
from poolsize.target.connection import is_denied


def raise_denied(step: Step) -> None:
    """Raise WorkFailed where most failures of a step that ended early are refusals: no other attempt would pass."""
    if step.stopped is None or step.stopped.reason is not StopReason.TOO_MANY_ERRORS:
        return
    failed = {kind: sum(seconds) for kind, seconds in step.errors.items()}
    refused = {kind: number for kind, number in failed.items() if is_denied(kind)}
    if 2 * sum(refused.values()) > sum(failed.values()):
        kind = max(refused, key=refused.__getitem__)
        raise WorkFailed(
            f"the server refuses the workload's statements ({kind}): give the account its privileges again, or let the "
            "server be written to"
        )
