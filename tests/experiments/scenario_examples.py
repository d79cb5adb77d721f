"""Writes the scenarios' files in data/examples anew: scenarios.md, scenario_curves.csv and scenario_pools.csv.

    python -m tests.experiments.scenario_examples FOLDER...

A folder is for one server: `poolsize scenario NAME > NAME.txt`, run in it, wrote the answers and stored the runs. The
timings of pools are those of the first folder. A scenario without an answer is left out.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.experiments.scenario import Scenario, read_scenario, scenario_names
from poolsize.experiments.survey.text import PUBLISHED, USER_KINDS
from poolsize.experiments.survey.timing import JAVA, USERS, Timing, Work
from poolsize.runs.store import load_run
from tests.conftest import ROOT

EXAMPLES = ROOT / "data/examples"
ORDER = (
    "insert-sweep", "short-connections", "exhaustion", "max-connections", "job-queue", "think-time", "mixed-lengths",
    "pools", "cache-miss", "thread-pool", "thread-pool-scan", "idle-crowd", "upgrade",
)  # fmt: skip
STORED = re.compile(r"\n\nStored in ([^;]*).*\n*", re.DOTALL)
LATENCIES = ("mean", "p50", "p75", "p90", "p99")
WORKS = {
    Work.MOCK: "get and close {:,} times, mock driver, 8 connections",
    Work.BORROW: "get and close {:,} times, {}, 8 connections",
    Work.SELECT: "get, select 1 and close {:,} times, {}, 8 connections",
}


@dataclass(frozen=True)
class Answer:
    """The answer of a scenario. files: its runs, or its timings."""

    folder: Path
    name: str
    text: str
    files: tuple[Path, ...]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that was answered."""
        return read_scenario(self.name)

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """The analyses of its runs but those of short wait limits; none of a survey."""
        runs = () if self.scenario.survey else self.files[: max(1, len(self.scenario.sides))]
        return tuple(analyze(load_run(path)) for path in runs)

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """The titles of the servers that were measured, which a survey does not store."""
        servers = [analysis.setting.server for analysis in self.analyses]
        return tuple(dict.fromkeys(server.title for server in servers if server))


def main(folders: Sequence[Path]) -> None:
    """Write the three files."""
    assert set(ORDER) == set(scenario_names())
    answers = [_answer(folder, name) for name in ORDER for folder in folders if (folder / f"{name}.txt").exists()]
    server = {each.folder: each.servers[0] for each in reversed(answers) if each.servers}
    _write_texts(answers, server)
    by_folder = sorted(answers, key=lambda answer: folders.index(answer.folder))
    of_runs = [answer for answer in by_folder if answer.analyses]
    _write_rows("scenario_curves.csv", [row for answer in of_runs for row in _curves(answer)])
    survey = next(answer for answer in by_folder if answer.scenario.survey)
    _write_rows("scenario_pools.csv", list(_timings(survey, server[survey.folder])))


def _answer(folder: Path, name: str) -> Answer:
    text = (folder / f"{name}.txt").read_text("utf-8")
    stored = STORED.search(text)
    assert stored, f"{folder / name}.txt is not a whole answer"
    files = tuple(folder / file for file in stored[1].strip().split(", "))
    return Answer(folder, name, text[: stored.start()], files)


def _write_texts(answers: Sequence[Answer], server: Mapping[Path, str]) -> None:
    path = EXAMPLES / "scenarios.md"
    opening, _, _ = path.read_text("utf-8").partition("\n## ")
    sections = []
    for answer in answers:
        title = " and ".join(answer.servers) or server[answer.folder]
        sections.append(f"## `{answer.name}` on {title}\n\n```text\n{answer.text}\n```\n")
    path.write_text("\n".join([opening, *sections]), "utf-8")


def _curves(answer: Answer) -> Iterator[dict[str, object]]:
    """Yield a row for each pool size of each side. Where transactions failed, the row has no latencies."""
    several = len(answer.servers) > 1
    sides = ("",) * len(answer.analyses) if several else answer.scenario.sides or ("",)
    for side, analysis in zip(sides, answer.analyses, strict=True):
        server, cores = analysis.setting.server, analysis.setting.cores
        assert server
        curve = " ".join(filter(None, (answer.name, server.title.split()[0].lower(), side)))
        for size in analysis.sizes:
            latencies = {} if size.errors else {f"{name}_ms": f"{getattr(size.total, name):.2f}" for name in LATENCIES}
            yield {
                "curve": re.sub(r"\W", "_", curve),
                "source": f"poolsize scenario {answer.name}",
                "server": server.title,
                "machine": f"virtual machine, {cores} cores for server and load",
                "workload": analysis.setting.plan.workload,
                "concurrency": analysis.setting.plan.users,
                "cores": cores,
                "x_kind": "pool_size",
                "x": size.pool_size,
                "throughput": f"{size.throughput.mean:.1f}",
                "throughput_unit": "transactions/s",
                **{f"{name}_ms": "" for name in LATENCIES},
                **latencies,
            }


def _timings(answer: Answer, server: str) -> Iterator[dict[str, object]]:
    """Yield a row for each timing of a test of the published survey: milliseconds for so many transactions."""
    stored = json.loads(answer.files[0].read_text("utf-8"))["timings"]
    timings = [Timing(**{field.name: values[field.name] for field in fields(Timing)}) for values in stored]
    for work, description in WORKS.items():
        test, transactions = PUBLISHED[work]
        for timing in timings:
            if timing.work is work and timing.users in USERS and timing.time_us is not None:
                yield {
                    "test": test,
                    "description": description.format(transactions, server),
                    "pool": _named(timing),
                    "threads": timing.users,
                    "elapsed_ms": f"{timing.time_us * transactions / 1000:.1f}",
                    "source": f"poolsize scenario {answer.name}",
                }


def _named(timing: Timing) -> str:
    return timing.pool if timing.pool.endswith(JAVA) else f"{timing.pool} ({USER_KINDS[timing.concurrency]})"


def _write_rows(name: str, rows: Sequence[dict[str, object]]) -> None:
    with (EXAMPLES / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
