"""Findings as sentences."""

from collections.abc import Iterable

from poolsize.answer.finding import Finding, Severity
from poolsize.present.text.sentences.fleet import FLEET
from poolsize.present.text.sentences.formula import FORMULA
from poolsize.present.text.sentences.pool_checks import POOL_CHECKS


def sentence(finding: Finding) -> str:
    """Return the sentence of a finding, with its figures and its way out."""
    if finding.code in FORMULA:
        return FORMULA[finding.code](finding)
    if finding.code in FLEET:
        return FLEET[finding.code](finding)
    if finding.code in POOL_CHECKS:
        return POOL_CHECKS[finding.code](finding)
    # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.present.text.sentences.predictions import PREDICTIONS
    from poolsize.present.text.sentences.reasons import REASONS
    from poolsize.present.text.sentences.warnings import WARNINGS

    return {**REASONS, **WARNINGS, **PREDICTIONS}[finding.code](finding)


def reason_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the reasons, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is Severity.REASON)


def warning_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the warnings and refusals, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is not Severity.REASON)
