"""The machine: a container's limits are respected."""

import os
from pathlib import Path

import pytest

from poolsize.facts import machine
from poolsize.facts.machine import Machine, this_machine


@pytest.mark.parametrize(("text", "cpus"), [("150000 100000\n", 1.5), ("max 100000\n", float("inf"))])
def test_the_quota_of_a_control_group_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cpus: float
) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert this_machine().usable_cpus == min(cpus, len(os.sched_getaffinity(0)))


def test_version_one_of_control_groups_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("50000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert this_machine().usable_cpus == 0.5
    assert this_machine().usable_cores == 1


@pytest.mark.parametrize(
    ("cores", "logical", "usable", "left"),
    [(4, 8, 8.0, 4), (4, 8, 4.0, 2), (4, 4, 4.0, 4), (4, 8, 1.5, 1), (16, 32, 6.0, 3)],
)
def test_usable_cores_are_physical_ones(cores: int, logical: int, usable: float, left: int) -> None:
    assert Machine(cores, logical, usable, 2**30, "Linux x86_64").usable_cores == left
