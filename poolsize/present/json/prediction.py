"""A prediction as a JSON object."""

import json
from dataclasses import asdict

from poolsize.answer.prediction import Prediction
from poolsize.present.text.sentences.findings import sentence

NETWORK = ("client", "cpu", "queue", "delay_ms")
"""The fields of the network that are in JSON; the others are of its fit."""


def prediction_json(prediction: Prediction) -> str:
    """Return a prediction as a JSON object.

    Keys: the fields of Prediction, of the network only those of NETWORK, and notes: the findings as sentences.
    """
    fields = asdict(prediction)
    fields["network"] = {name: fields["network"][name] for name in NETWORK}
    return json.dumps(fields | {"notes": [sentence(finding) for finding in prediction.findings]})
