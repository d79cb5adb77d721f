"""How many connections should my pool have? Measures MySQL and MariaDB, and answers.

The flow; every box is a frozen dataclass, every arrow a function, and the tree has a folder for each part:

    facts.Machine, facts.Server --formula--> StartingPoint --sweep.planning--> SweepPlan
        --sweep.loop <-> load, server, locust (or sweep.replay)--> Step, Step, ... --runs.store--> Run (a file)
        --analysis--> Analysis --answer--> Recommendation, FleetPlan (and in wings: Comparison, Prediction)
        --present--> text, JSON, plots, report, notebook

A stored run is the only bridge between measuring and everything after it::

    from poolsize import explain, load_run, recommend

    answer = recommend(load_run("data/examples/scan-mariadb.jsonl"))
    print(answer.pool_size, answer.range)
    print(explain(answer))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolsize.analysis.analysis import Analysis, analyze
    from poolsize.answer.application import ClientTimes
    from poolsize.answer.fleet import ServerLimit, Service, ServicePool
    from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
    from poolsize.answer.from_run import recommend
    from poolsize.answer.recommendation import Recommendation
    from poolsize.comparison.comparison import Comparison, compare
    from poolsize.formula import StartingPoint, starting_point
    from poolsize.present.text.recommendation import explain
    from poolsize.runs.run import Run, Step
    from poolsize.runs.store import load_run

__all__ = [
    "Analysis",
    "ClientTimes",
    "Comparison",
    "FleetPlan",
    "Recommendation",
    "Run",
    "ServerLimit",
    "Service",
    "ServicePool",
    "StartingPoint",
    "Step",
    "analyze",
    "compare",
    "explain",
    "load_run",
    "plan_fleet",
    "recommend",
    "starting_point",
]

_HOMES = {
    "Analysis": "poolsize.analysis.analysis",
    "ClientTimes": "poolsize.answer.application",
    "Comparison": "poolsize.comparison.comparison",
    "FleetPlan": "poolsize.answer.fleet_plan",
    "Recommendation": "poolsize.answer.recommendation",
    "Run": "poolsize.runs.run",
    "ServerLimit": "poolsize.answer.fleet",
    "Service": "poolsize.answer.fleet",
    "ServicePool": "poolsize.answer.fleet",
    "StartingPoint": "poolsize.formula",
    "Step": "poolsize.runs.run",
    "analyze": "poolsize.analysis.analysis",
    "compare": "poolsize.comparison.comparison",
    "explain": "poolsize.present.text.recommendation",
    "load_run": "poolsize.runs.store",
    "plan_fleet": "poolsize.answer.fleet_plan",
    "recommend": "poolsize.answer.from_run",
    "starting_point": "poolsize.formula",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `poolsize recommend` starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'poolsize' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
