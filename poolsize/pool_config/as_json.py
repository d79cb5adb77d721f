"""A configuration, and a checked one, as JSON objects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from poolsize.pool_config.check import CheckedPool
from poolsize.pool_config.configuration import Configuration
from poolsize.pool_config.settings import PoolSettings
from poolsize.pool_config.stacks import Stack
from poolsize.present.text.sentences.findings import findings_values, reason_sentences, warning_sentences


def stacks_json(stacks: Mapping[str, Stack]) -> str:
    """Return a JSON list of objects with the keys name, which `--for` takes, and title."""
    return json.dumps([{"name": name, "title": stack.title} for name, stack in stacks.items()])


def configuration_json(name: str, configured: Configuration, settings: PoolSettings) -> str:
    """Return a configuration as a JSON object.

    Keys: stack; file: its usual name; pool_size: of a process; verdict: on the pool size of a run, or null without a
    run; connections and connections_in_deploy: of all pools, and in a rolling deploy; settings: name, value, unit and
    why of each; advice: sentences; text: to paste.
    """
    values: dict[str, Any] = {
        "stack": name,
        "file": configured.stack.file,
        "pool_size": settings.size,
        "verdict": settings.of_run and settings.of_run.verdict,
        "connections": settings.plan.connections,
        "connections_in_deploy": settings.plan.connections_in_deploy,
        "settings": [asdict(setting) for setting in configured.settings],
        "advice": configured.advice,
        "text": configured.text,
    }
    return json.dumps(values)


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
        "findings": findings_values(checked.findings),
        "warnings": warning_sentences(checked.findings),
        "reasons": reason_sentences(checked.findings),
        "differences": values["differences"],
    }
