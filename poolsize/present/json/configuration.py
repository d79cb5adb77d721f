"""A configuration as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from poolsize.answer.pool_settings import PoolSettings
from poolsize.present.config.configuration import Configuration
from poolsize.present.config.stacks import Stack


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
