"""A comparison as a JSON object."""

import json
from dataclasses import asdict
from typing import Any

from poolsize.analysis.stats.paired_differences import Difference
from poolsize.answer.comparison import ComparedRun, Comparison, RunDifference
from poolsize.present.text.comparison import difference_sentences


def comparison_json(comparison: Comparison) -> str:
    """Return a comparison as a JSON object.

    Keys: field, runs, and differences: of each further run from the first, as shares, in all and at each pool size.
    """
    return json.dumps(
        {
            "field": comparison.field,
            "runs": [_run(run) for run in comparison.runs],
            "differences": [_against(comparison, other) for other in comparison.others],
        }
    )


def _run(run: ComparedRun) -> dict[str, Any]:
    return {
        "run": run.name,
        "value": run.value,
        "pool_size": run.answer.pool_size,
        "range": run.answer.range,
        "verdict": run.answer.verdict,
    }


def _against(comparison: Comparison, other: RunDifference) -> dict[str, Any]:
    return {
        "run": other.run.name,
        "throughput": _difference(other.throughput),
        "p95": _difference(other.p95),
        "sizes": [
            {
                "pool_size": size.pool_size,
                "throughput": _difference(size.throughput),
                "p95": _difference(size.p95),
            }
            for size in other.sizes
        ],
        "left_out": other.left_out,
        "apart_seconds": other.apart_seconds,
        "in_turn": other.in_turn,
        "longer_loop": other.longer_loop,
        "faster_machine": other.faster_machine,
        "sentences": difference_sentences(comparison, other),
    }


def _difference(difference: Difference | None) -> dict[str, float | bool] | None:
    return None if difference is None else asdict(difference) | {"real": difference.significant}
