"""The prediction of a scenario at its published size, where a quick run measured fewer users and connections."""

from dataclasses import dataclass

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.models.closed_network import Station, throughputs
from poolsize.present.text.layout import Table, bullets
from poolsize.runs.plan import SweepPlan
from poolsize.traffic.finite_source import finite_source
from poolsize.units import count, milliseconds, per_second


@dataclass(frozen=True)
class UsersAtWork:
    """How a number of users fares with a pool, as measured or as predicted.

    throughput: transactions per second. wait_ms, usage_ms: means.
    """

    users: int
    pool_size: int
    throughput: float
    wait_ms: float
    usage_ms: float


@dataclass(frozen=True)
class FullSizePrediction:
    """The measured sizes, and the predicted ones.

    cpu_ms: CPU time of a transaction at the server. cores: that the server may use.
    """

    measured: tuple[UsersAtWork, ...]
    predicted: tuple[UsersAtWork, ...]
    cpu_ms: float
    cores: int


def full_size_prediction(analysis: Analysis, plan: SweepPlan) -> FullSizePrediction | None:
    """Return the prediction for the users and pool sizes of a plan; None where the server's CPU time was not measured.

    The closed network has the server's CPU as its station, with the demand measured at the largest pool size, where
    users hardly wait. The rest of the usage time is a delay: load generators are enough. In front of it are the users
    with the run's think time (a finite source). Locks, the disk and the cost of many connections are left out.
    """
    largest, users = analysis.sizes[-1], analysis.setting.plan.users
    demands = largest.demands
    if demands is None or demands.inferred:
        return None
    station = Station(demands.server_ms, demands.server_cores)
    rates = throughputs([station], max(0.0, largest.usage.mean - demands.server_ms), max(plan.sizes))
    measured = tuple(
        UsersAtWork(users, each.pool_size, each.throughput.mean, each.wait.mean, each.usage.mean)
        for each in analysis.sizes
    )
    sources = {size: finite_source(rates[:size], plan.users, analysis.run.think_time_ms) for size in plan.sizes}
    predicted = tuple(
        UsersAtWork(plan.users, size, 1000 * source.throughput, source.wait_ms, source.usage_ms)
        for size, source in sources.items()
    )
    return FullSizePrediction(measured, predicted, demands.server_ms, demands.server_cores)


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
