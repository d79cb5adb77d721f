"""The machine that this process runs on: cores, CPUs it may use, memory."""

import os
import platform
from contextlib import suppress
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
    """Return the facts of the machine that this process runs on, whose control group may have a quota (v2, else v1)."""
    logical = psutil.cpu_count(logical=True) or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical  # not on macOS
    try:
        quota, period = (CGROUP / "cpu.max").read_text().split()
    except (OSError, ValueError):
        quota = period = "max"
        with suppress(OSError):
            quota = (CGROUP / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (CGROUP / "cpu" / "cpu.cfs_period_us").read_text().strip()
    quota_cpus = float("inf") if quota in {"max", "-1"} or period == "max" else int(quota) / int(period)
    return Machine(
        physical_cores=psutil.cpu_count(logical=False) or logical,
        logical_cpus=logical,
        usable_cpus=min(float(logical), float(affinity), quota_cpus),
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.machine()}",
    )
