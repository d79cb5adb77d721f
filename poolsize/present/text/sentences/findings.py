"""Findings as sentences and as data, and their ways out as parts of sentences, with the options of the command line."""

import sys
from collections.abc import Iterable, Mapping
from functools import singledispatch
from importlib import import_module
from typing import Any

from poolsize.answer.finding import (
    FillGap,
    Finding,
    MeasureLonger,
    MoreUsers,
    MoreWorkers,
    MoreWorkersByDemands,
    SearchLonger,
    Severity,
    SweepBeyond,
    SweepRecordingBeyond,
    WayOut,
)
from poolsize.units import count, milliseconds

OWN_WORDS = {"poolsize.answer.from_formula": "formula", "poolsize.answer.fleet_plan": "fleet"}
"""Module in which findings arise -> the module here that words them; `warnings` and `reasons` word those of a run."""
SHORTER_PAUSES = "with shorter pauses of the users: they want a connection too rarely to fill the pool"
MORE_CPU = "Give the load generator a core or a machine of its own."


@singledispatch
def sentence(finding: Finding) -> str:
    """Return the sentence of a finding, with its figures and its way out. Each record has a function of its own.

    The functions of a module's findings are registered when the first of them is worded: the formula's answer starts
    without the words of a run's.
    """
    module = f"{__package__}.{OWN_WORDS.get(type(finding).__module__, 'warnings')}"
    if module in sys.modules:
        raise NotImplementedError(finding.code)
    import_module(module)
    return sentence(finding)


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


@singledispatch
def way_out_text(way_out: WayOut) -> str:
    """Return the way out of a finding, as part of a sentence."""
    raise NotImplementedError(way_out.code)


@way_out_text.register
def _(way_out: MeasureLonger) -> str:
    return f"measure longer, with --step-time {way_out.step_seconds}s or --repeats {way_out.repeats}"


@way_out_text.register
def _(way_out: SearchLonger) -> str:
    return f"search again with --budget {way_out.budget_minutes}m"


@way_out_text.register
def _(way_out: FillGap) -> str:
    return f"measure more pool sizes between {way_out.below} and {way_out.above}"


@way_out_text.register
def _(way_out: SweepBeyond) -> str:
    sizes = f"measure --pool-sizes {','.join(map(str, way_out.pool_sizes))}"
    if way_out.shorter_pauses:
        return f"{sizes} {SHORTER_PAUSES}"
    return sizes if way_out.users is None else f"{sizes} --users {way_out.users}"


@way_out_text.register
def _(_way_out: SweepRecordingBeyond) -> str:
    return "replay other --pool-sizes, if the recording contains them"


@way_out_text.register
def _(way_out: MoreUsers) -> str:
    if way_out.shorter_pauses:
        return f"measure {SHORTER_PAUSES}"
    users = [] if way_out.users is None else [f"--users {way_out.users}"]
    smaller = ["smaller --pool-sizes"] if way_out.smaller_sizes else []
    return f"use {' or '.join([*users, *smaller])}"


@way_out_text.register
def _(_way_out: MoreWorkers) -> str:
    return f"{MORE_CPU} Or divide the load among workers with --processes 2 or more."


@way_out_text.register
def _(way_out: MoreWorkersByDemands) -> str:
    demands = (
        f"At {count(way_out.pool_size, 'connection')}, a transaction takes {milliseconds(way_out.client_ms)} of CPU "
        f"time in the load generator and {milliseconds(way_out.server_ms)} of CPU time on the server, which has "
        f"{count(way_out.server_cores, 'core')}."
    )
    if way_out.workers is None:
        return f"{demands} {MORE_CPU}"
    return (
        f"{demands} Use --processes {way_out.workers} on a machine with cores that the server does not need, or "
        "workers on other machines (--expect-workers)."
    )
