"""The checked pools of files, as text, as JSON, and as annotations of a pipeline."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from poolsize.answer.finding import Severity
from poolsize.command_line.options import flag
from poolsize.pool_config.all_pools import AllPools, Stated
from poolsize.pool_config.check import CheckedFile, CheckedPool, Difference
from poolsize.pool_config.files.reading import copied_name
from poolsize.pool_config.files.values import is_number
from poolsize.pool_config.findings import OnlyDefaults, server_limit
from poolsize.pool_config.libraries.server import SERVER, STATUS
from poolsize.pool_config.pool import FilePool, FileSetting, Value, Worded
from poolsize.present.text.json_text import json_text
from poolsize.present.text.layout import Table, bullets, paragraph
from poolsize.present.text.sentences.findings import (
    FindingsValues,
    findings_values,
    reason_sentences,
    sentence,
    warning_sentences,
)
from poolsize.terminal import pasteable
from poolsize.units import count

KINDS = {"instances": "instances", "max_instances": "instances at the autoscaler's maximum", "processes": "processes"}
"""Kind of a number in the files -> what it is, in words."""


@dataclass(frozen=True)
class Problem:
    """A finding of a file. file: its path, as typed. line: None where the file does not have the setting."""

    file: str
    line: int | None
    setting: str | None
    severity: Severity
    message: str
    code: str


class CheckedPoolValues(FindingsValues):
    """A pool of a file, checked.

    place: in the file. most_connections: that it may open; null for no limit, for an unknown number, and for the
    server. differences: from the recommended configuration; null without a recommendation.
    """

    library: str
    place: str
    settings: Mapping[str, FileSetting]
    most_connections: int | None
    differences: tuple[Difference, ...] | None


class CheckedFileValues(TypedDict):
    """A file with its pools. more_pools: the number of further pools, which are not checked."""

    file: str
    pools: list[CheckedPoolValues]
    more_pools: int


class CountValues(TypedDict):
    """A number of instances or processes that a file states; null where the file alone does not contain it.

    kind: instances, max_instances or processes. workload: of a deployment; null where the file names none.
    """

    kind: str
    number: int | None
    workload: str | None
    file: str
    line: int
    setting: str


class ProblemValues(TypedDict):
    """A finding of a file. line: null where the file does not have the setting. setting: null for none."""

    file: str
    line: int | None
    setting: str | None
    severity: Severity
    message: str


class PoolChecksValues(TypedDict):
    """Checked files.

    connections, connections_in_deploy: of all pools together; null where no number is known. counts: the numbers that
    the files state and the sum uses. limit: the connections that the server's limit leaves to them; limit_is_default:
    whether that is MySQL's default. problems: each finding, with its place.
    """

    files: list[CheckedFileValues]
    connections: int | None
    connections_in_deploy: int | None
    counts: list[CountValues]
    limit: int
    limit_is_default: bool
    problems: list[ProblemValues]


def pool_checks_values(files: Sequence[CheckedFile], together: AllPools) -> PoolChecksValues:
    """Return the checked files as data for JSON."""
    return {
        "files": [
            {"file": str(file.path), "pools": list(map(_pool_values, file.pools)), "more_pools": file.more}
            for file in files
        ],
        "connections": together.connections or None,
        "connections_in_deploy": together.connections_in_deploy or None,
        "counts": list(map(_count_values, together.stated)),
        "limit": together.usable,
        "limit_is_default": together.is_default,
        "problems": [
            {
                "file": problem.file, "line": problem.line, "setting": problem.setting, "severity": problem.severity,
                "message": problem.message,
            }
            for problem in problems_of(files, together)
        ],
    }  # fmt: skip


def _count_values(stated: Stated) -> CountValues:
    setting = stated.count.setting
    return {
        "kind": stated.count.kind,
        "number": stated.number,
        "workload": stated.count.workload or None,
        "file": str(stated.path),
        "line": setting.line,
        "setting": setting.name,
    }


def _pool_values(checked: CheckedPool) -> CheckedPoolValues:
    return {
        "library": checked.pool.library.title,
        "place": checked.pool.where,
        "settings": checked.pool.settings,
        "most_connections": checked.most_connections,
        "differences": checked.differences,
        **findings_values(checked.findings),
    }


def problems_of(files: Sequence[CheckedFile], together: AllPools) -> Iterator[Problem]:
    """Yield each finding as a problem."""
    for file in files:
        for checked in file.pools:
            for finding in checked.findings:
                yield _problem(file, checked.pool, finding)
    if together.finding:  # the largest pool is the first to be made smaller
        file, checked = max(together.of_process, key=lambda each: each[1].most_connections or 0)
        yield _problem(file, checked.pool, together.finding)


def _problem(file: CheckedFile, pool: FilePool, finding: Worded) -> Problem:
    setting = finding.about or next(iter(pool.library.sizes), "")
    by_name = {each.name: each for each in (*pool.settings.values(), *pool.unread, *pool.elsewhere)}
    by_name |= pool.settings
    line = by_name[setting].line if setting in by_name else None
    return Problem(str(file.path), line, setting or None, finding.severity, sentence(finding), finding.code)


def pool_checks_text(files: Sequence[CheckedFile], together: AllPools) -> str:
    """Return the settings, the findings and what differs from the recommendation, of each pool of each file.

    All pools together come first where they are too many, and last where they are more than a single pool. The end says
    where the server's limit is not checked.
    """
    parts = [*_above_limit(together)]
    for file in files:
        name = file.path.name if len(files) == 1 else str(file.path)
        name += ", a template" if copied_name(file.path.name) != file.path.name else ""
        parts += [_pool_text(name, pool, together) for pool in file.pools]
        if file.more:
            parts.append(f"The file has {count(file.more, 'more pool')}, which poolsize does not check.")
    further = (
        *_together_text(together), *_numbers_text(files, together), *_not_checked_text(together),
        *_only_servers_text(files),
    )  # fmt: skip
    return "\n\n".join([*parts, *further])


def _above_limit(together: AllPools) -> Iterator[str]:
    if together.finding:
        yield f"Caution, for the sum of all pools:\n{bullets([sentence(together.finding) + _left_out(together)])}"


def _together_text(together: AllPools) -> Iterator[str]:
    connections, in_deploy, is_single = (
        together.connections, together.connections_in_deploy, len(together.of_process) == 1
    )  # fmt: skip
    if not together.finding and (len(together.of_process) > 1 or together.processes != 1 or in_deploy > connections):
        subject = "The pools of all processes together" if is_single else "All pools together"
        usually = count(connections, "connection")
        if together.processes:
            usually += f" in {count(together.processes, 'process', 'processes')}"
        most = f", and {in_deploy:,} in a rolling deploy" if in_deploy > connections else ""
        limit = f"{server_limit(is_default=together.is_default)} leaves {together.usable:,}."
        yield paragraph(f"{subject} may open {usually}{most}. {limit}{_left_out(together)}")


def _not_checked_text(together: AllPools) -> Iterator[str]:
    if not together.is_compared:
        how = "The connections of a process are not known."
        if together.to_give:
            *first, last = map(flag, together.to_give)
            how = f"Give {', '.join(first)} and {last}." if first else f"Give {last}."
        yield paragraph(f"Not checked: the server's limit for all processes together. {how}")


def _only_servers_text(files: Sequence[CheckedFile]) -> Iterator[str]:
    if all(each.pool.library in (SERVER, STATUS) for file in files for each in file.pools):
        yield paragraph("These are settings of servers only: no pool of an application was found.")


def _numbers_text(files: Sequence[CheckedFile], together: AllPools) -> Iterator[str]:
    """Yield the numbers of instances and processes that the files state, and those that they leave open."""
    titles = (
        "Numbers from the files; --instances and --processes replace them:",
        "Not counted, because the number is not in the file, or the files differ; give --instances or --processes:",
    )
    for title, stated in zip(titles, (together.stated, together.unclear), strict=True):
        lines = []
        for each in stated:
            setting, of = each.count.setting, f" of {each.count.workload}" if each.count.workload else ""
            file = each.path.name if len(files) == 1 else each.path
            lines.append(f"{KINDS[each.count.kind]}{of}: {setting.text} ({file}, line {setting.line}: {setting.name})")
        if lines:
            yield f"{paragraph(title)}\n{bullets(lines)}"


def _left_out(together: AllPools) -> str:
    parts = [
        f"{count(number, 'pool')} {what}"
        for number, what in ((together.unknown, "of unknown size"), (together.unlimited, "without a limit"))
        if number
    ]
    return f" Not counted: {' and '.join(parts)}." if parts else ""


ARITHMETIC = re.compile(r"(?!.*\btime\.)[\w.\s()]+(?:[*+/-][\w.\s()]+)+")
"""Numbers and names with operators, as in IDLE * 10; not Go's durations, which show their units."""


def _number_of(setting: FileSetting) -> str:
    """Return the number that a name or a product stands for, as in maxOpen (64); nothing for a text that shows it."""
    is_shown = re.search(r"\d", setting.text) and not ARITHMETIC.fullmatch(setting.text)
    return f" ({setting.value:.10g})" if is_number(setting.value) and not is_shown else ""


def _pool_text(file: str, checked: CheckedPool, together: AllPools) -> str:
    pool = checked.pool
    place = f", {pool.where}" if pool.where else ""
    most = f", up to {count(checked.most_connections, 'connection')}" if checked.most_connections else ""
    parts = [f"{pool.library.title} ({file}{place}){most}"]
    if pool.settings:
        unknown = set(pool.not_followed)
        rows = [
            (name, each.text + (" (unknown)" if each in unknown else _number_of(each)), str(each.line))
            for name, each in pool.settings.items()
        ]
        if any(map(pool.has, pool.library.sizes)):  # the others are a part of the sum
            others = [(name, pool.value(name)) for name in pool.library.sizes if not pool.has(name)]
            rows += [(name, f"{value} (default)", "") for name, value in others if value is not None]
        parts.append(Table(("setting", "value", "line"), rows).as_text())
    if warnings := warning_sentences(checked.findings):
        parts.append("Caution:\n" + bullets(warnings))
    if reasons := reason_sentences(checked.findings):
        parts.append("Notes:\n" + bullets(reasons))
    if not checked.findings and not together.finding:
        rest = "" if together.is_compared else " in these settings"
        if not pool.complete:
            rest = " in the settings of this file; the check does not cover others"
        parts.append(f"No known problem{rest}.")
    if checked.differences is not None:
        parts.append(_differences_text(checked, checked.differences))
    return "\n\n".join(parts)


def _differences_text(checked: CheckedPool, differences: Sequence[Difference]) -> str:
    pool = checked.pool
    if not differences:
        defaults = next(
            (f", by the defaults of {each.names}" for each in checked.findings if isinstance(each, OnlyDefaults)), ""
        )
        return f"All settings of the pool in this file are as recommended{defaults}."
    rows = []
    for each in differences:
        in_file = _text(each.in_file, each.unit) + (" (default)" if each.is_default else "")
        if each.in_file is None:
            in_file = "not set" if each.is_default else "unknown"
        rows.append((each.name, in_file, _text(each.recommended, each.unit)))
    table = Table(("setting", "in the file", "recommended"), rows).as_text()
    of_spring = pool.library.stack == "hikaricp" and pool.place.startswith("spring")
    command = pasteable("poolsize", "config", "--for", "spring-boot" if of_spring else pool.library.stack)
    return f"Different from the recommendation (for the reasons: `{command}` with the same options):\n\n{table}"


def _text(value: Value, unit: str | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    number = int(value) if value == int(value) else value
    return f"{number:,}" + (f" {unit}" if unit else "")


GITHUB_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
GITHUB_PROPERTY = GITHUB_DATA | str.maketrans({":": "%3A", ",": "%2C"})
"""Escapes of GitHub's workflow commands. Source: actions/toolkit, packages/core/src/command.ts."""


def github_annotations(problems: Iterable[Problem]) -> str:
    """Return a line for each problem: an error for what gives exit code 3, otherwise a notice."""
    return "\n".join(map(_github, problems))


def _github(problem: Problem) -> str:
    title = "poolsize" + (f" {problem.setting}" if problem.setting else "")
    properties = {"file": problem.file, "line": problem.line, "title": title}
    texts = (f"{name}={str(value).translate(GITHUB_PROPERTY)}" for name, value in properties.items() if value)
    level = "notice" if problem.severity is Severity.REASON else "error"
    return f"::{level} {','.join(texts)}::{problem.message.translate(GITHUB_DATA)}"


def gitlab_report(problems: Iterable[Problem]) -> str:
    """Return a JSON array with an object for each problem. A problem of no line stands at line 1, as GitLab demands.

    Source: GitLab's documentation, Code Quality report format.
    """
    earlier: Counter[tuple[str | None, ...]] = Counter()
    return json_text([_gitlab(problem, earlier) for problem in problems])


def _gitlab(problem: Problem, earlier: Counter[tuple[str | None, ...]]) -> dict[str, Any]:
    """Return a problem as an object. earlier: how often the same problem came before in its file.

    The fingerprint contains no line: the problem stays the same when lines are added above it.
    """
    key = (problem.file, problem.code, problem.setting)
    fingerprint = hashlib.sha256(repr((*key, earlier[key])).encode(errors="replace")).hexdigest()
    earlier[key] += 1
    return {
        "description": problem.message,
        "check_name": problem.code,
        "fingerprint": fingerprint,
        "severity": "info" if problem.severity is Severity.REASON else "major",
        "location": {"path": problem.file, "lines": {"begin": problem.line or 1}},
    }
