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


def exhaustion_text(found: Sequence[Exhaustion]) -> str:
    """Return a table of measured and predicted timeouts, the errors, and how to read the last columns."""
    rows = tuple(
        (
            milliseconds(one.limit_ms),
            str(one.pool_size),
            percent(one.measured),
            percent(one.predicted),
            percent(one.by_own_usage),
            str(one.enough_connections),
            UNKNOWN if one.enough_ms is None else milliseconds(one.enough_ms),
        )
        for one in found
    )
    errors = sorted({name for one in found for name in one.errors})
    notes = [NEEDED]
    if errors:
        notes.append(f"The transactions failed with: {', '.join(errors)}.")
    in_doubt = [
        f"{milliseconds(one.limit_ms)} with {count(one.pool_size, 'connection')} ({', '.join(one.failed_checks)})"
        for one in found
        if one.failed_checks
    ]
    if in_doubt:
        notes.append(f"Caution: these steps failed a check: {'; '.join(in_doubt)}.")
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets(notes)}"
