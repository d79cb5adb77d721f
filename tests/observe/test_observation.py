"""Observations: their series, and their files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolsize.errors import BadInput, WorkFailed
from poolsize.observe.observation import Observation, PoolSpan, ServerSpan, Source
from poolsize.observe.store import ObservationWriter, is_observation, load_observation
from tests.conftest import Command

SOURCE = Source("page", "127.0.0.1:9090", "0.1", "2026-01-01T00:00:00+00:00")


def span(minute: int, **series: Any) -> PoolSpan:
    return PoolSpan("shop", "a:80", "HikariCP", f"2026-01-01T00:{minute:02}:00+00:00", 60.0, **series)


def test_a_stored_observation_is_read_as_it_was(tmp_path: Path) -> None:
    spans = (span(1, uses=(3.0,), usage_buckets=((10.0, 2.0), (None, 1.0))), span(0, uses=(2.0,), size=(None,)))
    server = ServerSpan("2026-01-01T00:00:00+00:00", 60.0, running_mean=(1.5,), cores=4)
    with ObservationWriter(tmp_path / "a.jsonl", SOURCE) as writer:
        writer.append(spans[:1], [server])
        writer.append(spans[1:])
    assert load_observation(tmp_path / "a.jsonl") == Observation(SOURCE, spans, (server,))
    assert is_observation(tmp_path / "a.jsonl")


def test_the_spans_of_a_pool_are_joined_in_the_order_of_time() -> None:
    spans = (span(2, uses=(3.0, None)), span(0, uses=(1.0, 2.0), in_use_mean=(0.5, 1.0)))
    (pool,) = Observation(SOURCE, spans).pools
    assert pool["uses"][:3].tolist() == [1, 2, 3]
    assert np.isnan(pool["uses"][3])
    assert np.isnan(pool["in_use_mean"]).tolist() == [False, False, True, True]
    assert np.diff(pool.at).tolist() == [60, 60, 60]


def test_histograms_of_a_pool_are_added() -> None:
    spans = [span(minute, uses=(1.0,), usage_buckets=((1.0, 2.0), (None, 1.0))) for minute in (0, 1)]
    (pool,) = Observation(SOURCE, tuple(spans)).pools
    assert pool.usage_buckets == ((1.0, 4.0), (None, 2.0))


def test_a_cut_off_last_line_is_left_out(tmp_path: Path) -> None:
    with ObservationWriter(path := tmp_path / "a.jsonl", SOURCE) as writer:
        writer.append([span(0, uses=(1.0,)), span(1, uses=(1.0,))])
    path.write_bytes(path.read_bytes()[:-5])
    assert len(load_observation(path).spans) == 1


def test_an_interrupted_line_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two parts of a line, or before it is on the disk: what follows must be readable."""

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with ObservationWriter(path := tmp_path / "a.jsonl", SOURCE) as writer:
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.append([span(0, uses=(1.0,))])
        writer.append([span(1, uses=(2.0,))])
    assert [each.uses for each in load_observation(path).spans] == [(2.0,)]


def test_no_file_becomes_longer_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poolsize.observe.store.MOST_SPANS", 3)
    with ObservationWriter(path := tmp_path / "a.jsonl", SOURCE) as writer:
        writer.append([span(0, uses=(1.0,)), span(1, uses=(1.0,))])
        with pytest.raises(WorkFailed, match="longer than an observation may be"):
            writer.append([span(2, uses=(1.0,)), span(3, uses=(1.0,))])
    assert len(load_observation(path).spans) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"pool": {}}', "pool is {}"),
        ('{"pool": {"pool": "a", "instance": "", "library": "", "started": "2026", "period_seconds": 1}}', "started"),
        (json.dumps({"pool": vars(span(0, uses=(1.0,))) | {"size": [1, 2]}}), "series have [1, 2] values"),
        (
            json.dumps(
                {"server": {"started": SOURCE.started, "period_seconds": 60, "running_mean": [1, 2], "busy_cores": [1]}}
            ),
            "series have [1, 2] values",
        ),
        ("[]", "is not a JSON object"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with ObservationWriter(path := tmp_path / "a.jsonl", SOURCE):
        pass
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(BadInput, match="line 2") as refusal:
        load_observation(path)
    assert message in str(refusal.value)


def test_other_files_and_formats_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for text, message in (
        ('{"format": 8}\n', "is not an observation"),
        ('{"observation_format": 2}\n', "pip install --upgrade"),
        ("", "no complete header"),
    ):
        path.write_text(text)
        with pytest.raises(BadInput, match=message):
            load_observation(path)
    assert not is_observation(path)


@pytest.mark.costly
@pytest.mark.parametrize(
    "command", [("compare", "a.jsonl"), ("notebook", "a.jsonl"), ("recommend", "--rate", "9/s", "--run")]
)
def test_an_observation_is_no_run(poolsize_here: Command, tmp_path: Path, command: tuple[str, ...]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        with ObservationWriter(tmp_path / name, SOURCE) as writer:
            writer.append([span(0, uses=(1.0,))])
    done = poolsize_here(*command, "b.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is an observation, not a run: give it to `poolsize report`, or to `poolsize recommend` as " in done.stderr
