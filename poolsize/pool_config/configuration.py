"""PoolSettings -> the configuration of a stack, as text to paste and as data."""

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import jinja2

from poolsize.pool_config.settings import PoolSettings
from poolsize.pool_config.sources import SURVEY, seconds_text, sources
from poolsize.pool_config.stacks import Stack, require_fits
from poolsize.units import count, milliseconds, percent

ADVICE = "Beyond these settings:"
WIDTH = 100
"""Columns; longer comments are wrapped."""
EPHEMERAL_PORTS = 60_999 - 32_768 + 1
"""Linux's default, net.ipv4.ip_local_port_range (the kernel's ip-sysctl documentation)."""
TIME_WAIT_SECONDS = 60
"""Of Linux, include/net/tcp.h: TCP_TIMEWAIT_LEN."""


def advice(stack: Stack, settings: PoolSettings) -> tuple[str, ...]:
    """Return the advice for an application with this pool; for a proxy or the server, none."""
    if stack.shared_by_all:
        return ()
    return tuple(
        line
        for line in (
            _callers_timeout(settings) if stack.has_wait_limit else None,
            _two_pools(settings),
            None if stack.workers_are_processes else _job_workers(settings),
            _keep_connections(),
            _prepared_statements(stack),
        )
        if line
    )


def _callers_timeout(settings: PoolSettings) -> str:
    limit = seconds_text(settings.wait_limit_seconds)
    if settings.measured is None:
        return f"Timeout of the application's callers: longer than the wait limit of {limit}."
    usage = milliseconds(settings.measured.usage_p99_ms)
    total_ms = 1000 * settings.wait_limit_seconds + settings.measured.usage_p99_ms
    return (
        f"Timeout of the application's callers: longer than {milliseconds(total_ms)}, the wait limit of {limit} and "
        f"the p99 usage time of {usage}. With a shorter one, callers give up while their transaction still runs."
    )


def _two_pools(settings: PoolSettings) -> str | None:
    if settings.measured is None or not settings.measured.two_pools:
        return None
    short, long = settings.measured.two_pools
    return (
        f"Two pools: {percent(short.kind.share)} of transactions take {milliseconds(short.kind.usage_ms)}, the others "
        f"{milliseconds(long.kind.usage_ms)}. With {short.pool_size} connections for the short and {long.pool_size} "
        "for the long ones, short transactions don't wait behind long ones."
    )


def _job_workers(settings: PoolSettings) -> str:
    return (
        f"Workers that take jobs from a queue: at most {settings.size} in a process with this pool. Each holds a "
        "connection while it works; further workers only wait for a connection."
    )


def _keep_connections() -> str:
    rate = EPHEMERAL_PORTS // TIME_WAIT_SECONDS
    return (
        f"Keep connections open. A connection that the client closes holds its port for {TIME_WAIT_SECONDS} s "
        f"(TIME_WAIT): with Linux's {count(EPHEMERAL_PORTS, 'port')}, at most {rate} connections a second are possible "
        "from one address to one server."
    )


def _prepared_statements(stack: Stack) -> str | None:
    if not stack.file.endswith((".properties", ".yml")):
        return None
    return (
        "Prepared statements: cachePrepStmts=true and useServerPrepStmts=true in the JDBC URL. About 20 % more "
        f"throughput was measured with such a cache, says {SURVEY}; measure it with your own statements."
    )


@dataclass(frozen=True)
class Setting:
    """A setting of a configuration.

    unit: of a number, e.g. "ms"; None where it is not a number with a unit. why: its reason and its source.
    """

    name: str
    value: int | float | str | bool
    unit: str | None
    why: str


@dataclass(frozen=True)
class Configuration:
    """The configuration of a stack. text: to paste into a file. advice: what no setting can do."""

    stack: Stack
    text: str
    settings: tuple[Setting, ...]
    advice: tuple[str, ...]


def configuration(stack: Stack, settings: PoolSettings) -> Configuration:
    """Return the configuration of a stack. Raises BadInput for a pool that is larger than the library accepts."""
    if not stack.shared_by_all:
        require_fits(stack, settings)
    writer = _Writer(stack)
    notes = advice(stack, settings)
    text = _templates().get_template(f"{stack.template}.j2").render(
        pool=settings, sources=sources(settings), why=writer.why, value=writer.value
    )  # fmt: skip
    comments = [f"{stack.comment} {note}" for note in (ADVICE, *notes)] if notes else []
    return Configuration(
        stack, _wrapped("\n".join([text, *comments]), stack.comment), tuple(writer.settings), notes
    )  # fmt: skip


class _Writer:
    """The functions of a template: `why` writes a comment, and `value` the value of a setting below it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.settings: list[Setting] = []
        self._why = ""

    def why(self, text: str) -> str:
        """Return the reason of the settings below as a comment."""
        self._why = " ".join(text.split())
        return f"{self.stack.comment} {self._why}"

    def value(self, name: str, value: Any, unit: str | None = None) -> str:
        """Return a value as the file writes it, and note the setting."""
        self.settings.append(Setting(name, value, unit, self._why))
        return self.stack.literal(value)


def _templates() -> jinja2.Environment:
    return jinja2.Environment(  # noqa: S701 (no HTML: these are configuration files)
        loader=jinja2.PackageLoader("poolsize.pool_config"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def _wrapped(text: str, comment: str) -> str:
    """Return a text whose long comments take several lines, with their indentation."""
    pattern = re.compile(rf"^(\s*){re.escape(comment)} (.+)$")
    lines = []
    for line in text.splitlines():
        match = pattern.match(line)
        if match is None or len(line) <= WIDTH:
            lines.append(line)
            continue
        start = f"{match[1]}{comment} "
        lines += textwrap.wrap(
            match[2], WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False,
            break_long_words=False,
        )  # fmt: skip
    return "\n".join(lines) + "\n"
