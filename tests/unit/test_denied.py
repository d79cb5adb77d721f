"""Which failures of a step end the sweep, because no other attempt would pass."""

from dataclasses import replace

import pytest

from poolsize.errors import WorkFailed
from poolsize.load.master_step import raise_denied
from poolsize.runs.run import Step, Stopped, StopReason
from tests.conftest import a_step

TOO_MANY_ERRORS = Stopped(StopReason.TOO_MANY_ERRORS, {"failed": 30, "transactions": 40})
NO_INSERT, READ_ONLY = "mysql_1142_tableaccess_denied_error", "mysql_1290_option_prevents_statement"
DEADLOCK = "deadlock"


def failed(errors: dict[str, int], stopped: Stopped | None = TOO_MANY_ERRORS) -> Step:
    """Return a step of two seconds with so many errors of each kind."""
    return replace(a_step(4, [10, 10]), errors={kind: (0, 1, n - 1) for kind, n in errors.items()}, stopped=stopped)


@pytest.mark.parametrize(
    ("errors", "named"),
    [
        ({NO_INSERT: 30}, NO_INSERT),
        ({READ_ONLY: 30}, READ_ONLY),
        ({"mysql_1792_cant_execute_in_read_only_transaction": 30}, "mysql_1792"),
        ({"mysql_1836": 30}, "mysql_1836"),
        ({DEADLOCK: 12, NO_INSERT: 8, READ_ONLY: 10}, READ_ONLY),
    ],
)
def test_refusals_end_the_sweep_and_the_most_frequent_is_named(errors: dict[str, int], named: str) -> None:
    with pytest.raises(WorkFailed, match=rf"refuses the workload's statements \({named}"):
        raise_denied(failed(errors))


@pytest.mark.parametrize(
    "step",
    [
        failed({DEADLOCK: 30}),
        failed({DEADLOCK: 20, NO_INSERT: 20}),
        failed({"mysql_11420": 30}),
        failed({NO_INSERT: 30}, stopped=None),
        failed({NO_INSERT: 30}, stopped=Stopped(StopReason.BACKLOG, {"backlog": 90})),
    ],
    ids=["no refusal", "half of them", "another number", "a whole step", "another reason"],
)
def test_other_failures_do_not_end_the_sweep(step: Step) -> None:
    raise_denied(step)
