"""The prediction of a scenario at its published size, as text for a terminal."""

from poolsize.answer.full_size import FullSizePrediction
from poolsize.present.text.bullets import bullets
from poolsize.present.text.table import Table
from poolsize.units import count, milliseconds, per_second

COLUMNS = ("users", "pool", "", "throughput", "mean wait", "mean usage")


def full_size_text(prediction: FullSizePrediction) -> str:
    """Return a table of the measured and the predicted sizes, and what the prediction rests on."""
    rows = tuple(
        (
            f"{each.users:,}",
            f"{each.pool_size:,}",
            name,
            per_second(each.throughput),
            milliseconds(each.wait_ms),
            milliseconds(each.usage_ms),
        )
        for name, part in (("measured", prediction.measured), ("predicted", prediction.predicted))
        for each in part
    )
    most = 1000 * prediction.cores / prediction.cpu_ms
    basis = (
        f"Predicted: a closed network with the server's {milliseconds(prediction.cpu_ms)} of CPU time per transaction "
        f"on {count(prediction.cores, 'core')}, which allow at most {per_second(most)}. The load generator limits "
        "nothing there; locks, the disk and the cost of many connections are left out."
    )
    return f"{Table(COLUMNS, rows).as_text()}\n\n{bullets([basis])}"
