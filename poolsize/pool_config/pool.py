"""A library with a pool, and a pool of it that a file configures."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import ClassVar

from poolsize.answer.finding import Finding
from poolsize.present.text.sentences.findings import sentence


class Worded(Finding):
    """A finding with its own sentence: words, with the figures in place of {0.NAME}.

    gravity: 2 where the program does not start, 1 where requests get errors.
    """

    words: ClassVar[str]
    gravity: ClassVar[int] = 0

    @property
    def about(self) -> str | None:
        """The setting that the finding is about; None for the one that has the pool size."""
        return None


@sentence.register
def _(finding: Worded) -> str:
    return finding.words.format(finding)


class OfSetting(Worded):
    """A finding on a setting. setting: its name, as the file or the library spells it."""

    setting: str

    @property
    def about(self) -> str:
        """The setting."""
        return self.setting


class MayBeDefault(OfSetting):
    """A finding on a value. is_default: whether the value is the library's default, because the file has none."""

    is_default: bool
    default_at_end = property(lambda self: ", the default" if self.is_default else "")
    default = property(lambda self: f"{self.default_at_end}," if self.is_default else "")


Value = int | float | bool | str | None
LITERAL = re.compile(r"-?[\d_]{1,20}[lL]?")
"""The text of an integer; 60L is one of Java."""
NEAR = 0.85
"""Likeness of a misspelled name and its setting, by difflib; that of connectionTimeout and connectionLimit is 0.81."""


def _nothing(_: "FilePool", __: int) -> Iterator[Worded]:
    return iter(())


@dataclass(frozen=True)
class Library:
    """A library with a pool, or the server.

    defaults: setting -> default value in the setting's own unit; None where another setting decides or it is not set.
    stack: its configuration in `templates`, or "" where there is none.
    find: a pool and the server's wait_timeout in seconds -> what is wrong. notes: findings on every pool.
    same_as: setting -> the setting whose value is its default.
    sizes: the settings whose sum is the most connections that a pool opens. floors: settings that raise a smaller sum.
    least, largest: setting -> the least and the largest value that the library uses, or its authors advise.
    aliases: other names of a setting in the files of frameworks. ignored: names that people write and the library does
    not read. durations: whether the library reads 30s and 5m: in its own files (False), in a framework's (True).
    seconds: settings of which a number without a unit is in seconds; a pool has them in milliseconds.
    waits, ages: settings of a wait limit, and of the time after which a connection is ended or tested -> how many a
    second has of the unit of a plain number.
    constants: names that poolsize's own code has beside the pool, which the library does not read.
    switch: the setting that switches the pool off; "" for none. of_cpus: what the default size depends on, and the
    source.
    """

    title: str
    defaults: Mapping[str, Value]
    stack: str = ""
    find: Callable[["FilePool", int], Iterator[Worded]] = _nothing
    same_as: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    floors: tuple[str, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    durations: frozenset[bool] = frozenset()
    seconds: frozenset[str] = frozenset()
    waits: Mapping[str, int] = field(default_factory=dict)
    ages: Mapping[str, int] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    switch: str = ""
    of_cpus: tuple[str, str] | None = None
    notes: tuple[Worded, ...] = ()

    def setting(self, name: str, *, relaxed: bool = False) -> str | None:
        """Return the setting that a name in a file means; None for another name.

        relaxed: whether hyphens, underscores and capitals make no difference, and aliases count.
        """
        if not relaxed:
            return name if name in self.defaults else None
        return self._relaxed.get(normalized(name))

    def nearest(self, name: str) -> str:
        """Return the setting whose name is nearest to a misspelled name; "" without any, and for `ignored`."""
        from difflib import get_close_matches  # most names are no typos

        if self.ignores(name):
            return ""
        near = get_close_matches(normalized(name), self._relaxed, n=1, cutoff=NEAR)
        return self._relaxed[near[0]] if near else ""

    def ignores(self, name: str) -> bool:
        """Return whether a name is one of `ignored`, by relaxed binding."""
        return normalized(name) in map(normalized, self.ignored)

    @cached_property
    def _relaxed(self) -> dict[str, str]:
        names = {normalized(each): each for each in self.defaults}
        return names | {normalized(other): setting for other, setting in self.aliases.items()}


def normalized(name: str) -> str:
    """Return a name without hyphens, underscores and capitals: relaxed binding, as Spring Boot calls it."""
    return name.replace("-", "").replace("_", "").lower()


@dataclass(frozen=True)
class FileSetting:
    """A setting in a file.

    name: as the file spells it. text: its value as the file writes it. value: the value, or the default that holds
    where the environment gives no other; None where the file alone does not contain it. line: in the file, from 1.
    variables: names of the environment variables that the value depends on, and FUNCTION(PARAMETER) of the parameters
    whose defaults it has.
    """

    name: str
    text: str
    value: Value
    line: int
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variable:
    """An environment variable that a file sets to a number or a duration.

    setting: by the variable's name. workload: as in Count. folder: from which Compose builds the service, relative to
    the file; "" for none.
    """

    setting: FileSetting
    workload: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Count:
    """A number of instances or processes that a file states.

    kind: instances, max_instances (at the autoscaler's maximum), processes (of an instance), or threads (of a process).
    setting: the statement; its value is a whole number from 1 on, or None where the file alone does not contain it.
    workload: the name of the Deployment or service that has the instances; "" where the file has none. surge: further
    instances in a rolling deploy, as Kubernetes writes maxSurge: a share ("25%") or a number.
    """

    kind: str
    setting: FileSetting
    workload: str = ""
    surge: str = "0"


@dataclass(frozen=True)
class FilePool:
    """A pool that a file configures.

    place: where in the file, for people. alternative: the profile, the environment or the server of a proxy that it is
    for, of which only the largest counts; "" for none. within: the embedded file, and the workload or ConfigMap, that
    contain it; "" for none. settings: by the library's own names. unread: settings that the library does
    not read, because it has another name for them or none. complete: whether the settings that the file does not have
    are at their defaults; else they are unknown. workload: as in Count, of the processes with this pool. elsewhere:
    statements that name a place with further settings, such as an included file. database_known: whether the file shows
    that the database is MySQL or MariaDB. beside: URLs, and numbers of a project's own, that are no settings of the
    library. inherited: settings of a profile's pool that only the documents for all profiles have.
    """

    library: Library
    place: str
    settings: Mapping[str, FileSetting]
    unread: tuple[FileSetting, ...] = ()
    complete: bool = True
    workload: str = ""
    elsewhere: tuple[FileSetting, ...] = ()
    database_known: bool = True
    alternative: str = ""
    within: str = ""
    beside: tuple[FileSetting, ...] = ()
    inherited: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place with its alternative and what it is within, for people."""
        return ", ".join(filter(None, (self.place, self.alternative, self.within)))

    @property
    def is_off(self) -> bool:
        """Whether the file switches the pool off, so that nothing limits the connections."""
        return self.library.switch in self.settings and self.settings[self.library.switch].value is False

    @property
    def not_followed(self) -> tuple[FileSetting, ...]:
        """The settings whose values the file alone does not contain."""
        return tuple(each for each in self.settings.values() if each.value is None and each.text != "None")

    def value(self, setting: str) -> Value:
        """Return the value of a setting of the library: the file's, or the default; None where it is not known."""
        if setting in self.settings:
            return self.settings[setting].value
        default = self.library.defaults[setting] if self.complete else None
        other = self.library.same_as.get(setting)
        return self.value(other) if default is None and other else default

    def number(self, setting: str) -> float:
        """Return a setting's value as a number; NaN, for which no comparison holds, where it is none or not known."""
        value = self.value(setting)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan

    def literal(self, setting: str) -> float:
        """Return the number that the pool's own document gives a setting; NaN for a default, a name and a reference."""
        in_file = self.settings.get(setting)
        is_literal = in_file and setting not in self.inherited and LITERAL.fullmatch(in_file.text.strip("\"'"))
        return self.number(setting) if is_literal else nan

    def has(self, setting: str) -> bool:
        """Return whether the file has a setting."""
        return setting in self.settings

    def is_unknown(self, setting: str) -> bool:
        """Return whether the file has a setting and not its value."""
        return setting in self.settings and self.settings[setting] in self.not_followed


PoolOrCount = FilePool | Count | Variable
"""What a file may have."""
