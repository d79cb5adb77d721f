"""Findings as sentences."""

from collections.abc import Callable, Iterable, Mapping

from poolsize.answer.finding import Code, Finding, Severity
from poolsize.present.text.sentences.fleet import FLEET
from poolsize.present.text.sentences.formula import FORMULA
from poolsize.units import milliseconds, number, pool_sizes


def _cores_scale_cpu(finding: Finding) -> str:
    cpu_ms = milliseconds(float(finding.values["cpu_ms"]))
    return (
        "More cores let the server work on more transactions at a time. They do not shorten a transaction: it still "
        f"needs {cpu_ms} of CPU time on the server."
    )


def _cores_may_not_help(finding: Finding) -> str:
    name = finding.values["bottleneck"]
    return f"The run's bottleneck is not the server's CPU ({name}): more cores may not help."


def _users_time_out(finding: Finding) -> str:
    values = finding.values
    least, most = (f"{100 * values[name]:.0f} %" for name in ("least", "most"))
    share = least if least == most else f"{least} to {most}"
    where = pool_sizes(values["sizes"])
    return (
        f"With {where}, {share} of the requests for a connection time out after {number(values['timeout_seconds'])} s, "
        "the run's pool timeout. The times in the table are those of the other requests."
    )


def _users_rounded_up(finding: Finding) -> str:
    users, share = finding.values["users"], finding.values["users_per_instance"]
    return f"Every instance has {share} users, because {users:,} was rounded up to a multiple of the instances."


def _extrapolated(finding: Finding) -> str:
    largest = finding.values["largest_measured"]
    return f"Above {largest} connections the prediction is an extrapolation: nothing was measured there."


def _usage_as_measured(_: Finding) -> str:
    return "The percentiles assume that usage times vary around their mean as they did at the plateau of the run."


def _usage_exponential(_: Finding) -> str:
    return "Usage times are assumed to be exponentially distributed, because the run contains no usage times."


PREDICTIONS: Mapping[Code, Callable[[Finding], str]] = {
    Code.CORES_SCALE_CPU: _cores_scale_cpu,
    Code.CORES_MAY_NOT_HELP: _cores_may_not_help,
    Code.USERS_TIME_OUT: _users_time_out,
    Code.USERS_ROUNDED_UP: _users_rounded_up,
    Code.EXTRAPOLATED: _extrapolated,
    Code.USAGE_AS_MEASURED: _usage_as_measured,
    Code.USAGE_EXPONENTIAL: _usage_exponential,
}


def sentence(finding: Finding) -> str:
    """Return the sentence of a finding, with its figures and its way out."""
    if finding.code in FORMULA:
        return FORMULA[finding.code](finding)
    if finding.code in FLEET:
        return FLEET[finding.code](finding)
    # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.present.text.sentences.reasons import REASONS
    from poolsize.present.text.sentences.warnings import WARNINGS

    return {**REASONS, **WARNINGS, **PREDICTIONS}[finding.code](finding)


def reason_sentences(findings: Iterable[Finding], words: Callable[[Finding], str] = sentence) -> tuple[str, ...]:
    """Return the sentences of the reasons, in the order of the findings. words: the function that words a finding."""
    return tuple(words(finding) for finding in findings if finding.severity is Severity.REASON)


def warning_sentences(findings: Iterable[Finding], words: Callable[[Finding], str] = sentence) -> tuple[str, ...]:
    """Return the sentences of the warnings and refusals, in the order of the findings. words: see reason_sentences."""
    return tuple(words(finding) for finding in findings if finding.severity is not Severity.REASON)
