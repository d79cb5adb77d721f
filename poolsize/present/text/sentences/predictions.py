"""The findings of a prediction, its assumptions, as sentences."""

from collections.abc import Callable, Mapping

from poolsize.answer.finding import Code, Finding


def _cores_may_not_help(finding: Finding) -> str:
    name = finding.values["bottleneck"]
    return f"What held the run was not seen to be the server's processor ({name}): more cores may not help."


def _users_rounded_up(finding: Finding) -> str:
    return f"Every instance has {finding.values['users_per_instance']} callers, which is a few more in all."


def _extrapolated(finding: Finding) -> str:
    largest = finding.values["largest_measured"]
    return f"Beyond {largest} connections nothing was measured: there the network is all there is."


def _usage_as_measured(_: Finding) -> str:
    return "Usage times are spread around their mean as they were at the plateau."


def _usage_exponential(_: Finding) -> str:
    return "Usage times are taken for exponentially distributed: the run does not know them."


PREDICTIONS: Mapping[Code, Callable[[Finding], str]] = {
    Code.CORES_MAY_NOT_HELP: _cores_may_not_help,
    Code.USERS_ROUNDED_UP: _users_rounded_up,
    Code.EXTRAPOLATED: _extrapolated,
    Code.USAGE_AS_MEASURED: _usage_as_measured,
    Code.USAGE_EXPONENTIAL: _usage_exponential,
}
