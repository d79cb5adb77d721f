"""The timeouts of an exhausted pool, as text for a terminal."""

from collections.abc import Sequence

from poolsize.answer.exhaustion import Exhaustion
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import UNKNOWN, Table
from poolsize.units import count, milliseconds, percent

COLUMNS = (
    "wait limit", "pool", "timed out", "predicted", "by own usage times", "connections needed", "wait limit needed",
)  # fmt: skip
NEEDED = (
    "Connections needed: the smallest pool that would lose hardly any transaction at this wait limit. Wait limit "
    "needed: the shortest that would do so at this pool size. Both are predicted from the run without a limit, as the "
    "share that times out is. By own usage times: the same by the usage times of the step with the limit, which differ "
    "where the machine has changed its speed."
)


def exhaustion_text(timeouts: Sequence[Exhaustion]) -> str:
    """Return a table of measured and predicted timeouts, the errors, and how to read the last columns."""
    rows = tuple(
        (
            milliseconds(timeout.limit_ms),
            str(timeout.pool_size),
            percent(timeout.measured),
            percent(timeout.predicted),
            percent(timeout.by_own_usage),
            str(timeout.enough_connections),
            UNKNOWN if timeout.enough_ms is None else milliseconds(timeout.enough_ms),
        )
        for timeout in timeouts
    )
    errors = sorted({name for timeout in timeouts for name in timeout.errors})
    notes = [NEEDED]
    if errors:
        notes.append(f"The transactions failed with: {', '.join(errors)}.")
    in_doubt = [_in_doubt(timeout) for timeout in timeouts if timeout.failed_checks]
    if in_doubt:
        notes.append(f"Caution: these steps failed a check: {'; '.join(in_doubt)}.")
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets(notes)}"


def _in_doubt(timeout: Exhaustion) -> str:
    """Return a step whose checks failed, by wait limit and pool size, with these checks."""
    step = f"{milliseconds(timeout.limit_ms)} with {count(timeout.pool_size, 'connection')}"
    return f"{step} ({', '.join(timeout.failed_checks)})"
