"""A recommendation as one JSON object."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences

MEASURED_ONLY = ("throughput", "database_size", "database_range", "two_pools", "estimates", "regret")


def recommendation_json(answer: Recommendation, **more: Any) -> str:
    """Return the recommendation's fields, its findings also as sentences (`reasons`, `warnings`).

    A formula has no measured fields. more: further keys.
    """
    fields = asdict(answer) | {
        "reasons": reason_sentences(answer.findings),
        "warnings": warning_sentences(answer.findings),
    }
    if answer.basis == "formula":
        fields = {name: value for name, value in fields.items() if name not in MEASURED_ONLY}
    return json.dumps(fields | more)
