"""The page docs/reference/run-format.md: every field of a run's file, from the records that it stores."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.facts.status import COUNTERS, GAUGES
from poolsize.present.reference.markdown import GENERATED, table
from poolsize.runs.check_result import CheckResult
from poolsize.runs.measured_application import MeasuredApplication
from poolsize.runs.plan import MOST_STEPS, Search, SearchEnd, SweepPlan
from poolsize.runs.run import Calibration, Latencies, Setting, Step, Worker
from poolsize.runs.stopped import Stopped
from poolsize.runs.store import FORMAT

INTRODUCTION = f"""
# Format of a run

A run is a file of JSON lines. Each line is an object:

1. the header, with `format` ({FORMAT}) and `setting`;
2. `calibration`, the cost of one worker (absent in a replay);
3. `step`, one line for each step, on the disk as soon as the step ends;
4. `ended`, after a search only: {", ".join(f"`{end}`" for end in SearchEnd)}.

A run that was cut off lacks its last lines, and `poolsize sweep --resume` appends them. A run holds at most
{MOST_STEPS:,} steps. poolsize reads no other format. No file contains a password.

Field names carry their units: `_ms` is milliseconds, `_us` microseconds, `_seconds` seconds. A series has one value for
each second, warm-up included. The quantiles are `p50`, `p75`, `p90`, `p95`, `p99` and `p99_9`.

"""
RECORDS = {
    Setting: "setting: where and how the run was measured",
    Machine: "setting.client: the machine of the load generator",
    Server: "setting.server: the database",
    MeasuredApplication: "setting.application: the application whose pool was measured",
    SweepPlan: "setting.plan: which steps to measure",
    Search: "setting.plan.search: the bounds of a search",
    Calibration: "calibration: the cost of one worker",
    Step: "step: one pool size measured once",
    Latencies: "step.latencies: three histograms",
    Worker: "step.workers: the processes of the load generator",
    Stopped: "step.stopped: why a step ended early",
    CheckResult: "step.checks: the results of the checks",
}
"""Record -> heading of its section."""
COUNTERS_INTRODUCTION = """\
## step.server: counters of the server

A counter is stored as its increase in each second, a gauge as its level. A second in which it was not read is null; a
server that does not have the counter has no such key. Names with a capital letter are status variables of the server
(`SHOW GLOBAL STATUS`). The others come from the operating system, where the server runs on the load generator's
machine.

"""
JSON_TYPES = {str: "text", int: "number", float: "number", bool: "true or false", NoneType: "null"}


@dataclass(frozen=True)
class Explained:
    """Fields that the docstring explains together. names: of the fields. json_type: in words. meaning: with units."""

    names: tuple[str, ...]
    json_type: str
    meaning: str


def explained_fields(record: type) -> Iterator[Explained]:
    """Yield the fields of a dataclass in the order of its docstring."""
    hints = get_type_hints(record)
    for names, meaning in _explanations(record):
        yield Explained(names, json_type(hints[names[0]]), meaning)


def unexplained_fields(record: type) -> set[str]:
    """Return the names of the fields that the docstring does not explain."""
    explained = {name for names, _ in _explanations(record) for name in names}
    return {field.name for field in fields(record)} - explained


def json_type(hint: Any) -> str:
    """Return the JSON type of an annotation in words: "list of number", "text or null", "object"."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return " or ".join(dict.fromkeys(map(json_type, arguments)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "object"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {json_type(arguments[0])}"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return "text: " + ", ".join(f"`{member}`" for member in hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return JSON_TYPES[hint]


def _explanations(record: type) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names and the meaning of each explanation in a dataclass's docstring."""
    text = " ".join((inspect.getdoc(record) or "").split())
    name = "|".join(field.name for field in fields(record))
    beginnings = list(re.finditer(rf"(?:^|(?<=\. ))((?:{name})(?:, (?:{name}))*): ", text))
    ends = [match.start() for match in beginnings[1:]] + [len(text)]
    for match, end in zip(beginnings, ends, strict=True):
        meaning = re.sub(r"\bNone\b", "null", text[match.end() : end].strip())
        yield tuple(match[1].split(", ")), meaning[:1].upper() + meaning[1:]


def run_format_page() -> str:
    """Return the page as Markdown: a section for each record, and the server's counters."""
    sections = [_section(record, heading) for record, heading in RECORDS.items()]
    rows = ((f"`{name}`", _kind(name), meaning) for name, meaning in COUNTERS.items())
    counters = COUNTERS_INTRODUCTION + table(("Counter", "Kind", "Meaning"), rows)
    header = GENERATED.format(source="poolsize/runs and poolsize/facts")
    return header + INTRODUCTION + "\n".join([*sections, counters])


def _section(record: type, heading: str) -> str:
    rows = (
        (", ".join(f"`{name}`" for name in field.names), field.json_type, field.meaning)
        for field in explained_fields(record)
    )
    anchor = f" {{ #{record.__name__.lower()} }}"
    return f"## {heading}{anchor}\n\n" + table(("Field", "Type", "Meaning"), rows)


def _kind(counter: str) -> str:
    return "gauge" if counter in GAUGES else "per second"
