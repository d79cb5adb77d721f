"""The problems of checked files as annotations of a pipeline: GitHub's workflow commands, and GitLab's Code Quality.

Sources: actions/toolkit, packages/core/src/command.ts, for the escapes; GitLab's documentation, Code Quality report
format.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from poolsize.answer.finding import Severity
from poolsize.pool_config.check_text import Problem
from poolsize.present.text.json_text import json_text

GITHUB_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
GITHUB_PROPERTY = GITHUB_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def github_annotations(problems: Iterable[Problem]) -> str:
    """Return a line for each problem: an error for what gives exit code 3, otherwise a notice."""
    return "\n".join(map(_github, problems))


def _github(problem: Problem) -> str:
    title = "poolsize" + (f" {problem.setting}" if problem.setting else "")
    properties = {"file": problem.file, "line": problem.line, "title": title}
    texts = (f"{name}={str(value).translate(GITHUB_PROPERTY)}" for name, value in properties.items() if value)
    level = "notice" if problem.severity is Severity.REASON else "error"
    return f"::{level} {','.join(texts)}::{problem.message.translate(GITHUB_DATA)}"


def gitlab_report(problems: Iterable[Problem]) -> str:
    """Return a JSON array with an object for each problem. A problem of no line stands at line 1, as GitLab demands."""
    earlier: Counter[tuple[str | None, ...]] = Counter()
    return json_text([_gitlab(problem, earlier) for problem in problems])


def _gitlab(problem: Problem, earlier: Counter[tuple[str | None, ...]]) -> dict[str, Any]:
    """Return a problem as an object. earlier: how often the same problem came before in its file.

    The fingerprint contains no line: the problem stays the same when lines are added above it.
    """
    key = (problem.file, problem.code, problem.setting)
    fingerprint = hashlib.sha256(repr((*key, earlier[key])).encode(errors="replace")).hexdigest()
    earlier[key] += 1
    return {
        "description": problem.message,
        "check_name": problem.code,
        "fingerprint": fingerprint,
        "severity": "info" if problem.severity is Severity.REASON else "major",
        "location": {"path": problem.file, "lines": {"begin": problem.line or 1}},
    }
