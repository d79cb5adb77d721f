"""The checks of a step: their names, and what a failure means."""

from enum import StrEnum


class Check(StrEnum):
    """The checks that make a step's figures trustworthy; `analysis.checks` has a function for each.

    The values are stored in runs and printed in JSON.
    """

    LITTLES_LAW = "littles_law"
    ARRIVALS = "arrivals"
    CONNECTIONS = "connections"
    ERRORS = "errors"
    STEADY_STATE = "steady_state"
    WORKERS = "workers"
    QUIET = "quiet"
    GENERATOR = "generator"
    USERS_LIMITED = "users_limited"
    SPEED = "speed"
    SERVICE_THREADS = "service_threads"
    POOLS_USED = "pools_used"

    @property
    def retryable(self) -> bool:
        """Whether the check may pass when the step is measured again."""
        return self.disturbed or self is Check.ARRIVALS

    @property
    def disturbed(self) -> bool:
        """Whether a failure shows a disturbance, which passes; an overload that a second step confirms does not."""
        return self not in {Check.ARRIVALS, Check.GENERATOR, Check.USERS_LIMITED, Check.SERVICE_THREADS}

    @property
    def disqualifies(self) -> bool:
        """Whether a step that fails the check is left out of every estimate.

        A saturated load generator does not disqualify: the measured throughput is true, and the verdict names the
        bottleneck. A drift does not disqualify: the drift widens the interval by itself. Another speed of the machine
        does not: on a machine whose speed never settles, an answer with a warning is better than none. A service that
        can't fill its pool does not: larger pools are then no faster in this service, which is the answer for it.
        """
        return self not in {Check.GENERATOR, Check.STEADY_STATE, Check.SPEED, Check.SERVICE_THREADS}
