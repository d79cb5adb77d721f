"""The page docs/reference/run-format.md: every field of a run's file, from the records that it stores."""

from poolsize.facts.machine import Machine
from poolsize.facts.server import Server
from poolsize.facts.status import COUNTERS, GAUGES
from poolsize.present.reference.markdown import GENERATED, table
from poolsize.present.reference.records import explained_fields
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
