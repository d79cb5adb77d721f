"""A scenario's run beside the published figures, and the survey of pools, as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite

from poolsize.analysis.stats.confidence import Interval
from poolsize.experiments.agreement import Agreement
from poolsize.experiments.exhaustion import Exhaustion
from poolsize.experiments.full_size import FullSizePrediction
from poolsize.experiments.ports import PortUse
from poolsize.experiments.refused import Refused
from poolsize.experiments.scenario import Scenario
from poolsize.experiments.survey.timing import POOL_SIZE, Survey


@dataclass(frozen=True)
class More:
    """What some scenarios answer beside their claims."""

    timeouts: Sequence[Exhaustion] = ()
    ports: Sequence[PortUse] = ()
    refused: Sequence[Refused] = ()
    at_full_size: FullSizePrediction | None = None


def scenarios_json(scenarios: Sequence[tuple[str, Scenario, int]]) -> str:
    """Return a JSON list of objects with the keys name, question, source, and seconds (of load with the defaults)."""
    return json.dumps(
        [
            {"name": name, "question": scenario.question, "source": scenario.source, "seconds": seconds}
            for name, scenario, seconds in scenarios
        ]
    )


def agreement_json(agreement: Agreement, *, name: str, runs: Sequence[str], more: More) -> str:
    """Return a JSON object.

    Keys: scenario, its name; question; source; runs, the path of one for each sweep; claims, each with text, sizes,
    sides (first or other run), p95_of (the kind whose latencies are compared, "all transactions", or null for
    throughput), measured, published (curve -> ratio), direction, and agrees (null where the measurement is unclear).
    measured has mean, low and high, which are null where infinite; without valid figures measured is null. timeouts:
    the fields of Exhaustion, one object a pool size and wait limit. ports: the fields of PortUse, with steady and
    seconds_left, one object a pool size. refused: the fields of Refused, one object a pool size. at_full_size: the
    fields of FullSizePrediction, or null.
    """
    return json.dumps(
        {
            "scenario": name,
            "question": agreement.scenario.question,
            "source": agreement.scenario.source,
            "runs": list(runs),
            "timeouts": [asdict(exhaustion) for exhaustion in more.timeouts],
            "ports": [_ports(use) for use in more.ports],
            "refused": [asdict(refused) for refused in more.refused],
            "at_full_size": more.at_full_size and asdict(more.at_full_size),
            "claims": [
                {
                    "text": verdict.claim.text,
                    "sizes": list(verdict.claim.sizes),
                    "sides": list(verdict.claim.sides),
                    "p95_of": verdict.claim.p95_of,
                    "measured": _finite(verdict.measured),
                    "published": dict(verdict.published),
                    "direction": verdict.direction,
                    "agrees": verdict.agrees,
                }
                for verdict in agreement.verdicts
            ],
        }
    )


def _ports(use: PortUse) -> dict[str, float | None]:
    values = asdict(use) | {"steady": use.steady, "seconds_left": use.seconds_left}
    return {name: value if value is not None and isfinite(value) else None for name, value in values.items()}


def _finite(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None:
        return None
    values = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    return {name: value if isfinite(value) else None for name, value in values.items()}


def survey_json(name: str, scenario: Scenario, survey: Survey, path: str) -> str:
    """Return a JSON object.

    path: of the survey's file. Keys: scenario, its name; question; source; file, the path; pool_size, connections of
    each pool; missing, pools whose libraries are not installed; java_left_out, why pools of Java were not timed, or
    null; timings, the fields of Timing with time_us, fair_wait_ms (null without a transaction) and starves, one object
    a pool, concurrency, work and number of users.
    """
    return json.dumps(
        {
            "scenario": name,
            "question": scenario.question,
            "source": scenario.source,
            "file": path,
            "pool_size": POOL_SIZE,
            "missing": list(survey.missing),
            "java_left_out": survey.java_left_out,
            "timings": [
                asdict(timing)
                | {"time_us": timing.time_us, "fair_wait_ms": timing.fair_wait_ms, "starves": timing.starves}
                for timing in survey.timings
            ],
        }
    )
