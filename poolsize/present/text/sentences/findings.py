"""A finding as a sentence."""

from collections.abc import Iterable

from poolsize.answer.finding import Finding, Severity
from poolsize.present.text.sentences.formula import FORMULA


def sentence(finding: Finding) -> str:
    """Return what a finding says, with its figures and the way out."""
    if finding.code in FORMULA:
        return FORMULA[finding.code](finding)
    # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.present.text.sentences.predictions import PREDICTIONS
    from poolsize.present.text.sentences.reasons import REASONS
    from poolsize.present.text.sentences.warnings import WARNINGS

    return {**REASONS, **WARNINGS, **PREDICTIONS}[finding.code](finding)


def reason_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return why the answer is what it is."""
    return tuple(sentence(finding) for finding in findings if finding.severity is Severity.REASON)


def warning_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return what limits the answer's use, and why there is none."""
    return tuple(sentence(finding) for finding in findings if finding.severity is not Severity.REASON)
