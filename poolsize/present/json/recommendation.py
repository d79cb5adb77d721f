"""The answers as JSON objects: a recommendation, a fleet, an inspected server."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsize.answer.fleet_plan import FleetPlan
from poolsize.answer.recommendation import Recommendation
from poolsize.formula import CONNECTIONS_PER_CORE
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences

if TYPE_CHECKING:  # pydantic stays out of `poolsize recommend --cores 8`
    from poolsize.facts.inspection import Inspection

MEASURED_ONLY = (
    "throughput", "database_size", "database_range", "application", "application_sizes", "limit_probability",
    "two_pools", "measured_in", "estimates", "regret",
)  # fmt: skip
KEYS = {"prices": "regret"}
"""Field -> its key, where they differ."""


def recommendation_json(answer: Recommendation, **more: Any) -> str:
    """Return a recommendation as a JSON object.

    Keys: the fields of Recommendation (KEYS renames), for a formula without the measured fields; connections, of all
    pools together; reasons and warnings: the findings as sentences. more: further keys and their values.
    """
    fields = {KEYS.get(name, name): value for name, value in asdict(answer).items()} | {
        "connections": answer.connections,
        "reasons": reason_sentences(answer.findings),
        "warnings": warning_sentences(answer.findings),
    }
    if answer.basis == "formula":
        fields = {name: value for name, value in fields.items() if name not in MEASURED_ONLY}
    return json.dumps(fields | more)


def fleet_json(plan: FleetPlan) -> str:
    """Return a fleet's plan as a JSON object, with the keys of fleet_values."""
    return json.dumps(fleet_values(plan))


def fleet_values(plan: FleetPlan) -> dict[str, Any]:
    """Return a fleet's plan as data.

    Keys: the fields of FleetPlan; connections and connections_in_deploy of all pools, null without pools; reasons and
    warnings: the findings as sentences.
    """
    return asdict(plan) | {
        "connections": plan.connections or None,
        "connections_in_deploy": plan.connections_in_deploy or None,
        "reasons": reason_sentences(plan.findings),
        "warnings": warning_sentences(plan.findings),
    }


def inspection_values(inspection: "Inspection") -> dict[str, Any]:
    """Return the facts of a server as data: the fields of Inspection."""
    return asdict(inspection)


def per_core_json(inspection: "Inspection", effective_disks: float) -> str:
    """Return the formula's answer for a server whose cores are not known, as a JSON object.

    Keys: those of a recommendation, with null where they need the cores; connections_per_core; facts.
    """
    return json.dumps(
        {
            "basis": "formula",
            "pool_size": None,
            "range": None,
            "connections_per_core": CONNECTIONS_PER_CORE,
            "formula": {"cores": None, "effective_disks": effective_disks, "connections": None},
            "verdict": None,
            "facts": inspection_values(inspection),
        }
    )
