"""An account that loses a privilege in the middle of a sweep, or a server that nothing may be written to any more."""

from poolsize.errors import WorkFailed
from poolsize.runs.run import Step
from poolsize.runs.stopped import StopReason
from poolsize.target.connection import is_denied


def raise_denied(step: Step) -> None:
    """Raise WorkFailed where most failures of a step that ended early are refusals: no other attempt would pass."""
    if step.stopped is None or step.stopped.reason is not StopReason.TOO_MANY_ERRORS:
        return
    failed = {kind: sum(seconds) for kind, seconds in step.errors.items()}
    denied = sum(number for kind, number in failed.items() if is_denied(kind))
    if 2 * denied > sum(failed.values()):
        kind = max(failed, key=lambda kind: failed[kind])
        raise WorkFailed(
            f"the server refuses the workload's statements ({kind}): give the account its privileges again, or let the "
            "server be written to"
        )
