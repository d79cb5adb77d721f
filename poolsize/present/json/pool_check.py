"""The pools of a file with their findings, as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from poolsize.answer.pool_check import CheckedPool
from poolsize.present.text.sentences.findings import reason_sentences, warning_sentences


def pool_checks_json(file: str, pools: Sequence[CheckedPool], more: int = 0) -> str:
    """Return a JSON object. Keys: file, pools, and more_pools: the number of further pools in the file.

    pools: library, place, settings, most_connections, findings, and differences.
    findings: also as sentences, in warnings and reasons. differences: null without a recommendation.
    """
    return json.dumps({"file": file, "pools": [_values(pool) for pool in pools], "more_pools": more})


def _values(checked: CheckedPool) -> dict[str, Any]:
    values = asdict(checked)
    return {
        "library": checked.pool.library.title,
        "place": checked.pool.place,
        "settings": values["pool"]["settings"],
        "most_connections": checked.most_connections,
        "findings": values["findings"],
        "warnings": warning_sentences(checked.findings),
        "reasons": reason_sentences(checked.findings),
        "differences": values["differences"],
    }
