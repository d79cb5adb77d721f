"""Resuming: the same workload, and nothing that the run has already."""

from dataclasses import replace
from pathlib import Path

import pytest

from poolsize.errors import BadInput
from poolsize.runs.run import Run
from poolsize.runs.store import RunWriter
from poolsize.sweep.opening import Workload, resumed_run
from poolsize.sweep.options import SweepOptions
from tests.conftest import a_run

RUN = a_run({1: 100, 2: 200})


def stored(path: Path, run: Run = RUN) -> SweepOptions:
    with RunWriter(path, run.setting):
        pass
    return SweepOptions(resume=path)


def test_a_shipped_workload_is_resumed_whatever_its_text_says_now(tmp_path: Path) -> None:
    """An upgrade may have changed a docstring in the file; the worker compares the hash of today."""
    run = resumed_run(stored(tmp_path / "a.jsonl"), Workload("scan", None, "1" * 64))
    assert run is not None
    assert run.setting.workload_sha256 == "1" * 64


def test_another_workload_or_a_changed_locustfile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the locustfile is not the scan"):
        resumed_run(stored(tmp_path / "a.jsonl"), Workload("insert", None, "1" * 64))
    own = replace(RUN, setting=replace(RUN.setting, own_workload="mine/scan.py"))
    with pytest.raises(BadInput, match="the locustfile is not the scan"):
        resumed_run(stored(tmp_path / "b.jsonl", own), Workload("scan", "mine/scan.py", "1" * 64))
    assert resumed_run(stored(tmp_path / "c.jsonl", own), Workload("scan", "mine/scan.py", "0" * 64)) is not None
