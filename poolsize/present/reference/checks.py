"""The page docs/reference/checks.md: every check of a step, from its function's docstring."""

import inspect
import re
from collections.abc import Callable

from poolsize.analysis import checks
from poolsize.present.reference.markdown import GENERATED, table
from poolsize.runs.check import Check
from poolsize.runs.check_result import CheckResult
from poolsize.runs.speed import speed_check

FUNCTIONS: dict[Check, Callable[..., CheckResult | None]] = {
    Check.LITTLES_LAW: checks.littles_law,
    Check.ARRIVALS: checks.arrivals,
    Check.CONNECTIONS: checks.connections,
    Check.ERRORS: checks.errors,
    Check.STEADY_STATE: checks.steady_state,
    Check.WORKERS: checks.workers,
    Check.QUIET: checks.quiet,
    Check.GENERATOR: checks.generator,
    Check.USERS_LIMITED: checks.pool_can_fill,
    Check.SPEED: speed_check,
    Check.SERVICE_THREADS: checks.service_threads,
}
INTRODUCTION = """
# Checks of a step

poolsize applies these checks to every step. `poolsize analyze` shows `ok`, or the names of the checks
that failed.

- **Retried**: the step is measured again, up to two more times, or once more where only `arrivals` failed. One attempt
  counts: the first that passes, or else the last that is not disqualified. The other attempts stay in the file, and no
  estimate uses them. In a search, a step that failed such a check counts only if its pool size has no better step.
- **Disqualified**: a step that fails the check is not valid, and no estimate uses it.

A failed `generator`, `steady_state`, `speed` or `service_threads` check does not disqualify. A saturated load generator
still measures a true throughput, and the verdict `generator-limited` names the bottleneck. A drift widens the step's
interval by itself. On a machine whose speed never settles, the answer has a warning. In a service that can't fill its
pool, larger pools are no faster, and that is the answer for it.

"""
FIGURES = "Figures: "
"""Begins the paragraph of a docstring that explains the figures in `values`."""


def checks_page() -> str:
    """Return the page as Markdown: a table of all checks, and a section for each."""
    rows = (
        (f"[`{check}`](#{check})", _summary(check), _yes(check.retryable), _yes(check.disqualifies)) for check in Check
    )
    summary = table(("Check", "What must hold", "Retried", "Disqualified"), rows)
    header = GENERATED.format(source="poolsize/analysis/checks.py and poolsize/runs/check.py")
    return header + INTRODUCTION + summary + "".join(map(_section, Check))


def figures(check: Check) -> str:
    """Return the explanation of a check's figures."""
    return next(text.removeprefix(FIGURES) for text in _paragraphs(check) if text.startswith(FIGURES))


def _section(check: Check) -> str:
    explanation = [text for text in _paragraphs(check)[1:] if not text.startswith(FIGURES)]
    parts = [f"\n## {check} {{ #{check} }}", _summary(check), *explanation, f"Figures in `values`: {figures(check)}"]
    return "\n\n".join(parts) + "\n"


def _summary(check: Check) -> str:
    """Return the first sentence: what must hold."""
    sentence = re.sub(r"^Check (in an? \w+ loop)? ?that ", r"\1, ", _paragraphs(check)[0]).removeprefix(", ")
    return sentence[0].upper() + sentence[1:]


def _paragraphs(check: Check) -> list[str]:
    text = inspect.getdoc(FUNCTIONS[check]) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
