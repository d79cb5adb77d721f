"""Older formats -> today's format, line by line, before the lines are validated."""

import re
from typing import Any

CHECK_SENTENCES = {
    "littles_law": r"(?P<users>\d+) users, .* accounts for (?P<accounted_users>[\d.]+) \((?P<deviation>[-+.\d]+%)\)",
    "arrivals": r"(?P<due_per_second>[\d.]+)/s were due and (?P<throughput>[\d.]+)/s were done",
    "connections": r"the server counted (?P<server_connections>\d+|None) connections of (?P<pool_size>\d+)",
    "errors": r"failed transactions: (?P<kinds>.*) \((?P<share>[\d.]+%)\)",
    "steady_state": r".* had (?P<change>[-+.\d]+%) throughput against the first",
    "workers": r".* with (?P<connections>\d+) of (?P<pool_size>\d+) connections stayed to the end",
    "quiet": r".* used (?P<other_cores>[\d.]+) of this machine's (?P<cores>[\d.]+) cores, (?P<busy_cores>[\d.]+) of .*",
    "generator": r".* (?P<worker_cores>\d+%) of a core, .* (?P<loop_lag_ms>[\d.]+) ms late",
    "users_limited": r"(?P<pool_size>\d+) connections for ((?P<wanting_users>[\d.]+) callers at a time .*, of )?"
    r"(?P<users>\d+|an unknown number of)( callers)?",
}
"""Check -> pattern of the sentence that formats 1 to 3 stored in place of its figures."""
LONGEST_SENTENCE = 1000
"""No sentence was longer. The time of a pattern with two `.*` grows with the square of the length."""
STOP_SENTENCES = {
    "too_many_errors": r"(?P<failed>\d+) of (?P<transactions>\d+) transactions failed.*",
    "backlog": r"the queue grew to (?P<backlog>\d+) transactions.*",
    "worker_lost": r"lost ((?P<lost>\d+) of (?P<workers>\d+) load processes|a load process)",
}
"""Reason of an early end -> pattern of the sentence that formats 2 and 3 stored."""


def upgrade_header(header: dict[str, Any]) -> None:
    """Change the header of a run of format 1 to 7 to format 8, in place.

    Format 1 had closed loops of a fixed length, each measured once. Up to format 4, every sweep used the fair pool and
    poolsize's own schema.
    """
    if not isinstance(setting := header.get("setting"), dict):
        return
    setting.setdefault("schema", None)
    if isinstance(plan := setting.get("plan"), dict):
        if header["format"] == 1:
            plan |= {"precision": None, "rate": None, "pool_timeout_seconds": 30.0,
                     "error_budget": 0.01, "verify": [], "attempts": 1}  # fmt: skip
        plan.setdefault("pool", "fair")


def upgrade_record(record: dict[str, Any], older: int) -> None:
    """Change another line's record of a run of format 1 to 7 to format 8, in place. older: the run's format.

    A newer poolsize may have added steps to an older run; their fields stay as they are.
    """
    if not isinstance(step := record.get("step"), dict):
        return
    if older == 1:
        step |= {"rate": None, "p95_ms": [], "sections": {}, "server": {}, "stopped": None} | step
        for worker in step.get("workers", []):
            worker.setdefault("cpu_wait", 0.0)
    _upgrade_3(step)
    record["step"] = {"kinds": {}, "backlog": (), "busy": ()} | step


def _upgrade_3(step: dict[str, Any]) -> None:
    """Replace the sentences of checks and early ends by their figures."""
    step["checks"] = [_check(check) for check in step.get("checks", [])]
    if isinstance(sentence := step.get("stopped"), str):
        for reason, pattern in STOP_SENTENCES.items():
            if match := re.fullmatch(pattern, sentence):
                values = {name: int(text) for name, text in match.groupdict().items() if text}
                step["stopped"] = {"reason": reason, "values": values}


def _check(check: Any) -> Any:
    """Return a stored check with figures in place of its sentence; the sentence stays where it can't be parsed."""
    if not isinstance(check, dict) or "detail" not in check:
        return check
    name, sentence = str(check.get("name")), str(check["detail"])
    match = re.match(CHECK_SENTENCES.get(name, "$"), sentence[:LONGEST_SENTENCE])
    values: dict[str, Any] = {"detail": sentence}
    if match:
        values = {key: _value(text) for key, text in match.groupdict().items() if text}
    if kinds := values.pop("kinds", None):
        pairs = [kind.split(" ", 1) for kind in str(kinds).split(", ") if kind != "none"]
        values["failed"] = {kind: int(number) for number, kind in pairs}
    if name == "quiet" and not match:
        values = {}
    return {"check": name, "passed": check.get("passed"), "values": values}


def _value(text: str) -> float | int | str | None:
    """Return the figure in a part of a sentence: a number, a share for a percentage, or the text itself."""
    if text == "None":
        return None
    if text.endswith("%"):
        return float(text[:-1]) / 100
    if not re.fullmatch(r"[-+]?[\d.]+", text):
        return 0 if "unknown" in text else text
    return float(text) if "." in text else int(text)
