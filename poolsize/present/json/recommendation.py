"""A recommendation as a JSON object."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences

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
