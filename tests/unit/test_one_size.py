"""An answer prints one pool size, in few lines and with its evidence.

The other sizes that it prints are those of other pools, and the sentence beside them says so.
"""

import re
from pathlib import Path

import pytest

from poolsize.analysis.analysis import analyze
from poolsize.answer.from_run import recommend
from poolsize.answer.recommendation import Recommendation
from poolsize.present.text.recommendation import recommendation_text
from poolsize.present.text.short_of_run import run_in_short
from poolsize.recordings.published import published_curves
from poolsize.runs.store import load_run
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.replay import replay
from tests.conftest import EXAMPLES, example, in_ci

SEEDS = range(1, 12)


def assert_one_size(answer: Recommendation) -> None:
    """The size of the answer is that of each of its texts."""
    evidence, short = recommendation_text(answer), run_in_short(answer, [])
    size = answer.pool_size
    if size is None:
        assert "Use " not in evidence + short
        return
    for text in (evidence, short):
        assert re.findall(r"^Use ([\d,]+) connections?", text, flags=re.MULTILINE) == [f"{size:,}"]
    smallest = [each.pool_size for each in answer.application_sizes if not each.added_ms]
    if any(each > size for each in smallest):
        assert f"The table of sizes for applications has {smallest[0]}" in " ".join(evidence.split())
    if answer.two_pools:
        assert "Use two pools" in evidence


@pytest.mark.costly
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_stored_run_has_one_size(name: str) -> None:
    assert_one_size(recommend(example(name)))


@pytest.mark.long
@pytest.mark.parametrize(("seed", "every"), in_ci([(1, 5), *((seed, 1) for seed in SEEDS)], (1, 5)))
def test_a_replay_has_one_size(seed: int, every: int, tmp_path: Path) -> None:
    for curve in list(published_curves())[::every]:
        path = tmp_path / f"{curve}.jsonl"
        replay(SweepOptions(replay=Path(curve), cores=8, seed=seed, output=path), lambda _: None)
        assert_one_size(recommend(analyze(load_run(path))))
