"""PoolSettings -> the configuration of a stack, as text to paste and as data."""

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import jinja2

from poolsize.answer.pool_settings import PoolSettings
from poolsize.present.config.advice import advice
from poolsize.present.config.sources import sources
from poolsize.present.config.stacks import Stack, require_fits

ADVICE = "Beyond these settings:"
WIDTH = 100
"""Columns; longer comments are wrapped."""


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
        loader=jinja2.PackageLoader("poolsize.present.config"),
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
