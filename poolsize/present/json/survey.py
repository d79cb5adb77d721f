"""A survey of pools, as JSON."""

import json
from dataclasses import asdict

from poolsize.scenarios.scenario import Scenario
from poolsize.survey.timing import POOL_SIZE, Survey


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
