"""A fleet's pools as JSON."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.answer.fleet_plan import FleetPlan
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences


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
