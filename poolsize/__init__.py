"""How many connections should my pool have? Measures MySQL and MariaDB, and answers.

The flow; every box is a frozen dataclass, every arrow a function, and the tree has a folder for each part:

    facts.Machine, facts.Server --formula--> StartingPoint --sweep.planning--> SweepPlan
        --sweep.loop <-> load, server, locust (or sweep.replay)--> Step, Step, ... --runs.store--> Run (a file)
        --analysis--> Analysis --answer--> Recommendation, FleetPlan (and in wings: Comparison, Prediction)
        --present--> text, JSON, plots, report, notebook
    Traffic (a rate and usage times) --traffic--> PoolUse --answer--> TrafficAnswer, TrafficPlan

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
    from poolsize.answer.fleet_from_traffic import TrafficPlan, TrafficPool, plan_fleet_for
    from poolsize.answer.fleet_plan import FleetPlan, plan_fleet
    from poolsize.answer.from_run import recommend
    from poolsize.answer.from_traffic import TrafficAnswer, recommend_for
    from poolsize.answer.recommendation import Recommendation
    from poolsize.answer.traffic import Supply, Traffic
    from poolsize.comparison.comparison import Comparison, compare
    from poolsize.formula import StartingPoint, starting_point
    from poolsize.present.text.recommendation import explain
    from poolsize.runs.run import Run, Step
    from poolsize.runs.store import load_run
    from poolsize.traffic.usage_phases import UsageTimes

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
    "Supply",
    "Traffic",
    "TrafficAnswer",
    "TrafficPlan",
    "TrafficPool",
    "UsageTimes",
    "analyze",
    "compare",
    "explain",
    "load_run",
    "plan_fleet",
    "plan_fleet_for",
    "recommend",
    "recommend_for",
    "starting_point",
]

_HOMES = {
    "analysis.analysis": ("Analysis", "analyze"),
    "answer.application": ("ClientTimes",),
    "answer.fleet": ("ServerLimit", "Service", "ServicePool"),
    "answer.fleet_from_traffic": ("TrafficPlan", "TrafficPool", "plan_fleet_for"),
    "answer.fleet_plan": ("FleetPlan", "plan_fleet"),
    "answer.from_run": ("recommend",),
    "answer.from_traffic": ("TrafficAnswer", "recommend_for"),
    "answer.traffic": ("Supply", "Traffic"),
    "answer.recommendation": ("Recommendation",),
    "comparison.comparison": ("Comparison", "compare"),
    "formula": ("StartingPoint", "starting_point"),
    "present.text.recommendation": ("explain",),
    "runs.run": ("Run", "Step"),
    "runs.store": ("load_run",),
    "traffic.usage_phases": ("UsageTimes",),
}
"""Module -> the public names that are in it."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `poolsize recommend` starts at once."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"poolsize.{module}"), name)
    raise AttributeError(f"module 'poolsize' has no attribute {name!r}")
