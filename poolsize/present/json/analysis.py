"""An analysis as a JSON object."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from math import inf, isnan
from typing import Any

from poolsize.analysis.analysis import Analysis
from poolsize.analysis.bottleneck import Bottleneck
from poolsize.analysis.size_summary import KindSummary, SizeSummary, VerifiedStep
from poolsize.analysis.stats.confidence import Interval
from poolsize.analysis.stats.percentiles import Percentiles
from poolsize.present.text.sentences.bottlenecks import bottleneck_evidence
from poolsize.present.text.sentences.checks import check_sentence
from poolsize.runs.check_result import CheckResult
from poolsize.runs.usual_speed import usual_speed


def analysis_json(analysis: Analysis) -> str:
    """Return an analysis as a JSON object.

    steps: an object for each pool size, with throughput per second and times in ms. estimates: estimator -> pool size.
    estimators: with ranges and tests. cause: the bottleneck. verified: verification steps. void: excluded steps.
    calibration: of the load generator. usual_speed: of the machine, as the counter machine_speed. Unknown values: null.
    """
    plateau = analysis.plateau.pool_size if analysis.plateau else None
    estimates = analysis.models.estimates
    return json.dumps(
        {
            "steps": [_size(size) for size in analysis.sizes],
            "estimates": {name: estimate.pool_size for name, estimate in estimates.items()} or {"plateau": plateau},
            "estimators": {name: asdict(estimate) for name, estimate in estimates.items()},
            "cause": _bottleneck(analysis.bottleneck) if analysis.bottleneck else None,
            "verified": [_verified(step) for step in analysis.verified],
            "void": [
                {"pool_size": step.pool_size, "checks": _checks(step.failed_checks)} for step in analysis.excluded
            ],
            "calibration": asdict(analysis.run.calibration) if analysis.run.calibration else None,
            "usual_speed": usual_speed(analysis.run),
        }
    )


def _size(size: SizeSummary) -> dict[str, Any]:
    return {
        "pool_size": size.pool_size,
        "repeats": size.repeats,
        "throughput": size.throughput.mean,
        "throughput_low": size.throughput.low,
        "throughput_high": _ends(size.throughput)[1],
        "wait_ms": _percentiles(size.wait),
        "usage_ms": _percentiles(size.usage),
        "total_ms": _percentiles(size.total),
        "intervals_ms": {
            name: {quantile: _ends(interval) for quantile, interval in quantiles.items()}
            for name, quantiles in size.intervals.items()
        },
        "kinds": {name: _kind(kind) for name, kind in size.kinds.items()},
        "utilisation": size.utilisation,
        "demands": asdict(size.demands) if size.demands else None,
        "errors": size.errors,
        "valid": size.valid,
        "checks": _checks(size.failed_checks),
    }


def _kind(kind: KindSummary) -> dict[str, Any]:
    return {
        "transactions": kind.transactions,
        "share": kind.share,
        "wait_ms": _percentiles(kind.wait),
        "usage_ms": _percentiles(kind.usage),
        "total_ms": _percentiles(kind.total),
    }


def _bottleneck(bottleneck: Bottleneck) -> dict[str, Any]:
    evidence = bottleneck_evidence(bottleneck.name, bottleneck.values)
    return {"name": bottleneck.name, "evidence": evidence, "values": bottleneck.values}


def _checks(results: Iterable[CheckResult]) -> list[dict[str, Any]]:
    return [
        {
            "name": result.check,
            "passed": result.passed,
            "detail": check_sentence(result),
            "values": result.values,
        }
        for result in results
    ]


def _percentiles(percentiles: Percentiles) -> dict[str, float | None]:
    """Return percentiles by name; None for NaN, which JSON does not have."""
    return {name: None if isnan(value) else value for name, value in asdict(percentiles).items()}


def _ends(interval: Interval) -> tuple[float, float | None]:
    """Return both ends of an interval; None for infinity, which JSON does not have."""
    return interval.low, interval.high if interval.high != inf else None


def _verified(step: VerifiedStep) -> dict[str, Any]:
    return {
        "pool_size": step.pool_size,
        "load": step.load,
        "rate": step.rate,
        "throughput": step.throughput,
        "wait_ms": _percentiles(step.wait),
        "total_ms": _percentiles(step.total),
        "checks": _checks(step.failed_checks),
    }
