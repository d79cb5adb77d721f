"""A prediction as one JSON object."""

import json
from dataclasses import asdict

from poolsize.answer.prediction import Prediction
from poolsize.present.text.sentences.findings import sentence


def prediction_json(prediction: Prediction) -> str:
    """Return users, think_time_ms, network, sizes, error, findings, and the findings as sentences (`notes`)."""
    fields = asdict(prediction)
    fields["network"].pop("covariance")
    return json.dumps(fields | {"notes": [sentence(finding) for finding in prediction.findings]})
