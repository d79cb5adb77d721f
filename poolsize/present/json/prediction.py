"""A prediction as a JSON object."""

import json
from dataclasses import asdict

from poolsize.answer.prediction import Prediction
from poolsize.present.text.sentences.findings import sentence


def prediction_json(prediction: Prediction) -> str:
    """Return a prediction as a JSON object.

    Keys: the fields of Prediction (network without its covariance), and notes: the findings as sentences.
    """
    fields = asdict(prediction)
    fields["network"].pop("covariance")
    return json.dumps(fields | {"notes": [sentence(finding) for finding in prediction.findings]})
