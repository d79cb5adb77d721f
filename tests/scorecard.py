"""How good the answer is on curves that others measured: replays each, and scores it by the curve's own long means.

    scorecard.py [FOLDER of recordings]...    else those beside this checkout, else the published curves
Efficiency: throughput at the recommended size as a share of the best. Size: as a multiple of the smallest one within
5 % of the best. Both on straight lines over log2 of the size between the recorded sizes' means.
Refused: answers without a number. Covered: 95 % ranges that hold that smallest size.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from poolsize.analysis.analysis import analyze
from poolsize.analysis.plateau import ROUNDING
from poolsize.answer.verdict import verdict_without_size
from poolsize.facts.machine import this_machine
from poolsize.recordings.published import published_curves
from poolsize.recordings.recording import Recording
from poolsize.runs.plan import SearchEnd
from poolsize.runs.run import Run, Setting
from poolsize.runs.store import RunWriter
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.sweep.replay import ReplayGenerator, recording_of

HERE = Path(__file__).parent
RECORDINGS = HERE.parents[1] / "shared" / "curves" / "percona"
CORES = 40
"""Of the machine that the recordings are of."""
UNKNOWN_CORES = 8
SEEDS = (1, 2, 3)
GRID_SECONDS = 180


@dataclass(frozen=True)
class Truth:
    """A curve's long means at its recorded sizes."""

    sizes: Sequence[int]
    means: Sequence[float]

    @classmethod
    def of(cls, recording: Recording) -> "Truth":
        """Of all seconds recorded."""
        return cls(recording.sizes, [float(np.mean(steps.throughput)) for steps in recording.by_size.values()])

    def efficiency(self, size: float) -> float:
        """Throughput at a size as a share of the best."""
        return float(np.interp(np.log2(size), np.log2(self.sizes), self.means)) / max(self.means)

    @property
    def plateau(self) -> float:
        """The smallest size within 5 % of the best, between sizes too."""
        fine = np.linspace(np.log2(self.sizes[0]), np.log2(self.sizes[-1]), 20_000)
        reached = np.interp(fine, np.log2(self.sizes), self.means) >= 0.95 * max(self.means)
        return float(2 ** fine[np.argmax(reached)])


@dataclass(frozen=True)
class Score:
    """One answer: its efficiency, its size as a multiple of the true plateau, and the load that it took.

    spent: whether the search spent its budget. refused: whether the answer has no number. covered: whether the 95 %
    range holds the true plateau's start.
    """

    recording: str
    seed: int
    pool_size: int
    efficiency: float
    ratio: float
    load_seconds: int
    spent: bool = False
    refused: bool = False
    covered: bool = False


def search(recording: Recording, path: Path, seed: int, cores: int) -> Run:
    """Sweep a recording to its end, by the product's own loop."""
    options = SweepOptions(cores=cores, seed=seed)
    plan = plan_for(options, path.stem, (recording.sizes[0], recording.sizes[-1]))
    created = datetime.now(UTC).isoformat()
    setting = Setting(created, plan, None, "", cores, 1, "given", this_machine(), None, False, {}, {}, str(path))
    run = Run(setting, ())
    with TemporaryDirectory() as folder, RunWriter(Path(folder) / "run.jsonl", setting) as writer:
        return sweep(run, (), ReplayGenerator(recording, run), writer, lambda _: None)


def scores_of(job: tuple[Path, int, bool]) -> dict[str, Score]:
    """Every estimator's score on one recording, a file or a published curve's name, and the formula's."""
    path, seed, alone = job
    recording = recording_of(path)
    truth = Truth.of(recording)
    name = path.name.split(".csv")[0]
    published = published_curves().get(str(path))
    cores = CORES if published is None else published.cores or UNKNOWN_CORES

    def score(size: float, load_seconds: int) -> Score:
        return Score(
            name,
            seed,
            round(size),
            truth.efficiency(size),
            size / truth.plateau,
            load_seconds,
            load_seconds > 0 and spent,
        )

    run = search(recording, path, seed, cores)
    spent = run.ended is SearchEnd.BUDGET
    load = sum(len(step.throughput) for step in run.steps)
    analysis = analyze(run)
    assert analysis.plateau is not None
    covered = analysis.plateau.low <= ceil(truth.plateau - ROUNDING) <= analysis.plateau.high
    refused = verdict_without_size(analysis) is not None
    by_estimator = {"plateau": replace(score(analysis.plateau.pool_size, load), refused=refused, covered=covered)}
    if alone:
        return by_estimator
    by_estimator |= {name: score(size, load) for name, size in analysis.models.sizes.items() if size is not None}
    by_estimator["formula"] = score(min(max(2 * cores + 1, recording.sizes[0]), recording.sizes[-1]), 0)
    random = np.random.default_rng(seed)
    rates = [_mean_of_window(recorded.throughput, random) for recorded in recording.by_size.values()]
    grid = Truth(recording.sizes, rates).plateau
    by_estimator[f"grid of {len(rates)} x {GRID_SECONDS} s"] = score(grid, GRID_SECONDS * len(rates))
    return by_estimator


def _mean_of_window(throughput: Sequence[float], random: np.random.Generator) -> float:
    places = (random.integers(len(throughput)) + np.arange(GRID_SECONDS)) % len(throughput)
    return float(np.asarray(throughput)[places].mean())


def score_all(paths: Iterable[Path], seeds: Sequence[int] = SEEDS, *, alone: bool = False) -> Mapping[str, list[Score]]:
    """Estimator -> its scores. alone: only the recommended size."""
    jobs = [(path, seed, alone) for path in paths for seed in seeds]
    together: dict[str, list[Score]] = {}
    with ProcessPoolExecutor() as workers:
        for by_estimator in workers.map(scores_of, jobs, chunksize=8):
            for name, score in by_estimator.items():
                together.setdefault(name, []).append(score)
    return together


def table(scores: Mapping[str, list[Score]]) -> str:
    """One line an estimator."""
    columns = (
        "answers  efficiency: mean  >= 0.93   worst  size: median  90th pc.  load: median    mean  90th pc.  spent"
        "  refused  covered"
    )
    lines = [f"{'':>16}  {columns}"]
    for name, rows in scores.items():
        efficiency, ratio = np.array([score.efficiency for score in rows]), np.array([score.ratio for score in rows])
        load = np.array([score.load_seconds for score in rows])
        lines.append(
            f"{name:>16}  {len(rows):>7}  {efficiency.mean():>16.3f}  {(efficiency >= 0.93).mean():>7.1%}"
            f"  {efficiency.min():>6.3f}  {np.median(ratio):>12.2f}  {np.quantile(ratio, 0.9):>8.2f}"
            f"  {np.median(load):>10.0f} s  {load.mean():>4.0f} s  {np.quantile(load, 0.9):>6.0f} s"
            f"  {np.mean([score.spent for score in rows]):>5.1%}  {np.mean([score.refused for score in rows]):>7.1%}"
            f"  {np.mean([score.covered for score in rows]):>7.1%}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    folders = [Path(folder) for folder in sys.argv[1:]] or [RECORDINGS]
    paths = sorted(path for folder in folders for path in folder.glob("*.csv*"))
    what = f"{len(paths)} recordings, {CORES} cores"
    if not paths:
        paths = [Path(name) for name, curve in published_curves().items() if curve.recording.users is None]
        what = f"{len(paths)} published curves, each with its cores"
    print(f"{what}, seeds {SEEDS}\n{table(score_all(paths))}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
