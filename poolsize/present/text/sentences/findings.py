"""Findings as sentences, and as data."""

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any

from poolsize.answer.finding import Finding, Severity, WayOut


@singledispatch
def sentence(finding: Finding) -> str:
    """Return the sentence of a finding, with its figures and its way out. Each record has a function of its own."""
    raise NotImplementedError(finding.code)


def register_fixed(sentences: Mapping[type[Finding], str]) -> None:
    """Register sentences without figures. sentences: by the record of their findings."""
    for record, text in sentences.items():
        sentence.register(record, lambda _, text=text: text)


def reason_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the reasons, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is Severity.REASON)


def warning_sentences(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the sentences of the warnings and refusals, in the order of the findings."""
    return tuple(sentence(finding) for finding in findings if finding.severity is not Severity.REASON)


def findings_values(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return findings as data. Keys: code, severity, values (its figures), and way_out: remedy, values; or null."""
    return [
        {
            "code": finding.code,
            "severity": finding.severity,
            "values": dict(finding.items()),
            "way_out": _way_out_values(getattr(finding, "way_out", None)),
        }
        for finding in findings
    ]


def _way_out_values(way_out: WayOut | None) -> dict[str, Any] | None:
    return None if way_out is None else {"remedy": way_out.code, "values": dict(way_out.items())}
