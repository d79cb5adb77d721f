"""CheckResult: the result of one check on one step, and the figures that the check compared."""

from collections.abc import Mapping

from poolsize.record import Figure, Name, Whole, record
from poolsize.runs.check import Check

Value = Whole | Figure | Name | None | Mapping[Name, Whole]
"""A figure of a check; its unit is in its name."""


@record
class CheckResult:
    """The result of one check on one step.

    check: name of the check. passed: whether the step passed the check.
    values: the figures that the check compared, by names with units (`loop_lag_ms`).
    """

    check: Check
    passed: bool
    values: Mapping[Name, Value]
