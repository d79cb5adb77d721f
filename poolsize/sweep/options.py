"""The options of a sweep, once: what `poolsize sweep` and plain Locust both take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option. settled: a resumed run has it in its header, so it can't be given again."""

    name: str
    text: str
    default: str
    kind: type[str] | type[int] = str
    settled: bool = True
    repeatable: bool = False
    variable: str | None = None

    @property
    def flag(self) -> str:
        """As it is typed: --pool-sizes."""
        return "--" + self.name.replace("_", "-")


USERS = Option("users", "Concurrent callers.", "twice the largest size that may be measured", int)
"""Locust has this one itself."""

PROCESSES = Option("processes", "Load processes on this machine.", "1", int, settled=False)
"""Likewise."""

EXPECT_WORKERS = Option("expect_workers", "Load processes on other machines to wait for.", "none", int, settled=False)
"""Likewise, together with its --master."""

OPTIONS = (
    Option(
        "url",
        "Database, mysql://USER:PASSWORD@HOST:3306/.",
        "a private server on this machine",
        settled=False,
        variable="POOLSIZE_URL",
    ),
    Option("pool_sizes", "Sizes to measure, e.g. 1,4,8,16.", "a search; with --rate, sizes around the formula"),
    Option("budget", "How long a search may make load, e.g. 5m; its last step may end later.", "10m"),
    Option("interval", "A search may end when its range's upper end is at most so many times its lower.", "1.5"),
    Option("think_time", "Mean pause of a caller between transactions, e.g. 50ms.", "none"),
    Option("warm_up", "Beginning of each step that is not counted.", "3s, in a search 2s"),
    Option("step_time", "Counted time of each step.", "15s, in a search 8s"),
    Option("precision", "Let a step run on until its throughput is known within, e.g. 2%.", "none"),
    Option("rate", "Transactions that arrive per second, by the clock (open loop).", "none: callers take turns"),
    Option("pool_timeout", "How long a caller waits for a connection.", "30s"),
    Option("error_budget", "Share of transactions that may fail before a step is ended.", "1%"),
    Option("verify", "Then measure the answer at these percentages of its capacity, e.g. 70,80,90.", "none"),
    Option("repeats", "How often each of the --pool-sizes is measured.", "1", int),
    Option("seed", "Fixes the order of a grid's steps, and the windows of a replay.", "1", int),
    Option("cores", "Physical cores of the database's host.", "this machine's", int),
    Option("disks", "Disks that hold its data.", "1", int),
    Option("output", "File for the run.", "a new one in data/runs"),
    Option("resume", "Interrupted run to finish; it keeps its plan.", "none", settled=False),
    Option("mysqld", "Program of the private server.", "found by itself", settled=False),
    Option("server_option", "Variable of the private server, NAME=VALUE.", "none", repeatable=True),
)
