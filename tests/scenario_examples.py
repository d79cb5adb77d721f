"""Writes the scenarios' files in data/examples anew: scenarios.md, scenario_curves.csv and scenario_pools.csv.

    python -m tests.scenario_examples FOLDER FOLDER...    of MariaDB, of MySQL

In each folder, `poolsize scenario NAME > NAME.txt` wrote the answers of a server, and stored the runs beside them.
"""

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from poolsize.analysis.analysis import Analysis, analyze
from poolsize.present.text.survey import PUBLISHED, REPEATS
from poolsize.runs.store import load_run
from poolsize.scenarios.scenario import Scenario, read_scenario
from poolsize.survey.store import load_survey
from poolsize.survey.timing import JAVA, USERS, Concurrency, Timing, Work

EXAMPLES = Path(__file__).parents[1] / "data/examples"
ORDER = (
    "insert-sweep", "short-connections", "exhaustion", "max-connections", "job-queue", "think-time", "mixed-lengths",
    "pools", "cache-miss", "thread-pool", "thread-pool-scan", "idle-crowd", "upgrade",
)  # fmt: skip
STORED = re.compile(r"\n\nStored in ([^;]*).*\n*", re.DOTALL)
MACHINE = "virtual machine, 2 cores for server and load"
WORKS = {
    Work.MOCK: "get and close {:,} times, mock driver, 8 connections",
    Work.BORROW: "get and close {:,} times, {}, 8 connections",
    Work.SELECT: "get, select 1 and close {:,} times, {}, 8 connections",
}


@dataclass(frozen=True)
class Answer:
    """The answer of a scenario. files: its runs, or its timings."""

    name: str
    text: str
    files: tuple[Path, ...]

    @property
    def analyses(self) -> tuple[Analysis, ...]:
        """Of the runs of all sides, without those of short wait limits."""
        sides = max(1, len(self.scenario.sides))
        return tuple(analyze(load_run(path)) for path in self.files[:sides])

    @property
    def scenario(self) -> Scenario:
        """The scenario that was answered."""
        return read_scenario(self.name)


def main(folders: Sequence[Path]) -> None:
    """Write the three files."""
    answers = [_answer(folder, name) for name in ORDER for folder in folders if (folder / f"{name}.txt").exists()]
    servers = {folder: _servers(_answer(folder, ORDER[0])) for folder in folders}
    _write_texts(answers, servers)
    of_runs = [answer for answer in answers if not answer.scenario.survey]
    by_server = sorted(of_runs, key=lambda answer: folders.index(answer.files[0].parents[2]))
    _write_rows("scenario_curves.csv", [row for answer in by_server for row in _curves(answer)])
    survey = _answer(folders[0], "pools")
    _write_rows("scenario_pools.csv", list(_timings(survey, servers[folders[0]])))


def _answer(folder: Path, name: str) -> Answer:
    text = (folder / f"{name}.txt").read_text("utf-8")
    stored = STORED.search(text)
    assert stored, f"{folder / name}.txt is no whole answer"
    return Answer(name, text[: stored.start()], tuple(folder / file for file in stored[1].strip().split(" and ")))


def _servers(answer: Answer) -> str:
    """Return the titles of the servers that were measured."""
    servers = [analysis.setting.server for analysis in answer.analyses]
    return " and ".join(dict.fromkeys(server.title for server in servers if server))


def _write_texts(answers: Sequence[Answer], servers: dict[Path, str]) -> None:
    path = EXAMPLES / "scenarios.md"
    opening, _, _ = path.read_text("utf-8").partition("\n## ")
    sections = []
    for answer in answers:
        title = servers[answer.files[0].parents[2]] if answer.scenario.survey else _servers(answer)
        sections.append(f"## `{answer.name}` on {title}\n\n```text\n{answer.text}\n```\n")
    path.write_text("\n".join([opening, *sections]), "utf-8")


def _curves(answer: Answer) -> Iterator[dict[str, object]]:
    """Yield a row for each pool size of each side."""
    for number, analysis in enumerate(answer.analyses):
        server = analysis.setting.server
        assert server
        side = "" if answer.name == "upgrade" else "".join(f"_{each}" for each in answer.scenario.sides[number:][:1])
        curve = f"{answer.name}_{server.title.split()[0].lower()}{side}"
        for size in analysis.sizes:
            latencies = {name: f"{getattr(size.total, name):.2f}" for name in ("mean", "p50", "p75", "p90", "p99")}
            yield {
                "curve": re.sub(r"\W", "_", curve),
                "source": f"poolsize scenario {answer.name}",
                "server": server.title,
                "machine": MACHINE,
                "workload": analysis.setting.plan.workload,
                "concurrency": analysis.setting.plan.users,
                "cores": 2,
                "x_kind": "pool_size",
                "x": size.pool_size,
                "throughput": f"{size.throughput.mean:.1f}",
                "throughput_unit": "transactions/s",
                **{f"{name}_ms": value for name, value in latencies.items()},
            }


def _timings(answer: Answer, server: str) -> Iterator[dict[str, object]]:
    """Yield a row for each timing of a test of the published survey: milliseconds for so many transactions."""
    timings = [timing for part in load_survey(answer.files[0]).parts for timing in part.timings]
    for work, description in WORKS.items():
        test = PUBLISHED[work]
        for timing in timings:
            if timing.work is work and timing.users in USERS and timing.time_us is not None:
                yield {
                    "test": test,
                    "description": description.format(REPEATS[test], server),
                    "pool": _named(timing),
                    "threads": timing.users,
                    "elapsed_ms": f"{timing.time_us * REPEATS[test] / 1000:.1f}",
                    "source": f"poolsize scenario {answer.name}",
                }


def _named(timing: Timing) -> str:
    kind = "tasks" if timing.concurrency is Concurrency.ASYNCIO else timing.concurrency
    return timing.pool if timing.pool.endswith(JAVA) else f"{timing.pool} ({kind})"


def _write_rows(name: str, rows: Sequence[dict[str, object]]) -> None:
    with (EXAMPLES / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
