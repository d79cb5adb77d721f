"""The options that describe traffic, and their reading."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from poolsize.command_line.options import flag, read_by
from poolsize.errors import BadInput
from poolsize.quick_record import QuickRecord
from poolsize.sweep.readers import decimal, positive_milliseconds, rate_per_second

if TYPE_CHECKING:  # numpy stays out of `poolsize recommend --cores 8`
    from poolsize.answer.fleet import Service
    from poolsize.answer.traffic import Traffic
    from poolsize.command_line.fleet_options import FleetOptions
    from poolsize.traffic.usage_phases import UsageTimes

USAGE_TIME = "how long a request uses a connection, e.g. 15ms"
"""The meaning of --usage-time with --rate, for errors."""


def times(text: str) -> float:
    """Return "3x" as a factor. Raises ValueError."""
    return decimal(text.strip().removesuffix("x"))


class TrafficOptions(QuickRecord):
    """The options that describe traffic, as typed; None where an option was not typed."""

    rate: float | None = None
    usage_p95_ms: float | None = None
    usage_p99_ms: float | None = None
    burst: float | None = None
    max_wait_p99_ms: float | None = None
    wait_limit_ms: float | None = None

    def check(self, *, with_limits: bool, has_usage: bool = False) -> None:
        """Raise BadInput for an option of the traffic without its rate, and for its rate with limits of a run.

        has_usage: whether usage times were typed that need no rate.
        """
        if with_limits and self.rate is not None:
            raise BadInput(
                "--max-p95 and --max-p99 are limits of a run's total time: with --rate, give --max-wait-p99 in their "
                "place"
            )
        for name, value in vars(self).items():
            if value is not None and self.rate is None and not (has_usage and name.startswith("usage_")):
                raise BadInput(f"{flag(name.removesuffix('_ms'))} also needs --rate")

    def is_rate_alone(self, fleet: "FleetOptions") -> bool:
        """Return whether a rate was typed and nothing else that describes an application and its traffic."""
        typed = {name for name, value in (vars(self) | vars(fleet)).items() if value is not None}
        return typed == {"rate"}

    def traffic(self, usage_ms: float | None, service: "Service", of_run: "UsageTimes | None" = None) -> "Traffic":
        """Return the traffic. of_run: the usage times of a run, for those that were not typed. Raises BadInput."""
        from poolsize.answer.traffic import Traffic
        from poolsize.traffic.usage_phases import UsageTimes

        if usage_ms is not None:
            usage = self.varied(UsageTimes(usage_ms))
        elif of_run is not None:
            usage = self.varied(of_run)
        else:
            raise BadInput(f"--rate also needs --usage-time: {USAGE_TIME}")
        assert self.rate is not None
        burst, is_of_run = 1.0 if self.burst is None else self.burst, usage_ms is None
        return Traffic(self.rate, usage, service, burst, self.max_wait_p99_ms, self.wait_limit_ms, is_of_run)

    def varied(self, usage: "UsageTimes") -> "UsageTimes":
        """Return usage times with the p95 or the p99 that was typed."""
        from poolsize.traffic.usage_phases import log_normal

        if self.usage_p95_ms is not None and self.usage_p99_ms is not None:
            raise BadInput("--usage-p95 and --usage-p99 both say how usage times vary: leave one out")
        for name, probability, quantile_ms in (("p95", 0.95, self.usage_p95_ms), ("p99", 0.99, self.usage_p99_ms)):
            if quantile_ms is not None:
                varied = log_normal(usage.mean_ms, probability, quantile_ms)
                if varied is None:
                    most = {"p95": "3.86", "p99": "14.9"}[name]
                    mean = f"a mean of {usage.mean_ms:g}ms"
                    raise BadInput(
                        f"`usage_{name}` {quantile_ms:g}ms with {mean}: give 1 to {most} times the mean, which "
                        "log-normal times have at most"
                    )
                return varied
        return usage


READERS: Mapping[str, tuple[str, Callable[[str], float]]] = {
    "rate": ("RATE", rate_per_second),
    "burst": ("FACTOR", times),
}
"""Parameter -> placeholder and reader of its option, where that takes no duration."""
HELP = {
    "rate": "Requests per second that the instances of --instances serve together, e.g. 400/s; a request that takes a "
    "connection twice counts twice. The answer is then the pool size that this traffic needs, beside what the database "
    "can use.",
    "usage_p95": "95th percentile of the usage time, e.g. 40ms.",
    "usage_p99": "99th percentile of the usage time; its mean, if all usage times are alike.  [default: usage times "
    "vary like exponential ones]",
    "burst": "Rate of a minute's busiest second over the mean rate, e.g. 3x.  [default: requests arrive at random]",
    "max_wait_p99": "Highest p99 of the wait time for a connection.  [default: --usage-time]",
    "wait_limit": "The pool's timeout, to show the share of requests that time out.  [default: none]",
}
"""Parameter without its unit -> the help of its option."""
TRAFFIC_OPTIONS = tuple(HELP)
"""The options' parameters."""


def traffic_options(command: Callable[..., None], without: tuple[str, ...] = ()) -> Callable[..., None]:
    """Decorate a command with the options that describe traffic, which give the parameter `demand`: TrafficOptions.

    without: parameters whose options the command does not have.
    """

    @wraps(command)
    def with_traffic(**parameters: Any) -> None:
        values = [parameters.pop(name, None) for name in TRAFFIC_OPTIONS]
        command(demand=TrafficOptions(*values), **parameters)

    decorated = with_traffic
    for name, text in reversed(HELP.items()):
        if name not in without:
            placeholder, reader = READERS.get(name, ("DURATION", positive_milliseconds))
            option = click.option(flag(name), name, metavar=placeholder, callback=read_by(reader), help=text)
            decorated = option(decorated)
    return decorated
