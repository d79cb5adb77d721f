"""An inspected server as JSON, and the answer where its cores are not known."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.facts.inspection import Inspection
from poolsize.formula import CONNECTIONS_PER_CORE


def inspection_values(inspection: Inspection) -> dict[str, Any]:
    """Return the facts of a server as data: the fields of Inspection."""
    return asdict(inspection)


def per_core_json(inspection: Inspection, effective_disks: float) -> str:
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
