"""The machine that this process runs on: cores, CPUs it may use, memory."""

import os
import platform
from pathlib import Path
from typing import Annotated

import psutil
from pydantic import Field

from poolsize.record import Name, Positive, record

CGROUP = Path("/sys/fs/cgroup")


@record
class Machine:
    """A host, as a process or a container on it sees it.

    physical_cores: cores, each counted once however many hyper-threads it has.
    logical_cpus: CPUs on which the operating system schedules.
    usable_cpus: logical CPUs that the process's affinity and its container's quota leave; may be a fraction.
    memory_bytes: installed memory.
    system: kernel name and architecture, e.g. "Linux x86_64".
    """

    physical_cores: Positive
    logical_cpus: Positive
    usable_cpus: Annotated[float, Field(gt=0, le=10**6)]
    memory_bytes: Annotated[int, Field(ge=0, le=10**18)]
    system: Name

    @property
    def usable_cores(self) -> int:
        """Physical cores that this process may use, at least 1."""
        threads_per_core = max(1, self.logical_cpus // self.physical_cores)
        return max(1, min(self.physical_cores, int(self.usable_cpus / threads_per_core)))

    @property
    def limited(self) -> bool:
        """Whether affinity or a container's quota leaves less than the whole machine."""
        return self.usable_cpus < self.logical_cpus


def this_machine() -> Machine:
    """Return the facts of the machine that this process runs on."""
    logical = psutil.cpu_count(logical=True) or 1
    return Machine(
        physical_cores=psutil.cpu_count(logical=False) or logical,
        logical_cpus=logical,
        usable_cpus=min(float(logical), _affinity(logical), _container_quota(CGROUP)),
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.machine()}",
    )


def _affinity(logical: int) -> float:
    """Return the number of logical CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return float(len(os.sched_getaffinity(0)))
    return float(logical)


def _container_quota(cgroup: Path) -> float:
    """Return the CPUs that the control group's quota allows (cgroup v2, else v1), or inf without a quota."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return float("inf")
    return float("inf") if quota in {"max", "-1"} else int(quota) / int(period)
