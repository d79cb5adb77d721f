"""SweepOptions: every option of a sweep, declared once.

A field's declaration serves every use of the option: in `poolsize sweep` and in Locust, in the conversion from text to
a typed value and back, in errors, and in docs/reference/options.md. A field has the name and the type of the SweepPlan
or Search field that it sets.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Self

from poolsize.facts.ssl_mode import CA_DEFAULT, CA_HELP, MODE_DEFAULT, MODE_HELP, SslMode, read_ssl_mode
from poolsize.quick_record import QuickRecord
from poolsize.sweep import readers
from poolsize.sweep.option import Group, Option

if TYPE_CHECKING:  # pydantic and pathlib stay out of --help
    from pathlib import Path

    from poolsize.runs.plan import PoolKind

DEFAULT_WORKLOAD = "oltp_read_write"
RUN_FOLDER = "data/runs"


class SweepOptions(QuickRecord):
    """The options of a sweep as typed values; None where poolsize chooses.

    Units are in the names; every other field has the unit of the SweepPlan or Search field of its name.
    typed: field -> its texts on the command line, which an error repeats; None for options made in Python.
    """

    # Unformatted: a declaration is a few lines, not a dozen.
    # fmt: off
    workload: Annotated[str | None, Option(
        "--workload", "Name of a shipped workload, or your own locustfile.", DEFAULT_WORKLOAD, str, settled=False,
        in_locust=False, of_pool=True, group=Group.COMMON,
    )] = None
    replay: Annotated["Path | None", Option(
        "--replay", "Replay this recording instead of measuring a server. It is a CSV file with the throughput at each "
        "pool size, or the name of a published curve.", "", readers.optional_path, settled=False, replayed=True,
        in_locust=False, metavar="RECORDING", of_pool=True, group=Group.COMMON,
    )] = None
    application: Annotated["Path | None", Option(
        "--application", "Measure the pool inside an application. This file (TOML) describes the application.",
        "", readers.optional_path, settled=False, metavar="FILE", group=Group.COMMON,
    )] = None
    url: Annotated[str | None, Option(
        "--url", "Database, mysql://USER:PASSWORD@HOST:3306/. POOLSIZE_URL sets it too.",
        "a private server on this machine", readers.optional_text, settled=False, variable="POOLSIZE_URL", of_pool=True,
        group=Group.COMMON,
    )] = None
    ssl_mode: Annotated[SslMode | None, Option(
        "--ssl-mode", MODE_HELP, MODE_DEFAULT, read_ssl_mode, settled=False, of_pool=True, metavar="MODE",
        group=Group.MEASURING,
    )] = None
    ssl_ca: Annotated["Path | None", Option(
        "--ssl-ca", CA_HELP, CA_DEFAULT, readers.optional_path, settled=False, of_pool=True, metavar="FILE",
        group=Group.EXPERT,
    )] = None
    yes: Annotated[bool | None, Option(
        "--yes", "Measure a database that also serves other programs.", "refuse", readers.switched_on,
        settled=False, of_pool=True, switch=True, group=Group.COMMON,
    )] = None
    dry_run: Annotated[bool | None, Option(
        "--dry-run", "Measure nothing, and print what the sweep would do; not with --application. It prints the "
        "statements, connections and load.", "measure", readers.switched_on, settled=False, of_pool=True, switch=True,
        group=Group.COMMON,
    )] = None
    wait_for_server_seconds: Annotated[int | None, Option(
        "--wait-for-server", "Longest time to wait in a step for a database that goes away. The step is measured again "
        "when the database is back.", "60s", readers.whole_seconds, readers.write_seconds, settled=False, of_pool=True,
        group=Group.EXPERT,
    )] = None
    schema: Annotated[str | None, Option(
        "--schema", "Schema with your own data, for your own locustfile.", "poolsize's own, which it creates and drops",
        readers.schema_name, settled=False, of_pool=True, group=Group.MEASURING,
    )] = None
    users: Annotated[int | None, Option(
        "--users", "Concurrent users.", "twice the largest pool size that the sweep may reach", readers.whole_number,
        locusts_own="num_users", group=Group.COMMON,
    )] = None
    processes: Annotated[int | None, Option(
        "--processes", "Workers on this machine (processes that generate load).", "1", readers.whole_number,
        settled=False, locusts_own="processes", group=Group.MEASURING,
    )] = None
    expect_workers: Annotated[int | None, Option(
        "--expect-workers", "Workers on other machines to wait for.", "none", readers.whole_number,
        settled=False, locusts_own="expect_workers", group=Group.EXPERT,
    )] = None
    sizes: Annotated[tuple[int, ...] | None, Option(
        "--pool-sizes", "Sizes to measure, e.g. 1,4,8,16.", "a search; with --rate, sizes around the formula's result",
        readers.pool_sizes, readers.write_whole_numbers, settled=False, replayed=True, group=Group.COMMON,
    )] = None
    budget_seconds: Annotated[int | None, Option(
        "--budget", "Longest time for which a search may generate load, e.g. 5m.", "10m",
        readers.whole_seconds, readers.write_seconds, settled=False, replayed=True, group=Group.COMMON,
    )] = None
    interval: Annotated[float | None, Option(
        "--interval", "Largest ratio of the upper to the lower end of the answer's 95 % range. A search ends when the "
        "recommended size is probably within 5 % of capacity, and either the range is within this ratio, or the "
        "recommended size is probably not much larger than needed.",
        "1.5", readers.decimal, readers.write_decimal, settled=False, replayed=True, group=Group.EXPERT,
    )] = None
    think_time_ms: Annotated[float | None, Option(
        "--think-time", "Mean pause of a user between transactions, e.g. 50ms.", "none", readers.milliseconds,
        readers.write_milliseconds, of_pool=True, group=Group.MEASURING,
    )] = None
    warm_up_seconds: Annotated[int | None, Option(
        "--warm-up", "Least time to leave out at the start of each step.", "3s, in a search 2s; of an application 10s",
        readers.whole_seconds, readers.write_seconds, replayed=True, group=Group.MEASURING,
    )] = None
    step_seconds: Annotated[int | None, Option(
        "--step-time", "Counted time of each step.", "15s; with a database alone, 8s in a search",
        readers.whole_seconds, readers.write_seconds, replayed=True, group=Group.MEASURING,
    )] = None
    precision: Annotated[float | None, Option(
        "--precision", "Extend a step until the 95 % interval of its throughput is within this share of the mean, "
        "e.g. 2%.", "none", readers.share, group=Group.EXPERT,
    )] = None
    rate: Annotated[float | None, Option(
        "--rate", "Arrival rate of transactions, e.g. 400/s (open loop).", "none: a closed loop",
        readers.rate_per_second, of_pool=True, group=Group.MEASURING,
    )] = None
    pool: Annotated["PoolKind | None", Option(
        "--pool", "Pool to measure: fair serves users in order of arrival; sqlalchemy is SQLAlchemy's own QueuePool; "
        "none opens and closes a connection for each transaction, at most the pool size at a time; lazy opens a "
        "connection when a user needs it, and counts those that the server refuses.",
        "fair", readers.pool_kind, of_pool=True, group=Group.EXPERT,
    )] = None
    pool_timeout_seconds: Annotated[float | None, Option(
        "--pool-timeout", "Longest wait for a connection.", "30s", readers.seconds, readers.write_seconds, of_pool=True,
        group=Group.EXPERT,
    )] = None
    error_budget: Annotated[float | None, Option(
        "--error-budget", "Share of failed transactions that ends a step early.", "1%", readers.share,
        group=Group.EXPERT,
    )] = None
    verify: Annotated[tuple[int, ...] | None, Option(
        "--verify", "Arrival rates of the last steps, which measure the recommended size in an open loop, as "
        "percentages of its throughput, e.g. 70,80,90.", "70 in a search, else none",
        readers.percentages, readers.write_whole_numbers, of_pool=True, group=Group.EXPERT,
    )] = None
    no_verify: Annotated[bool | None, Option(
        "--no-verify", "End a search without a step in an open loop.", "one step", readers.switched_on, of_pool=True,
        switch=True, group=Group.EXPERT,
    )] = None
    max_p95_ms: Annotated[float | None, Option(
        "--max-p95", "Latency limit: highest p95 of the total time, e.g. 20ms.", "none",
        readers.positive_milliseconds, readers.write_milliseconds, replayed=True, group=Group.COMMON,
    )] = None
    max_p99_ms: Annotated[float | None, Option(
        "--max-p99", "Latency limit: highest p99 of the total time, e.g. 50ms.", "none",
        readers.positive_milliseconds, readers.write_milliseconds, replayed=True, group=Group.COMMON,
    )] = None
    repeats: Annotated[int | None, Option(
        "--repeats", "Number of steps at each of the --pool-sizes.", "1", readers.whole_number, settled=False,
        replayed=True, group=Group.MEASURING,
    )] = None
    seed: Annotated[int | None, Option(
        "--seed", "Seed of the random choices: the order of --pool-sizes and, in a replay, the part of the recording "
        "that each step takes.", "1", readers.whole_number, replayed=True, group=Group.EXPERT,
    )] = None
    cores: Annotated[int | None, Option(
        "--cores", "Physical cores of the database's host (x86: 2 vCPUs are mostly 1).", "this machine's",
        readers.whole_number, replayed=True, group=Group.COMMON,
    )] = None
    disks: Annotated[int | None, Option(
        "--disks", "Disks of the database's host that hold the data. Network storage, such as EBS or a persistent "
        "disk, counts as 1.", "1", readers.whole_number, replayed=True, group=Group.MEASURING,
    )] = None
    output: Annotated["Path | None", Option(
        "--output", "File for the run, .jsonl.", f"a new file in {RUN_FOLDER}", readers.path, replayed=True,
        group=Group.COMMON,
    )] = None
    resume: Annotated["Path | None", Option(
        "--resume", "Finish this interrupted run, or extend it. A larger --budget or a smaller --interval extends a "
        "search; more --repeats, or further --pool-sizes between its own, extend a grid. Its users and times stay as "
        "they are.", "none", readers.optional_path, settled=False, replayed=True, group=Group.COMMON,
    )] = None
    mysqld: Annotated["Path | None", Option(
        "--mysqld", "Program of the private server: mysqld or mariadbd.", "the first program found on this machine",
        readers.optional_path, settled=False, of_pool=True, group=Group.MEASURING,
    )] = None
    server_options: Annotated[Mapping[str, str] | None, Option(
        "--server-option", "Variable of the private server, NAME=VALUE.", "none", readers.server_variable,
        readers.write_server_variable, settled=False, repeatable=True, of_pool=True, group=Group.EXPERT,
    )] = None
    against_url: Annotated[str | None, Option(
        "--against-url", "Second database, measured in turn with the first. POOLSIZE_AGAINST_URL sets it too.",
        "none", readers.optional_text, settled=False, variable="POOLSIZE_AGAINST_URL", in_locust=False, of_pool=True,
        group=Group.SECOND_SERVER,
    )] = None
    against_options: Annotated[Mapping[str, str] | None, Option(
        "--against-option", "Variable of a second private server, NAME=VALUE.", "none", readers.server_variable,
        readers.write_server_variable, settled=False, repeatable=True, in_locust=False, of_pool=True,
        group=Group.SECOND_SERVER,
    )] = None
    against_mysqld: Annotated["Path | None", Option(
        "--against-mysqld", "Program of a second private server.", "none", readers.optional_path, settled=False,
        in_locust=False, of_pool=True, group=Group.SECOND_SERVER,
    )] = None
    # fmt: on
    typed: Mapping[str, tuple[str, ...]] | None = None

    @classmethod
    def parse(cls, texts: Mapping[str, Any]) -> Self:
        """Return the options of parsed texts: field -> text, int, texts or None. Raises BadInput for a wrong one."""
        typed: dict[str, tuple[str, ...]] = {}
        for name, option in OPTIONS.items():
            value = texts.get(name)
            if value is not None and (items := value if option.repeatable else [value]):
                typed[name] = tuple(map(str, items))
        return cls(typed=typed, **{name: OPTIONS[name].read(name, words) for name, words in typed.items()})

    def having(self, **values: Any) -> Self:
        """Return the options with these values, field -> value or None, in place of what was typed for the fields."""
        typed = {name: texts for name, texts in (self.typed or {}).items() if name not in values}
        return replace(self, typed=typed, **values)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the options that have a value, in the order of the declaration."""
        return tuple(name for name in OPTIONS if getattr(self, name) is not None)

    @property
    def extending(self) -> dict[str, str]:
        """Parameter -> text of the options that extend the run to resume; empty where they resume none."""
        names = (*EXTENDING_SEARCH, *EXTENDING_GRID) if self.resume else ()
        return {name: self.texts(name)[0] for name in names if getattr(self, name) is not None}

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of an option that has a value: as typed, or else written from the value."""
        return (self.typed or {}).get(name) or OPTIONS[name].write(getattr(self, name))

    def named(self, name: str) -> str:
        """Return an option that has a value as an error names it: "`sizes` 1,4"; a switch, or a secret URL, alone."""
        is_alone = OPTIONS[name].switch or name in WITH_PASSWORD
        return f"`{name}`" if is_alone else f"`{name}` {' '.join(self.texts(name))}"


OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0] for name, hint in SweepOptions.__annotations__.items() if hasattr(hint, "__metadata__")
}
"""Field of SweepOptions -> its declaration, in the order of the help text."""

EXTENDING_SEARCH, EXTENDING_GRID = ("budget_seconds", "interval"), ("sizes", "repeats")
"""The options that extend the run to resume."""
NAMES_ANOTHER = ("against_url", "against_options", "against_mysqld")
"""The options that name a second server."""
WITH_PASSWORD = ("url", "against_url")
"""Options whose texts are not for messages."""

FLAGS: Mapping[str, str] = {name: option.flag for name, option in OPTIONS.items()} | {
    "headless": "--headless", "run_time": "--run-time", "spawn_rate": "--spawn-rate", "host": "--host",
    "tags": "--tags", "exclude_tags": "--exclude-tags", "run": "--run",
}  # fmt: skip
"""Parameter that a message may name -> its flag: the options of a sweep, some of Locust's, and `recommend --run`."""


def with_flags(message: str, flags: Mapping[str, str] = FLAGS) -> str:
    """Return a message in which flags replace the parameters in backticks: `sizes` 3 -> --pool-sizes 3."""
    return re.sub(r"`(\w+)`", lambda name: flags.get(name[1], name[0]), message)


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that set these options, field -> value, in their order."""
    return [word for name, value in values.items() for word in OPTIONS[name].words(value)]
